"""Serve clients over a transport, within the lifespans of the servers."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, nullcontext
from traceback import walk_tb
from typing import Any, Final

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.connection.transport import Transport
from mcp_runtime.core.errors import LifespanError
from mcp_runtime.core.handlers import ServerHandlers, Serving
from mcp_runtime.core.handshake.offer import check_handlers
from mcp_runtime.core.handshake.server import start_server


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
    """Keep the lifespans of servers and their parts open (`ServerOptions.lifespan`).

    Each is entered once, however many need it.

    Args:
        servers: the servers; those without a lifespan need none.

    Raises:
        LifespanError: one of them failed.
    """
    for server in servers:
        check_handlers(server, ServerHandlers)
    living = [server for server in with_mounted(*servers) if server.effective_options().lifespan is not None]
    return _all_entered(living) if living else _NOTHING


def with_mounted(*servers: ServerHandlers) -> Iterator[ServerHandlers]:
    """Iterate over servers and the parts that are mounted in them."""
    for server in servers:
        yield server
        yield from with_mounted(*Serving.of(server).mounted)


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
