"""Server objects that act as the workers of one server, each with a client that subscribes to changes."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.cluster.fan_out import FanOut
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.memory import memory_pair
from support.roles import make_server, returns

URI = "file:///a"
RESULTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def options(fan_out: FanOut, name: str = "library") -> ServerOptions:
    return ServerOptions(name=name, list_changed=True, resource_updates=True, fan_out=fan_out)


def modern_server(fan_out: FanOut, name: str = "library") -> Any:
    lists: dict[str, Any] = {
        "list_tools": returns("ListToolsResult", tools=[], **RESULTS),
        "list_resources": returns("ListResourcesResult", resources=[], **RESULTS),
    }
    return make_server("2026-07-28", options(fan_out, name), **lists)


class Library(legacy.Server):
    def __init__(self, fan_out: FanOut, name: str = "library") -> None:
        self.options = options(fan_out, name)

    async def list_tools(self, params: Any, ctx: Any) -> legacy.ListToolsResult:
        return legacy.ListToolsResult(tools=[])

    async def list_resources(self, params: Any, ctx: Any) -> legacy.ListResourcesResult:
        return legacy.ListResourcesResult(resources=[])

    async def subscribe(self, params: Any, ctx: Any) -> legacy.EmptyResult:
        return legacy.EmptyResult()

    async def unsubscribe(self, params: Any, ctx: Any) -> legacy.EmptyResult:
        return legacy.EmptyResult()


@dataclass
class Worker:
    """A server object, and a client of it that subscribes to changes."""

    server: Any
    received: list[Any]

    def changes(self) -> Counter[str]:
        """Return the changes that its client was notified of, and how often."""
        methods = [(m["method"], m.get("params", {}).get("uri", "")) for m in self.received if "method" in m]
        named = [f"{method.removeprefix('notifications/')} {uri}".strip() for method, uri in methods]
        return Counter(name for name in named if "changed" in name or "updated" in name)


class Workers:
    """Makes workers of one era."""

    def __init__(self, era: str, stack: AsyncExitStack) -> None:
        self._era = era
        self._stack = stack

    async def start(self, fan_out: FanOut, name: str = "library") -> Worker:
        server = Library(fan_out, name) if self._era == "legacy" else modern_server(fan_out, name)
        worker = Worker(server, [])
        here, there = memory_pair()
        connection = await start_server(there, server)
        self._stack.push_async_callback(connection.aclose)
        traced = ClientOptions(trace=lambda way, message: worker.received.append(json.loads(message)))
        client: Any = await (legacy if self._era == "legacy" else modern).Client.open(Peer(here), options=traced)
        self._stack.push_async_callback(client.connection.aclose)
        if self._era == "legacy":
            await client.subscribe(uri=URI)
        else:
            await client.listen(tools=True, resource_list=True, resources=[URI])
        # What it is notified of at the start takes some turns of the event loop, however late this timer is.
        for _ in range(20):
            await asyncio.sleep(0.001)
        worker.received.clear()
        return worker


@asynccontextmanager
async def started(era: str) -> AsyncGenerator[Workers]:
    """Make workers of one era; they end with the context, although their event loop continues."""
    before = asyncio.all_tasks()
    async with AsyncExitStack() as stack:
        yield Workers(era, stack)
    left = {task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


EVERYTHING = Counter({f"resources/updated {URI}": 1, "resources/list_changed": 1, "tools/list_changed": 1})
"""The notifications that a client gets when anything may have changed."""
