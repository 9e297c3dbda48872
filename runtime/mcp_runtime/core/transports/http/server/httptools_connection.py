"""A connection parsed by httptools, which is several times as fast as h11, and refuses what httptools lets through.

httptools alone accepts HTTP/0.9, requests without a Host or with two, and any amount of headers; it keeps the blanks
after their values. uvicorn adds trailers to the headers, sends a 400 in the middle of a response, queues any number of
requests, and takes the body of a request with `Upgrade` for the next request.
"""

from typing import Any, Final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mcp_runtime.core.connection.background import begin
from mcp_runtime.core.transports.http.server.checks import is_framed

MAX_PIPELINED: Final = 16
"""The maximum number of requests on a connection that are not answered yet."""


class HttptoolsConnection(HttpToolsProtocol):
    """A connection that refuses what h11 refuses too."""

    def __init__(self, config: uvicorn.Config, *others: Any, **named: Any) -> None:
        super().__init__(config, *others, **named)
        # The setting's name is that of the other parser.
        self._max_overhead: Final = config.h11_max_incomplete_event_size or 64 << 10
        self._overhead = 0
        self._answering: RequestResponseCycle | None = None
        self._ready: tuple[RequestResponseCycle, Any] | None = None
        self._is_body = False
        self._is_upgrade = False
        self._refusal: str | None = None

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; nothing is parsed after a malformed request."""
        self._unset_keepalive_if_required()
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
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start answering a request; raises ValueError if it is refused."""
        parser, headers = self.parser, self.headers
        version, names = parser.get_http_version(), [name for name, _ in headers]
        if version not in ("1.0", "1.1") or names.count(b"host") > 1 or (version == "1.1" and b"host" not in names):
            raise ValueError("this version is not supported, or there is not one Host")
        if not is_framed(headers, version):
            raise ValueError("it is unclear where the body ends")
        if len(self.pipeline) >= MAX_PIPELINED - 1:
            raise ValueError("too many requests are not answered yet")
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise ValueError("this is not a proxy")
            self._is_upgrade = True
            return
        super().on_headers_complete()
        self._is_body = True
        # Trailers are added here, and not to the headers that the application sees.
        self.headers = []

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering, self._ready = cycle, (cycle, app)

    def _begin(self) -> None:
        """Start answering a request that waits for that."""
        if self._ready is not None:
            (cycle, app), self._ready = self._ready, None
            task = begin(self.loop, cycle.run_asgi(app))
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
        self._answering = None
        super().on_response_complete()
        self._begin()
        if self._answering is None and self._refusal is not None and not self.transport.is_closing():
            super().send_400_response(self._refusal)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is malformed, after the responses to the requests before it, and never inside one."""
        self._refusal = msg
        if self._is_body:
            self._end(self.cycle)
            if self.cycle.response_started:
                self.transport.close()
                return
            if self.cycle is self._answering:
                self._answering = self._ready = None
            else:
                self.pipeline.popleft()
        if self._answering is None:
            super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """End every request; those that wait do not begin."""
        if self._answering is not None:
            self._end(self._answering)
        self.pipeline.clear()
        super().connection_lost(exc)

    @staticmethod
    def _end(cycle: RequestResponseCycle) -> None:
        cycle.disconnected = True
        cycle.message_event.set()
