"""Make a mock, and serve it over HTTP."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.mock import MockOptions
from mcp_bindgen.mock.faults import Faults
from mcp_bindgen.mock.lock import lock_server
from mcp_bindgen.mock.replay import session_server
from mcp_bindgen.mock.session import read_session

if TYPE_CHECKING:
    import uvicorn

    from mcp_runtime.core.handlers import ServerHandlers


@dataclass(slots=True)
class Mock:
    """A mock, and what it was asked.

    Attributes:
        server: the server.
        faults: what goes wrong.
        url: where it is served; empty if it is not served over HTTP.
        calls: the method and params of each request, keyed by wire names.
        unrecorded: why requests were refused that a session does not have.
        left_out: the numbers of messages of a session in revisions that are not replayed.
        unreadable: lines of a session that are left out.
    """

    server: "ServerHandlers"
    faults: Faults
    url: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    unrecorded: list[str] = field(default_factory=list[str])
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    unreadable: Diagnostics = field(default_factory=Diagnostics)


def make(options: MockOptions, *, over_http: bool = False) -> Mock:
    """Return a mock.

    Raises:
        InputError: a file cannot be used, or the options do not fit together.
    """
    lock, session, revision = options.get("lock"), options.get("session"), options.get("revision", "")
    seed, examples, package = options.get("seed"), options.get("examples"), options.get("package", "")
    faults = Faults.of(options.get("faults", ()), over_http=over_http)
    if (lock is None) is (session is None):
        raise InputError.at("mock", "give one source: a lock file (--lock FILE) or a session (--session FILE)")
    if lock is not None and not revision:
        given = None if examples is None else Path(examples)
        mock = Mock(lock_server(Path(lock), seed=seed or 0, examples=given, package=package), faults)
    elif session is not None and seed is None and examples is None and not package:
        unrecorded: list[str] = []
        recorded = read_session(Path(session), revision)
        served = session_server(recorded, unrecorded)
        mock = Mock(served, faults, unrecorded=unrecorded, left_out=recorded.left_out, unreadable=recorded.unreadable)
    else:
        raise InputError.at("mock", "--seed, --examples and --package are for a lock file, --revision for a session")

    async def around(exchange: Any, proceed: Callable[[], Awaitable[Any]]) -> Any:
        from mcp_runtime.core.connection.calls import Way
        from mcp_runtime.core.method import RequestMethod

        method: Any = exchange.method
        if exchange.way is not Way.RECEIVED or not isinstance(method, RequestMethod):
            return await proceed()
        mock.calls.append((method.name, dict(exchange.raw_params)))
        return await faults.around(mock.server, exchange, proceed)

    effective = mock.server.effective_options()
    changing = effective.list_changed
    if faults.changes and changing is not True:
        changing = frozenset(("tools", *(changing or ())))
    mock.server.options = replace(effective, middleware=(around,), list_changed=changing)
    return mock


def run_stdio(mock: Mock) -> None:
    """Serve the client that started this process."""
    from mcp_runtime.core.transports.stdio import serve_stdio

    serve_stdio(mock.server)


def run_http(mock: Mock, port: int, started: Callable[[str], None]) -> None:
    """Serve until the process is interrupted; `started` is told the URL.

    Raises:
        InputError: the port is taken, or the extra ``http`` is not installed.
    """
    _, serve = _prepared(mock, port)
    started(mock.url)
    asyncio.run(serve())


@contextmanager
def in_thread(mock: Mock, port: int) -> Generator[Mock]:
    """Serve in a thread; see `run_http`."""
    server, serve = _prepared(mock, port)
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="mcp-mock", daemon=True)
    thread.start()
    try:
        yield mock
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def _prepared(mock: Mock, port: int) -> "tuple[uvicorn.Server, Callable[[], Any]]":
    """Listen, set the mock's URL, and return what serves it and what ends it."""
    from mcp_bindgen.live.relaying.http_proxy import listening
    from mcp_runtime.core.transports.http import asgi_app

    server, serve, mock.url = listening(mock.faults.over(asgi_app(mock.server)), port)
    return server, serve
