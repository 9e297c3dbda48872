"""A typed client and a server connected in memory, for tests of what users see."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import ClientStub, Handlers, ServerHandlers
from mcp_runtime.memory import memory_pair

ClientT = TypeVar("ClientT", bound=ClientStub[Any])


@asynccontextmanager
async def together(
    client: type[ClientT],
    server: ServerHandlers,
    *,
    handlers: Handlers | None = None,
    options: ClientOptions | None = None,
) -> AsyncGenerator[ClientT]:
    """Open a client of a server; at the end both are closed, and no new task may be left."""
    before = asyncio.all_tasks()
    here, there = memory_pair()
    served = await start_server(there, server)
    opened = await client.open(Peer(here), handlers=handlers, options=options)
    try:
        yield opened
    finally:
        await opened.connection.aclose()
        await served.wait_closed()
        assert not {task for task in asyncio.all_tasks() - before if not task.done()}
