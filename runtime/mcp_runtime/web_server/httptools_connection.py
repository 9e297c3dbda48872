"""A connection parsed by httptools, which is several times as fast as h11, and refuses what httptools lets through.

httptools alone accepts HTTP/0.9, requests without a Host or with two, and any amount of headers; it keeps the blanks
after their values. uvicorn adds trailers to the headers, sends a 400 in the middle of a response, queues any number of
requests, and takes the body of a request with `Upgrade` for the next request.
"""

import asyncio
from collections import deque
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from mcp_runtime.core.connection.background import begin
from mcp_runtime.core.transports.http.server.access import REMEMBERED
from mcp_runtime.core.transports.http.server.asgi import is_framed

_CLOSE: Final = (b"connection", b"close")
MAX_PIPELINED: Final = 16
"""The maximum number of requests on a connection that are not answered yet."""


class Cycle(RequestResponseCycle):
    """A request and its response, which starts in one write with the first part of its body.

    Two writes of a short response would cost a third of the whole request (rows ``http:`` of `make bench`).
    """

    _start: Any = None

    async def send(self, message: Any) -> None:
        """Send a part of the response; see ASGI."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        is_last, head = not message.get("more_body", False), b"" if self.response_started else self._head()
        data = b"" if self.scope["method"] == "HEAD" else message.get("body", b"")
        if self.chunked_encoding:
            end = b"0\r\n\r\n" if is_last else b""
            data = b"%x\r\n%b\r\n%b" % (len(data), data, end) if data else end
        self.transport.write(head + data)
        if is_last:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()

    def _head(self) -> bytes:
        self.response_started = True
        self.waiting_for_100_continue = False
        headers = [*self.default_headers, *self._start["headers"]]
        if _CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            headers.append(_CLOSE)
        size = dict(headers).get(b"content-length")
        if size is not None:
            headers.remove((b"content-length", size))
            size = b"content-length: %b\r\n" % size
        elif self.scope["method"] != "HEAD":
            self.chunked_encoding = True
            headers.append((b"transfer-encoding", b"chunked"))
        return b"".join([STATUS_LINE[self._start["status"]], _lines(tuple(headers)), size or b"", b"\r\n"])


@lru_cache(REMEMBERED)
def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Return headers as they are sent; raises RuntimeError for control characters."""
    if HEADER_VALUE_RE.search(b"".join([value for _, value in headers])):
        raise RuntimeError("a header contains control characters")
    return b"".join([b"%b: %b\r\n" % header for header in headers])


class HttptoolsConnection(HttpToolsProtocol):
    """A connection that refuses what h11 refuses too."""

    def __init__(self, config: uvicorn.Config, *others: Any, **named: Any) -> None:
        super().__init__(config, *others, **named)
        # The setting's name is that of the other parser.
        self._max_overhead: Final = config.h11_max_incomplete_event_size or 64 << 10
        self._overhead = 0
        # In order of arrival; responses are sent in this order.
        self._open: deque[Cycle] = deque()
        self._answering: Cycle | None = None
        self._is_body = False
        self._is_upgrade = False
        self._refusal: str | None = None

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; nothing is parsed after a malformed request."""
        for start in range(0, len(data), self._max_overhead):
            if self._refusal is not None:
                return
            piece = data[start : start + self._max_overhead]
            self._overhead += len(piece)
            try:
                self._parse(piece)
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
            else:
                if self._overhead > self._max_overhead:
                    self.send_400_response("The headers are too large.")
            # Not before the rest is parsed, so that the application need not wait for a body that has arrived.
            self._begin()

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # It would take the body for the next request, so it gets the request again, without the header.
            version = self.parser.get_http_version().encode()
            head = [b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version)]
            head += [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
            self._is_upgrade = False
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.parser.feed_data(b"".join([*head, b"\r\n"]))
            self._parse(data[upgrade.args[0] :])

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header, or a trailer, which the application does not see."""
        # The parser keeps blanks after a value; they do not belong to it (RFC 9110, 5.5).
        name, value = name.lower(), value.strip(b" \t")
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Start answering a request; raises ValueError if it is refused."""
        parser, headers = self.parser, self.headers
        version, names = parser.get_http_version(), [name for name, _ in headers]
        if version not in ("1.0", "1.1") or names.count(b"host") > 1 or (version == "1.1" and b"host" not in names):
            raise ValueError("this version is not supported, or there is not one Host")
        if b"transfer-encoding" in names and not is_framed(headers, version):
            raise ValueError("it is unclear where the body ends")
        if len(self._open) >= MAX_PIPELINED:
            raise ValueError("too many requests are not answered yet")
        method, scope = parser.get_method(), self.scope
        if parser.should_upgrade():
            if method == b"CONNECT":
                raise ValueError("this is not a proxy")
            self._is_upgrade = True
            return
        target = httptools.parse_url(self.url)
        scope["method"], scope["http_version"] = method.decode("ascii"), version
        scope["path"], scope["raw_path"] = unquote(target.path.decode("ascii")), target.path
        scope["query_string"] = target.query or b""
        self.cycle = Cycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        self._open.append(self.cycle)
        if len(self._open) > 1:
            self.flow.pause_reading()
        self._is_body = True
        # Trailers are added here, and not to the headers that the application sees.
        self.headers = []

    def _begin(self) -> None:
        """Start answering the first request that waits, unless that has been done."""
        if self._open and self._open[0] is not self._answering:
            self._answering = self._open[0]
            task = begin(self.loop, self._answering.run_asgi(cast("Any", self.config).loaded_app))
            if not task.done():
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    def on_body(self, body: bytes) -> None:
        """Pass on a part of a body."""
        self._overhead = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._overhead = 0
        if not self._is_upgrade:
            self._is_body = False
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the next request that waits, or refuse what follows the last one."""
        self._open.popleft()
        self.server_state.total_requests += 1
        # uvicorn would set a timer here, though `Server` closes idle connections.
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self._open:
            self._begin()
        elif self._refusal is not None:
            super().send_400_response(self._refusal)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is malformed, after the responses to the requests before it, and never inside one."""
        self._refusal = msg
        if self._is_body:
            _disconnect(self.cycle)
            if self.cycle.response_started:
                self.transport.close()
                return
            self._open.pop()
        if not self._open:
            super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """End every request; those that wait do not begin."""
        for cycle in self._open:
            _disconnect(cycle)
        super().connection_lost(exc)


def _disconnect(cycle: RequestResponseCycle) -> None:
    cycle.disconnected = True
    cycle.message_event.set()
