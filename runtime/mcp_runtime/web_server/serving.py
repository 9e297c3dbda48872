"""Serves an endpoint with uvicorn, with a health page, and a shutdown that lets calls finish."""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any, Final, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_runtime.core import sources
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.protocol.jsonrpc import dump
from mcp_runtime.core.transports.http.server.access import LOOPBACK, without_port
from mcp_runtime.core.transports.http.server.app import HttpApp
from mcp_runtime.core.transports.http.server.asgi import HttpRequest, Receive, Scope, Send, is_framed
from mcp_runtime.core.transports.http.statuses import Case, Refusal
from mcp_runtime.core.transports.process import Ending
from mcp_runtime.web_server.sse import SseApp

LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""The addresses that only this machine can reach."""
MAX_PORT: Final = 65535
"""The largest port number."""
MAX_SILENT: Final = 15.0
"""Seconds in which a connection must have sent the headers of a request, or of another one."""
MAX_CONNECTIONS: Final = 1000
"""The maximum number of connections; beyond that, those that have been idle for longest are closed."""
LINGER: Final = 3.0
"""Seconds that the process may keep running after the grace period of calls."""


class Site:
    """Routes the path of the endpoint, that of HTTP+SSE, and the health page; there is nothing else.

    Args:
        endpoint: the endpoint.
        path: the path of the endpoint.
        health: the path of the health page; empty for none.
        shows_sessions: whether the health page gives the number of sessions.
        sse: the endpoint of HTTP+SSE and its path; None for none.

    Attributes:
        path: the path of the endpoint.
        write_timeout: see `HttpLimits`.
    """

    def __init__(
        self,
        endpoint: HttpApp,
        path: str,
        health: str,
        sse: tuple[SseApp, str] | None = None,
        *,
        shows_sessions: bool = False,
    ) -> None:
        paths = [path, *((health,) if health else ()), *((sse[1],) if sse else ())]
        for given in paths:
            if not given.startswith("/"):
                raise ValueError(f"a path must begin with /, not {given!r}")
            if paths.count(given) > 1:
                raise ValueError(f"the endpoint, its health page and HTTP+SSE cannot both be at {given}")
        self.write_timeout = endpoint.limits.write_timeout
        self.path = path
        self._health = health
        self._shows_sessions = shows_sessions
        self._endpoints: dict[str, HttpApp | SseApp] = {path: endpoint}
        self._metadata = frozenset[str]() if endpoint.auth is None else endpoint.auth.paths
        if sse is not None:
            self._endpoints[sse[1]] = sse[0]

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request, or handle the lifespan of the server."""
        path = scope["path"] if scope["type"] == "http" else self.path
        if path in self._metadata:
            path = self.path
        if (endpoint := self._endpoints.get(path)) is not None:
            return endpoint(scope, receive, send)
        if self._health and path == self._health:
            return self._answer_health(HttpRequest(scope, receive, send))
        return HttpRequest(scope, receive, send).refuse(Refusal(Case.NOWHERE, self.path))

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return any(endpoint.is_busy for endpoint in self._endpoints.values())

    def stop(self) -> None:
        """Refuse new requests."""
        for endpoint in self._endpoints.values():
            endpoint.stop()

    async def start(self) -> None:
        """Enter the lifespans of the servers."""
        await self._endpoints[self.path].start()

    async def end_sessions(self) -> None:
        """End all sessions."""
        await asyncio.gather(*(endpoint.end_sessions() for endpoint in self._endpoints.values()))

    async def aclose(self) -> None:
        """Leave the lifespans of the servers, when no session is open any more."""
        await asyncio.gather(*(endpoint.aclose() for endpoint in self._endpoints.values()))

    async def _answer_health(self, request: HttpRequest) -> None:
        method = request.scope["method"]
        try:
            endpoint = self._endpoints[self.path]
            request.read_headers(endpoint.limits.max_header_bytes)
            endpoint.places.admit(request)
            if method not in ("GET", "HEAD"):
                raise Refusal(Case.HEALTH, headers=[(b"allow", b"GET, HEAD")])
        except Refusal as refusal:
            await request.refuse(refusal)
            return
        endpoints = self._endpoints.values()
        is_well = not any(endpoint.is_stopping for endpoint in endpoints)
        health: dict[str, Any] = {"status": "ok" if is_well else "stopping"}
        if self._shows_sessions:
            health["sessions"] = sum(len(endpoint.sessions) for endpoint in endpoints)
        body = dump(health) if method == "GET" else b""
        await request.respond(
            (Case.ANSWERED if is_well else Case.UNHEALTHY).status, body, headers=[(b"cache-control", b"no-store")]
        )


MAX_OVERHEAD: Final = 64 << 10
"""How many bytes of headers, trailers and framing may follow the last byte of a body, or of a request."""


class _Parser(h11.Connection):
    """A parser that refuses a length beside a transfer coding, which h11 ignores."""

    def next_event(self) -> Any:
        """Return what the client sent; raises RemoteProtocolError."""
        event = super().next_event()
        if isinstance(event, h11.Request) and not is_framed(event.headers, event.http_version.decode()):
            raise h11.RemoteProtocolError("it is unclear where the body ends")
        return event


