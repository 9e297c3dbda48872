"""Reads and checks requests (specification: basic/transports), and the HTTP status for each failure."""

import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from mcp_runtime.json_text import ENDS
from mcp_runtime.protocol import jsonrpc, modern
from mcp_runtime.transports.http.server.asgi import (
    EVENTS,
    JSON,
    Disconnected,
    Headers,
    Receive,
    Reply,
    Scope,
    TimeLimit,
)


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

    async def answer(self, reply: Reply) -> None:
        """Send the response; raises Disconnected if the client does not read."""
        await reply.respond(self.status, self.body, headers=self.headers)

    @property
    def body(self) -> bytes:
        """A JSON-RPC error without an id, as the body of the response."""
        code = jsonrpc.INTERNAL_ERROR if self.status >= 500 else jsonrpc.INVALID_REQUEST
        return jsonrpc.write_error(None, code, self.reason, null_id=False)


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


def not_now(reason: str, seconds: int, *, status: int = 503) -> Refusal:
    """Return the refusal of a request that may succeed later.

    Args:
        reason: why it is refused, for people; nothing secret.
        seconds: how long the client should wait before it tries again.
        status: the HTTP status.
    """
    return Refusal(status, reason, [(b"retry-after", b"%d" % seconds)])


def stopping() -> Refusal:
    """Return the refusal of a request to a server that is shutting down."""
    return not_now("the server is shutting down", 5)


def too_many_requests() -> Refusal:
    """Return the refusal of a POST beyond the limit."""
    return not_now("too many requests are open; try again later", 1)


def too_many_of_session() -> Refusal:
    """Return the refusal of a POST beyond the limit of its session."""
    return not_now("too many requests of this session are open; try again later", 1, status=429)


def too_many_sessions() -> Refusal:
    """Return the refusal of a session beyond the limit."""
    return not_now("there are too many sessions; try again later", 30)


def too_many_streams() -> Refusal:
    """Return the refusal of a stream beyond the limit."""
    return not_now("too many streams are open; try again later", 30)


SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"

EITHER: Final = (JSON.decode(), EVENTS.decode())
"""The media types of the answer to a POST."""
ONLY_EVENTS: Final = (EVENTS.decode(),)
"""The media type of the answer to a GET."""

REMEMBERED: Final = 64
"""How many checked headers are cached: clients send the same ones again and again."""


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


def check_content_type(headers: Headers) -> None:
    """Check that a body is JSON.

    Raises:
        Refusal: it is not.
    """
    given = headers.get(b"content-type", b"")
    if given != JSON and given.partition(b";")[0].strip().lower() != JSON:
        raise Refusal(415, "the Content-Type of a message must be application/json")


def check_accept(headers: Headers, wanted: tuple[str, ...]) -> None:
    """Check that a client accepts all media types that the answer may have.

    Raises:
        Refusal: it does not.
    """
    if not _accepts(headers.get(b"accept", b""), wanted):
        raise Refusal(406, f"the Accept header must name {' and '.join(wanted)}")


@lru_cache(REMEMBERED)
def _accepts(given: bytes, wanted: tuple[str, ...]) -> bool:
    parts = given.decode("latin-1").lower().split(",")
    ranges = {part.partition(";")[0].strip() for part in parts if not _is_excluded(part)}
    return all(ranges & {type_, f"{type_.partition('/')[0]}/*", "*/*"} for type_ in wanted)


def _is_excluded(part: str) -> bool:
    """Whether a client refuses a media range (RFC 9110, 12.4.2)."""
    return any(parameter.strip() in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in part.split(";")[1:])


class Check(NamedTuple):
    """A check of a request.

    Attributes:
        fault: what is wrong with a request that fails it.
        status: the HTTP status of the answer.
        code: the error code in the answer; -32600 where no message was read yet.
    """

    fault: str
    status: int
    code: int = jsonrpc.INVALID_REQUEST


CHECKS: Final = (
    Check("the headers are too large", 431),
    Check("`Host` or `Origin` is not allowed", 403),
    Check("the endpoint does not support the HTTP method", 405),
    Check("`Content-Type` is not JSON", 415),
    Check("`Accept` does not name both types", 406),
    Check("the body is too large", 413),
    Check("the body is not JSON", 400, jsonrpc.PARSE_ERROR),
    Check("the body is not one request or notification", 400, jsonrpc.INVALID_REQUEST),
    Check("`_meta` names no revision", 400, jsonrpc.INVALID_PARAMS),
    Check("`MCP-Protocol-Version` is missing or differs from `_meta`", 400, modern.HEADER_MISMATCH),
    Check("the revision is not supported", 400, modern.UNSUPPORTED_VERSION),
    Check("the rest of `_meta` is not valid", 400, jsonrpc.INVALID_PARAMS),
    Check("`Mcp-Method` or `Mcp-Name` is missing or differs from the body", 400, modern.HEADER_MISMATCH),
    Check("there is no such method", 404, jsonrpc.METHOD_NOT_FOUND),
    Check("the params are not valid", 400, jsonrpc.INVALID_PARAMS),
    Check("an `Mcp-Param-*` is missing or differs from the arguments", 400, modern.HEADER_MISMATCH),
    Check("the client lacks a capability", 400, modern.MISSING_CAPABILITY),
)
"""The checks in order: if a request has several faults, the first one is answered.

Until the revision is known to be supported, only what future revisions will have as well is checked.
"""

STATUSES: Final[Mapping[int, int]] = {check.code: check.status for check in CHECKS if check.status in (400, 404)}
"""Error codes and their statuses, wherever they were raised; answers with any other code have the status 200."""


_DECODERS: Final[Mapping[bytes, int]] = {
    b"gzip": 16 + zlib.MAX_WBITS,
    b"x-gzip": 16 + zlib.MAX_WBITS,
    b"deflate": zlib.MAX_WBITS,
}
"""Content encodings, and the zlib window for each."""


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
