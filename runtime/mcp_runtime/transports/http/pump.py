"""Answers a request with a stream of events, for as long as there are any and the client reads them."""

import asyncio
from collections.abc import Iterable

from mcp_runtime.transports.http.asgi import EVENTS, Receive, Refusal, Send
from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.outlet import Outlet
from mcp_runtime.transports.http.stream import Stream


async def pump(
    stream: Stream,
    limits: HttpLimits,
    receive: Receive,
    send: Send,
    *,
    after: int | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Answer a request with the events of a stream.

    Args:
        stream: the stream.
        limits: how slow the client may be.
        receive: tells when the client leaves.
        send: takes the answer.
        after: the number of the last event that the client has got; None if it has got none.
        headers: more headers of the answer.

    Raises:
        Refusal: what follows the client's last event is no longer kept.
    """
    outlet = Outlet()
    try:
        stream.attach(outlet, after=after)
    except LookupError:
        raise Refusal(400, "the events after Last-Event-ID are no longer kept") from None
    watcher = asyncio.ensure_future(_watch(receive, outlet))
    try:
        await _write(outlet, limits, send, headers)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not outlet.was_cut or task is None:
            raise
        # The server closes the connection, as the answer is not complete; the client may come back to the stream.
        task.uncancel()
    finally:
        stream.detach(outlet)
        watcher.cancel()


async def _write(outlet: Outlet, limits: HttpLimits, send: Send, headers: Iterable[tuple[bytes, bytes]]) -> None:
    # Proxies must neither keep nor collect events.
    sent = [(b"content-type", EVENTS), (b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no")]
    try:
        async with asyncio.timeout(limits.write_timeout):
            await send({"type": "http.response.start", "status": 200, "headers": [*sent, *headers]})
        while True:
            is_over = outlet.is_over
            if data := outlet.take():
                async with asyncio.timeout(limits.write_timeout):
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                outlet.written(data)
            elif is_over:
                break
            elif not await outlet.changed(limits.keepalive):
                outlet.put(b":\n\n")
        if not outlet.was_cut:
            async with asyncio.timeout(limits.write_timeout):
                await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        outlet.was_cut = True


async def _watch(receive: Receive, outlet: Outlet) -> None:
    """Cut a stream when its client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    # Once the end is being written, the server tells of it in the same way.
    if not outlet.is_over:
        outlet.cut()
