"""A connection parsed by httptools, which is several times as fast as h11, and refuses what httptools lets through."""

from collections import deque
from typing import Any, Final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_PIPELINED: Final = 16
"""The maximum number of requests on a connection that are not answered yet."""


class HttptoolsConnection(HttpToolsProtocol):
    """A connection that refuses what h11 refuses too.

    httptools alone accepts HTTP/0.9, requests without a Host or with two, and any amount of headers; it keeps the
    blanks after their values. uvicorn adds trailers to the headers, sends a 400 in the middle of a response, queues any
    number of requests, and takes the body of a request with `Upgrade` for the next request.
    """

    def __init__(self, config: uvicorn.Config, *others: Any, **named: Any) -> None:
        super().__init__(config, *others, **named)
        # In order of arrival; responses are sent in this order.
        self._open: deque[RequestResponseCycle] = deque()
        # The setting's name is that of the other parser.
        self._max_overhead: Final = config.h11_max_incomplete_event_size or 64 << 10
        self._overhead = 0
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

    def on_headers_complete(self) -> None:
        """Start answering a request; raises ValueError if it is refused."""
        parser = self.parser
        # The parser keeps blanks after a value; they do not belong to it (RFC 9110, 5.5).
        self.headers[:] = [(name, value.strip(b" \t")) for name, value in self.headers]
        version, hosts = parser.get_http_version(), [name for name, _ in self.headers].count(b"host")
        if version not in ("1.0", "1.1") or hosts > 1 or (version == "1.1" and not hosts):
            raise ValueError("this version is not supported, or there is not one Host")
        if len(self._open) >= MAX_PIPELINED:
            raise ValueError("too many requests are not answered yet")
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise ValueError("this is not a proxy")
            self._is_upgrade = True
            return
        super().on_headers_complete()
        self._open.append(self.cycle)
        self._is_body = True
        # Trailers are added here, and not to the headers that the application sees.
        self.headers = []

    def on_body(self, body: bytes) -> None:
        """Pass on a part of a body."""
        self._overhead = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._overhead = 0
        if not self._is_upgrade:
            super().on_message_complete()
            self._is_body = False

    def on_response_complete(self) -> None:
        """Start the next request that waits, or refuse what follows the last one."""
        self._open.popleft()
        if self.pipeline:
            super().on_response_complete()
            return
        # uvicorn would set a timer here, though `Server` closes idle connections.
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self._refusal is not None:
                super().send_400_response(self._refusal)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is malformed, after the responses to the requests before it, and never inside one."""
        self._refusal = msg
        if self._is_body:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
            self._open.pop()
            if self.pipeline:
                self.pipeline.popleft()
        if not self._open:
            super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """End every request; those that wait do not begin."""
        self.pipeline.clear()
        for cycle in self._open:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)
