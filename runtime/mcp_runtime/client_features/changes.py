"""Listen for the changes of a server, and reconnect when it is lost."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Final, TypeAlias, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.changes.listen import Change
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import ConnectionClosed, clipped
from mcp_runtime.core.protocol import names
from mcp_runtime.core.stub import ClientStub

__all__ = ["Change", "listening"]

ClientT = TypeVar("ClientT", bound=ClientStub[Any])
Opens: TypeAlias = Callable[[], AbstractAsyncContextManager[ClientT]]

LONGEST_PAUSE: Final = 30.0
"""The maximum delay between reconnection attempts, in seconds."""
STEADY: Final = 60.0
"""Seconds of successful listening after which earlier failures are forgotten."""


@asynccontextmanager
async def listening(
    opens: Opens[ClientT],
    *,
    tools: bool = False,
    prompts: bool = False,
    resource_list: bool = False,
    resources: Sequence[str] = (),
    attempts: int = 5,
    pause: float = 0.5,
) -> AsyncGenerator[AsyncIterator[tuple[ClientT, Change]]]:
    """Listen for changes at a modern-era server, and reconnect when the server or the connection ends.

    The iterator yields each change with the client that received it. At the start and after each reconnection it yields
    every list and resource that is listened for, since any of them may have changed unnoticed::

        async with listening(opened, tools=True) as changes:
            async for client, change in changes:
                tools = await client.list_tools()

    Args:
        opens: returns a context manager that connects to the server and opens a client.
        tools: whether to listen for changes of the list of tools.
        prompts: whether to listen for changes of the list of prompts.
        resource_list: whether to listen for changes of the list of resources.
        resources: the URIs of resources to watch.
        attempts: how many failures in a row are tolerated before the error is raised.
        pause: seconds before reconnecting; doubled with each failure, up to 30.

    Raises:
        ConnectionClosed: the server was lost too often; raised while iterating. Errors before the first
            acknowledgement, and errors that reconnecting cannot fix, are raised at once.
    """
    wanted = {"tools": tools, "prompts": prompts, "resource_list": resource_list, "resources": tuple(resources)}
    async with aclosing(_changes(opens, wanted, attempts, pause)) as changes:
        yield changes


async def _changes(
    opens: Opens[ClientT], wanted: Mapping[str, Any], attempts: int, pause: float
) -> AsyncGenerator[tuple[ClientT, Change]]:
    loop, failures, has_listened = asyncio.get_running_loop(), 0, False
    while True:
        begun, why, error = loop.time(), "it ended the subscription", None
        try:
            async with opens() as client, await client.listen(**wanted) as subscription:
                has_listened = True
                for change in _agreed(subscription.agreed):
                    yield client, change
                async for change in subscription:
                    yield client, change
        except (ConnectionClosed, OSError) as lost:
            why, error = str(lost), lost
        failures = 1 if loop.time() - begun > STEADY else failures + 1
        if error is not None and (not has_listened or failures >= attempts):
            raise error
        seconds = min(pause * 2 ** min(failures - 1, 16), LONGEST_PAUSE) * sources.jitter(0.75, 1.25)
        log.warning("subscription lost, reconnecting in %.1f s: %s", seconds, clipped(why, 300))
        await asyncio.sleep(seconds)


def _agreed(agreed: Mapping[str, Any]) -> list[Change]:
    """Return everything the server agreed to report, as if it had changed."""
    lists = [Change(what=area) for area in names.AREAS if agreed.get(f"{area}ListChanged")]
    return lists + [Change(what="resource", uri=uri) for uri in agreed.get("resourceSubscriptions") or ()]
