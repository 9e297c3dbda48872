"""ASGI requests and responses, as far as one endpoint needs them, without a framework."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from itertools import chain
from typing import Any, Final, TypeAlias

from mcp_runtime.protocol.envelope import ENDS
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, write_error
from mcp_runtime.transports.http.server.requests.delays import TimeLimit
from mcp_runtime.transports.http.server.requests.unread import HIGH_WATER

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"
EVENTS: Final = b"text/event-stream"

Headers: TypeAlias = dict[bytes, bytes]
"""The raw headers of a request: most of them are never read."""

_DECODERS: Final[Mapping[bytes, int]] = {
    b"gzip": 16 + zlib.MAX_WBITS,
    b"x-gzip": 16 + zlib.MAX_WBITS,
    b"deflate": zlib.MAX_WBITS,
}
"""Content encodings, and the zlib window for each."""


class Refusal(Exception):
    """A request that is answered with an error status.

    Args:
        status: the HTTP status.
        reason: what is wrong, for people; nothing secret.
        headers: further headers of the response.
    """

    def __init__(self, status: int, reason: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = tuple(headers)

    async def answer(self, send: Send) -> None:
        """Send the response; raises what `send` does."""
        await respond(send, self.status, self.body, headers=self.headers)

    @property
    def body(self) -> bytes:
        """A JSON-RPC error without an id, as the body of the response."""
        code = INTERNAL_ERROR if self.status >= 500 else INVALID_REQUEST
        return write_error(None, code, self.reason, null_id=False)


class TooLarge(Refusal):
    """A request whose body is too large.

    Args:
        max_bytes: the maximum size in bytes.
        start: the beginning of the decompressed body, if it was read.
        end: the end of the decompressed body, if it was read.
    """

    def __init__(self, max_bytes: int, start: bytes = b"", end: bytes = b"") -> None:
        # The rest of the body is not read, so the connection cannot be used again.
        super().__init__(413, f"the body has more than {max_bytes:,} bytes", [(b"connection", b"close")])
        self.start = start
        self.end = end


class Disconnected(Exception):
    """The client disconnected, or does not read: an answer would not be read."""


def headers_of(scope: Scope, max_bytes: int) -> Headers:
    """Return the headers of a request: lower-case names, repeated values joined by commas.

    Raises:
        Refusal: they are too large.
    """
    raw: tuple[tuple[bytes, bytes], ...] = tuple(scope["headers"])
    if len(b"".join(chain.from_iterable(raw))) + 4 * len(raw) > max_bytes:
        raise Refusal(431, f"the headers have more than {max_bytes:,} bytes")
    # ASGI requires lower-case names.
    found = dict(raw)
    if len(found) < len(raw):
        found.clear()
        for name, value in raw:
            found[name] = b"%b, %b" % (found[name], value) if name in found else value
    return found


def limited(send: Send, limit: TimeLimit) -> Send:
    """Return ASGI's send function with a limit: it waits for clients that do not read what they were sent before.

    It raises `Disconnected` if a client does not read in time. The ASGI server then closes the connection, as the
    response is incomplete.
    """

    async def send_in_time(message: Message) -> None:
        try:
            await limit.within(send(message))
        except TimeoutError:
            raise Disconnected from None

    return send_in_time


async def respond(send: Send, status: int, body: bytes = b"", *, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send a response with a complete body; raises what `send` does.

    Args:
        send: ASGI's send function.
        status: the HTTP status.
        body: the body, which is JSON.
        headers: further headers.
    """
    sent = [(b"content-length", b"%d" % len(body)), *headers]
    if body:
        sent.append((b"content-type", JSON))
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await write(send, body, is_last=True)


async def write(send: Send, data: bytes, *, is_last: bool) -> None:
    """Send a part of a body, in pieces: ASGI servers accept the first one, however large it is.

    Between two pieces the event loop runs, since a server may not wait and yet learn that the client has disconnected.
    """
    start = 0
    while len(data) - start > HIGH_WATER:
        piece = data[start : start + HIGH_WATER]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        start += HIGH_WATER
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": data[start:], "more_body": not is_last})


async def read_body(receive: Receive, headers: Headers, *, max_bytes: int, limit: TimeLimit) -> bytes:
    """Read the body of a request, decompressed.

    Args:
        receive: ASGI's receive function.
        headers: the headers of the request.
        max_bytes: the maximum size, before and after decompression.
        limit: the time in which the whole body must arrive.

    Raises:
        TooLarge: the body exceeds `max_bytes`.
        Refusal: it arrives too slowly, or its compression is not supported.
        Disconnected: the client disconnected.
    """
    length = headers.get(b"content-length", b"")
    if length.isdigit() and (len(length) > 18 or int(length) > 2 * max_bytes):
        raise TooLarge(max_bytes)
    window = _window(headers[b"content-encoding"]) if b"content-encoding" in headers else None
    try:
        body = await limit.within(_all_parts(receive, max_bytes))
    except TooLarge:
        if window is not None:
            raise TooLarge(max_bytes) from None
        raise
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {limit.seconds:g} s") from None
    return body if window is None else _decompressed(body, window, max_bytes)


def _window(encoding: bytes) -> int | None:
    """Return the zlib window for a content encoding; None if there is nothing to decompress.

    Raises:
        Refusal: it is not supported.
    """
    encoding = encoding.strip().lower()
    if encoding in (b"", b"identity"):
        return None
    if encoding not in _DECODERS:
        raise Refusal(415, f"the content encoding must be one of {b', '.join(sorted(_DECODERS)).decode()}")
    return _DECODERS[encoding]


async def _all_parts(receive: Receive, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size, start, end = 0, b"", b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part: bytes = message.get("body", b"")
        is_last = not message.get("more_body", False)
        if is_last and not size and len(part) <= max_bytes:
            return part  # Most bodies arrive whole.
        size += len(part)
        if size <= max_bytes:
            parts.append(part)
        else:
            start = start or (b"".join(parts) + part)[:ENDS]
            end = (end + part)[-ENDS:]
            parts.clear()
            if is_last or size > 2 * max_bytes:
                # As much again was read and discarded: clients that are still sending rarely look for a response.
                raise TooLarge(max_bytes, start, end if is_last else b"")
        if is_last:
            return b"".join(parts)


def _decompressed(body: bytes, window: int, max_bytes: int) -> bytes:
    decoder = zlib.decompressobj(window)
    try:
        found = decoder.decompress(body, max_bytes + 1)
    except zlib.error:
        raise Refusal(400, "the body is not compressed as its Content-Encoding says") from None
    if len(found) > max_bytes:
        raise TooLarge(max_bytes, found[:ENDS])
    if not decoder.eof or decoder.unused_data:
        raise Refusal(400, "the body is not compressed as its Content-Encoding says")
    return found
