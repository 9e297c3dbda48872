"""Serve clients over a transport, and name the capabilities that a handler needs."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, nullcontext
from functools import wraps
from traceback import walk_tb
from typing import Any, Final, TypeVar, cast

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.journal import log
from mcp_runtime.core.connection.transport import Transport
from mcp_runtime.core.errors import LifespanError
from mcp_runtime.core.functions import SCOPES, ScopeRule, check_scope_names
from mcp_runtime.core.handlers import Context, ServerHandlers, Serving
from mcp_runtime.core.handshake.offer import check_handlers
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.protocol.capabilities import declares

HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])


def requires(*capabilities: str, only: Collection[str] = ()) -> Callable[[HandlerT], HandlerT]:
    """Declare which capabilities a client must have for a handler to run; several decorators add up.

    Clients that did not declare them are answered with error -32021 and ``requiredCapabilities`` in the modern era, and
    in the legacy era with -32600 and a message that names what is missing.

    Args:
        capabilities: the paths of the capabilities, such as ``"elicitation.form"`` or ``"sampling.tools"``.
        only: the names of the tools or prompts, or the URIs of the resources, that need it; by default all.

    Raises:
        TypeError: `only` is a string instead of a collection of strings.
        ValueError: no capability is given.
    """
    if isinstance(only, str):
        raise TypeError(f"only: must be a collection of names, such as [{only!r}]")
    if not capabilities or not all(capabilities):
        raise ValueError("requires() needs the path of a capability, such as 'elicitation.form'")
    names = frozenset(only)

    def decorate(handler: HandlerT) -> HandlerT:
        @wraps(handler)
        def checked(*args: Any) -> Any:
            _check(capabilities, names, *args[-2:])
            return handler(*args)

        return cast("HandlerT", checked)

    return decorate


def _check(capabilities: Collection[str], names: Collection[str], params: Any, ctx: Context[Any]) -> None:
    if names and getattr(params, "name", getattr(params, "uri", None)) not in names:
        return
    requester, peer = ctx.requester, ctx.requester.side.other
    missing = [f"{peer.value}.{path}" for path in capabilities if not declares(requester.declared[peer], path)]
    if missing:
        raise requester.lacks(ctx.exchange.method.name, *missing)


def requires_scopes(*scopes: str, only: Collection[str] = ()) -> Callable[[HandlerT], HandlerT]:
    """Declare which scopes an access token must have for a function to run; several decorators add up.

    It decorates handlers of generated servers, and functions that become tools, resources or prompts of an App. Over
    HTTP, where `auth=` is needed, other callers get 403 and a challenge that names all scopes they need. On stdio,
    which has no tokens, it does nothing. Lists are the same for all callers.

    Args:
        scopes: the scopes, such as ``"files:write"``.
        only: of a handler: the names of the tools or prompts, or the URIs of the resources, that need them; by default
            all. Functions of an App need them always.

    Raises:
        TypeError: `only` is a string instead of a collection of strings.
        ValueError: no scope is given, or one is not a scope.
    """
    if isinstance(only, str):
        raise TypeError(f"only: must be a collection of names, such as [{only!r}]")
    check_scope_names(scopes)
    if not scopes:
        raise ValueError("requires_scopes() needs a scope, such as 'files:write'")

    def decorate(handler: HandlerT) -> HandlerT:
        setattr(handler, SCOPES, (*getattr(handler, SCOPES, ()), ScopeRule(scopes, frozenset(only))))
        return handler

    return decorate


async def serve(transport: Transport, *servers: ServerHandlers) -> str:
    """Serve one client until it disconnects; return why the connection ended.

    Args:
        transport: the transport to the client.
        servers: one instance of a generated `Server` per revision, or a bridged one. The
            client's choice decides which one answers; in the modern era, with each request.

    Raises:
        ValueError: there is no server, two servers have the same revision, or a method in `ServerOptions.cache` has no
            results that can be cached.
        ConnectionClosed: the client cannot be reached.
        LifespanError: a lifespan of the servers failed.
    """
    async with serving(transport, *servers) as connection:
        return await connection.wait_closed()


@asynccontextmanager
async def serving(transport: Transport, *servers: ServerHandlers) -> AsyncGenerator[Connection]:
    """Serve one client for as long as the context lasts, within the lifespans of the servers; see `serve`."""
    async with lifespans(servers), aclosing(await start_server(transport, *servers)) as connection:
        yield connection


def lifespans(servers: Sequence[ServerHandlers]) -> AbstractAsyncContextManager[None]:
    """Keep the lifespans of servers open (`ServerOptions.lifespan`); each is entered once, however many need it.

    Args:
        servers: the servers; those without a lifespan need none.

    Raises:
        LifespanError: one of them failed.
    """
    for server in servers:
        check_handlers(server, ServerHandlers)
    living = [server for server in servers if server.effective_options().lifespan is not None]
    return _all_entered(living) if living else _NOTHING


_NOTHING: Final = nullcontext()
"""Shared, since it is kept for each idle connection in memory."""


@asynccontextmanager
async def _all_entered(servers: Sequence[ServerHandlers]) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        for server in servers:
            await stack.enter_async_context(_entered(server))
        yield


@asynccontextmanager
async def _entered(server: ServerHandlers) -> AsyncGenerator[None]:
    loop = asyncio.get_running_loop()
    opened = Serving.of(server).lifespans
    life: _Lifespan = opened.get(loop) or _Lifespan(server)
    opened[loop] = life
    life.users += 1
    try:
        await asyncio.shield(life.state)
        yield
    finally:
        life.users -= 1
        if not life.users:
            del opened[loop]
            life.over.set()
            if not life.state.done():
                life.task.cancel()
            await asyncio.wait([life.task])


class _Lifespan:
    """The lifespan of a server in an event loop: a task, as some resources are closed by the task that opened them.

    Attributes:
        state: what the lifespan yields.
        users: how many need it.
        over: set when nobody does.
        task: enters and leaves it.
    """

    def __init__(self, server: ServerHandlers) -> None:
        self._open = server.effective_options().lifespan
        self.state: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.users = 0
        self.over = asyncio.Event()
        self.task = asyncio.create_task(self._run(), name=f"lifespan of {type(server).__name__}")

    async def _run(self) -> None:
        assert self._open is not None
        try:
            async with self._open() as state:
                self.state.set_result(state)
                await self.over.wait()
        except Exception as error:
            where = f"{_place(error)}lifespan {getattr(self._open, '__name__', '')}".rstrip()
            if self.state.done():
                log.error("%s failed after the last request", where, exc_info=error)
                return
            failure = LifespanError(f"{where}: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self.state.set_exception(failure)
        finally:
            self.state.cancel()


def _place(error: Exception) -> str:
    """Return the author's line that led to an error in a lifespan."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((f"{file}:{line}: " for file, line in frames if file not in (__file__, contextlib.__file__)), "")
