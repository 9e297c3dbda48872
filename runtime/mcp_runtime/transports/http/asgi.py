"""Requests and answers of ASGI, as far as one endpoint needs them: no framework is loaded."""

import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from itertools import chain
from typing import Any, Final, TypeAlias

from mcp_runtime.protocol.envelope import ENDS
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, write_error
from mcp_runtime.transports.http.delays import TimeLimit
from mcp_runtime.transports.http.unread import HIGH_WATER

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"
EVENTS: Final = b"text/event-stream"

Headers: TypeAlias = dict[bytes, bytes]
"""The headers of a request, not decoded: most of them nobody reads."""

_DECODERS: Final[Mapping[bytes, int]] = {
    b"gzip": 16 + zlib.MAX_WBITS,
    b"x-gzip": 16 + zlib.MAX_WBITS,
    b"deflate": zlib.MAX_WBITS,
}
"""Content encodings, and the window that zlib reads each with."""


class Refusal(Exception):
    """A request that is answered with an error status.

    Args:
        status: the HTTP status.
        reason: what is wrong, for people; nothing that is secret.
        headers: more headers of the answer.
    """

    def __init__(self, status: int, reason: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = tuple(headers)

    async def answer(self, send: Send) -> None:
        """Answer with the status."""
        await respond(send, self.status, self.body, headers=self.headers)

    @property
    def body(self) -> bytes:
        """A JSON-RPC error without an id, as the body of the answer."""
        code = INTERNAL_ERROR if self.status >= 500 else INVALID_REQUEST
        return write_error(None, code, self.reason, null_id=False)


class TooLarge(Refusal):
    """A request with too large a body.

    Args:
        max_bytes: how large it may be.
        start: how it begins, decompressed, if that was read.
        end: how it ends, likewise.
    """

    def __init__(self, max_bytes: int, start: bytes = b"", end: bytes = b"") -> None:
        # The rest of the body is not read, so the connection cannot be used again.
        super().__init__(413, f"the body has more than {max_bytes:,} bytes", [(b"connection", b"close")])
        self.start = start
        self.end = end


class Disconnected(Exception):
    """The client left before its request was complete; nobody reads an answer."""


def headers_of(scope: Scope, max_bytes: int) -> Headers:
    """Return the headers of a request: names in lower case, values that came twice joined by commas.

    Raises:
        Refusal: they are too large.
    """
    raw: tuple[tuple[bytes, bytes], ...] = tuple(scope["headers"])
    if sum(map(len, chain.from_iterable(raw))) + 4 * len(raw) > max_bytes:
        raise Refusal(431, f"the headers have more than {max_bytes:,} bytes")
    # ASGI has the names in lower case.
    found = dict(raw)
    if len(found) < len(raw):
        found.clear()
        for name, value in raw:
            found[name] = b"%b, %b" % (found[name], value) if name in found else value
    return found


async def respond(
    send: Send,
    status: int,
    body: bytes = b"",
    *,
    headers: Iterable[tuple[bytes, bytes]] = (),
    limit: TimeLimit | None = None,
) -> None:
    """Answer a request with a whole body.

    Args:
        send: takes the answer.
        status: its status.
        body: its body, which is JSON.
        headers: more headers.
        limit: bounds how long the client may take to read a piece of it; None if it is small.

    Raises:
        TimeoutError: the client did not read it in time.
    """
    sent = [(b"content-length", b"%d" % len(body)), *headers]
    if body:
        sent.append((b"content-type", JSON))
    await send({"type": "http.response.start", "status": status, "headers": sent})
    if limit is None or len(body) <= HIGH_WATER:
        await send({"type": "http.response.body", "body": body})
    else:
        await write(send, body, limit, is_last=True)


async def write(send: Send, data: bytes, limit: TimeLimit, *, is_last: bool) -> None:
    """Send a part of a body, in pieces: servers that run applications take the first one, however large it is.

    Raises:
        TimeoutError: the client did not read one of them in time.
    """
    start = 0
    while len(data) - start > HIGH_WATER:
        piece = data[start : start + HIGH_WATER]
        await limit.within(send({"type": "http.response.body", "body": piece, "more_body": True}))
        start += HIGH_WATER
    await limit.within(send({"type": "http.response.body", "body": data[start:], "more_body": not is_last}))


async def read_body(receive: Receive, headers: Headers, *, max_bytes: int, limit: TimeLimit) -> bytes:
    """Read the body of a request, decompressed.

    Args:
        receive: gives its parts.
        headers: those of the request.
        max_bytes: how large it may be, before and after decompression.
        limit: bounds how long all of it may take.

    Raises:
        TooLarge: it is.
        Refusal: it is too slow, or compressed in a way that is not known.
        Disconnected: the client left.
    """
    length = headers.get(b"content-length", b"")
    if length.isdigit() and (len(length) > 18 or int(length) > 2 * max_bytes):
        raise TooLarge(max_bytes)
    encoding = headers.get(b"content-encoding", b"").strip().lower()
    if encoding and encoding != b"identity" and encoding not in _DECODERS:
        raise Refusal(415, f"the content encoding must be one of {b', '.join(sorted(_DECODERS)).decode()}")
    try:
        body = await limit.within(_all_parts(receive, max_bytes))
    except TooLarge:
        if encoding in _DECODERS:
            raise TooLarge(max_bytes) from None
        raise
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {limit.seconds:g} s") from None
    return _decompressed(body, _DECODERS[encoding], max_bytes) if encoding in _DECODERS else body


async def _all_parts(receive: Receive, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size, start, end = 0, b"", b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part: bytes = message.get("body", b"")
        size += len(part)
        is_last = not message.get("more_body", False)
        if size <= max_bytes:
            parts.append(part)
        else:
            start = start or (b"".join(parts) + part)[:ENDS]
            end = (end + part)[-ENDS:]
            parts.clear()
            if is_last or size > 2 * max_bytes:
                # As much again was read and thrown away: clients that are still sending seldom look for an answer.
                raise TooLarge(max_bytes, start, end if is_last else b"")
        if is_last:
            return b"".join(parts) if len(parts) > 1 else part


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
