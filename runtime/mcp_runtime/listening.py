"""Listening that goes on after a server was started again: over each new connection a client listens anew.

A server keeps nothing of a subscription when its connection ends (2026-07-28, basic/patterns/subscriptions), and what
changes meanwhile is told to nobody.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Final, TypeAlias, TypeVar

from mcp_runtime.connection.link import log
from mcp_runtime.errors import ConnectionClosed
from mcp_runtime.features.listen import Change, Subscription
from mcp_runtime.protocol import names
from mcp_runtime.protocol.text import clipped
from mcp_runtime.stub import ClientStub

__all__ = ["Change", "Subscription", "listening"]

ClientT = TypeVar("ClientT", bound=ClientStub[Any])
Opens: TypeAlias = Callable[[], AbstractAsyncContextManager[ClientT]]

LONGEST_PAUSE: Final = 30.0
"""How many seconds pass at most before a server is connected to again."""
STEADY: Final = 60.0
"""After how many seconds of listening earlier failures no longer count."""


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
    """Listen for changes at a server of the modern era, and again after it or its connection has ended.

    The iterator yields each change with the client that heard of it. At the beginning, and after each new one, it
    yields every list and resource that is listened for, since any of them may have changed unheard::

        async with listening(opened, tools=True) as changes:
            async for client, change in changes:
                tools = await client.list_tools()

    Args:
        opens: makes a context manager that connects to the server and opens a client.
        tools: whether to hear of changes of the list of tools.
        prompts: the same for prompts.
        resource_list: the same for the list of resources.
        resources: the URIs of resources whose changes to hear of.
        attempts: how often in a row the server may be lost; then the error is raised.
        pause: seconds before the server is connected to again; they double with each failure, up to 30.

    Raises:
        ConnectionClosed: the server was lost too often, while it is iterated over. What goes wrong before the first
            acknowledgement is raised at once, and so is what connecting again does not help against.
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
        seconds = min(pause * 2 ** min(failures - 1, 16), LONGEST_PAUSE) * random.uniform(0.75, 1.25)
        log.warning("the server that was listened to is connected to again in %.1f s: %s", seconds, clipped(why, 300))
        await asyncio.sleep(seconds)


def _agreed(agreed: Mapping[str, Any]) -> list[Change]:
    """Return everything that a server tells of, as if it had changed."""
    lists = [Change(what=area) for area in names.AREAS if agreed.get(f"{area}ListChanged")]
    return lists + [Change(what="resource", uri=uri) for uri in agreed.get("resourceSubscriptions") or ()]
