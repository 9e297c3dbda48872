"""Answers a request with a stream of events, for as long as there are any and the client reads them."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from mcp_runtime.errors import clipped
from mcp_runtime.transports.http.server.asgi import EVENTS, Delays, Receive, Refusal, Send, Unread, write
from mcp_runtime.transports.http.server.checks import not_now
from mcp_runtime.transports.http.server.streams import Outlet, Stream

log: Final = logging.getLogger("mcp_runtime")


async def pump(
    stream: Stream,
    delays: Delays,
    unread: Unread,
    receive: Receive,
    send: Send,
    *,
    watcher: "asyncio.Task[None] | None" = None,
    after: int | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Answer a request with the events of a stream.

    Args:
        stream: the stream.
        delays: timeouts for slow clients.
        unread: counts the bytes that the client has not read yet.
        receive: reports when the client disconnects.
        send: ASGI's send function.
        watcher: the task that already waits for the client to disconnect; it is cancelled in the end.
        after: the number of the last event that the client received; None if it received none.
        headers: further headers of the response.

    Raises:
        Refusal: what follows the client's last event is no longer stored, or clients have too much to read already.
        Disconnected: the client does not read.
    """
    if unread.is_full:
        raise not_now("too many messages are unread; try again later", 5)
    try:
        missed = None if after is None else await stream.missed(after)
    except LookupError:
        raise Refusal(400, "the events after Last-Event-ID are no longer kept") from None
    outlet = Outlet(unread)
    stream.attach(outlet, missed)
    try:
        await _begin(send, headers)
        while not outlet.was_cut:
            data, is_last = outlet.take()
            if data or is_last:
                await write(send, data, is_last=is_last)
                outlet.written(data)
                if is_last:
                    break
                if outlet.queued:
                    await asyncio.sleep(0)
            else:
                watcher = watcher or asyncio.ensure_future(watch(receive, outlet.leave))
                if not await outlet.changed(delays.quiet):
                    outlet.put(b":\n\n")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not outlet.was_cut or task is None:
            raise
        # The server closes the connection, as the response is incomplete; the client may resume the stream.
        task.uncancel()
    finally:
        stream.detach(outlet)
        outlet.close()
        if watcher is not None:
            watcher.cancel()


async def _begin(send: Send, headers: Iterable[tuple[bytes, bytes]]) -> None:
    # Proxies must neither cache nor buffer events.
    sent = [(b"content-type", EVENTS), (b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": [*sent, *headers]})


async def watch(receive: Receive, left: Callable[[], None]) -> None:
    """Wait until the client of a request disconnects, then call `left`."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Exception as error:
        # Middleware may raise instead; without `receive`, nothing would tell that the client is gone.
        log.warning("a client counts as disconnected, since receiving failed: %s", clipped(repr(error)))
    left()