class H11Connection(H11Protocol):
    """A connection parsed by h11, which never sends a 400 in the middle of a response."""

    def __init__(self, config: uvicorn.Config, *others: Any, **named: Any) -> None:
        super().__init__(config, *others, **named)
        self.conn = _Parser(h11.SERVER, config.h11_max_incomplete_event_size or MAX_OVERHEAD)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is malformed, unless it follows a response to the beginning of the same request."""
        if self.conn.our_state is not h11.IDLE and cast("Any", self.cycle) is not None:
            # What is sent from now on is dropped.
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()


class Server(uvicorn.Server):
    """Ends the streams of listening clients at shutdown, since it would wait for them."""

    def __init__(self, config: uvicorn.Config, site: Site, grace: float, started: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self._site = site
        self._grace = grace
        self._started = started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._silent: dict[Any, float] = {}
        self._stuck: dict[tuple[Any, int], float] = {}
        self.ending = Ending(grace + LINGER)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        self._loop = asyncio.get_running_loop()
        await self._site.start()  # uvicorn would log its failure, in several lines
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            log.info("serving at %s%s", url, self._site.path)
            if self._started is not None:
                self._started(url)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Let SIGINT and SIGTERM end the server, and nothing else: uvicorn would raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to shut down; the process ends in time even if a handler does not."""
        if self._loop is not None:
            self.ending.begin(self._loop)
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Close connections that send no request, or read no response, once a second."""
        if counter % 10 == 0:
            self._close_silent(sources.now())
            self._close_stuck(sources.now())
        return await super().on_tick(counter)

    def _close_silent(self, now: float) -> None:
        connections: set[Any] = self.server_state.connections
        # One that is closing waits for its client to read the rest.
        silent = [
            each
            for each in connections
            if each.cycle is None or each.cycle.response_complete or each.transport.is_closing()
        ]
        self._silent = {each: self._silent.get(each, now) for each in silent}
        too_many = len(connections) - MAX_CONNECTIONS
        for number, (each, since) in enumerate(sorted(self._silent.items(), key=lambda item: item[1])):
            if number < too_many or now - since > MAX_SILENT:
                each.transport.abort()

    def _close_stuck(self, now: float) -> None:
        """Close connections whose clients read nothing of what waits for them."""
        connections: set[Any] = self.server_state.connections
        stuck = [(each, each.transport.get_write_buffer_size()) for each in connections if each.flow.write_paused]
        self._stuck = {each: self._stuck.get(each, now) for each in stuck}
        for (each, _), since in self._stuck.items():
            if now - since > self._site.write_timeout:
                each.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new requests, finish the open ones, end the sessions."""
        self._site.stop()
        until = sources.now() + self._grace
        # Still listening: what open calls wait for may come over new connections.
        while self._site.is_busy and sources.now() < until and not self.force_exit:
            await asyncio.sleep(0.05)
        # Sessions end before uvicorn cancels the rest, which it would log with a traceback.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._site.end_sessions(), 1)
        await super().shutdown(sockets)
        await self._site.aclose()


def run(site: Site, *, host: str, port: int, grace: float, started: Callable[[str], None] | None) -> None:
    """Serve endpoints until SIGINT or SIGTERM; see `serve_http`.

    Raises:
        OSError: it cannot listen on the address.
    """
    config = uvicorn.Config(
        site,
        host=host,
        port=port,
        # Its warnings are one line for each malformed request, from anybody.
        log_level="error",
        access_log=False,
        interface="asgi3",
        http=fastest_connection(),
        h11_max_incomplete_event_size=MAX_OVERHEAD,
        timeout_graceful_shutdown=1,
        # By default an idle connection is closed after 5 seconds, as many clients do; one may just use it again.
        timeout_keep_alive=int(MAX_SILENT),
        # `trusted_proxies` determines which forwarded headers are trusted.
        proxy_headers=False,
        server_header=False,
        ws="none",
        lifespan="on",
    )
    server = Server(config, site, grace, started)
    with ExitStack() as closing:
        log = logging.getLogger("uvicorn.error")
        log.addFilter(_is_of_an_error)
        closing.callback(log.removeFilter, _is_of_an_error)
        # uvicorn would log a failure to listen and end the process.
        listeners = [closing.enter_context(listener) for listener in listen(host, port)]
        runner = closing.enter_context(asyncio.Runner(loop_factory=fastest_loop()))
        runner.run(server.serve(listeners))
    server.ending.over()


def _is_of_an_error(record: logging.LogRecord) -> bool:
    """Whether uvicorn reports an error, rather than a stream that was cut because its client does not read it."""
    return record.msg != "ASGI callable returned without completing response."


def fastest_connection() -> type[asyncio.Protocol]:
    """Return the connections of the fastest parser that is installed."""
    try:
        from mcp_runtime.web_server.httptools_connection import HttptoolsConnection
    except ModuleNotFoundError:
        return H11Connection
    return HttptoolsConnection


def fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what creates the fastest event loop that is installed; None for asyncio's."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def listen(host: str, port: int) -> Generator[socket.socket]:
    """Listen on every address of a host.

    Args:
        host: its name or address.
        port: the port; 0 for any.

    Raises:
        OSError: one of them cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            listener = socket.create_server(address, family=family)
            # Its connections inherit this. The end of a response would otherwise wait for the client's delayed
            # acknowledgement of the start; asyncio knows only sockets that name their protocol as TCP.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield listener
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise OSError(f"cannot listen on {host}, port {port}: {reason}; choose another") from None


def check_address(host: str, port: int, has_hosts: bool) -> None:
    """Check the port, and that a server which other machines can reach has named hosts.

    Raises:
        ValueError: the port is not valid, or there are no hosts.
    """
    if not isinstance(cast(object, port), int) or not 0 <= port <= MAX_PORT:
        raise ValueError(f"a port is a number from 0 to {MAX_PORT}, not {port!r}")
    if not has_hosts and host not in LOCAL and without_port(host) not in LOOPBACK:
        raise ValueError(
            f"a server on {host} can be reached from other machines: name its hosts, like hosts=['mcp.example.com'], "
            "or --allowed-host mcp.example.com"
        )
