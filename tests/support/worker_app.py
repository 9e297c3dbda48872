"""One of several workers behind one address, for `tests/interop/test_processes.py`: uvicorn support.worker_app:app.

The environment names the port of Redis (MCP_TEST_REDIS), the key of sealed states in hexadecimal digits (MCP_TEST_KEY),
and a file that gets a line for each payment (MCP_TEST_PAYMENTS).
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.cluster.redis import RedisEventStore, RedisFanOut, RedisSpentStates
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.sealed import InputState

REDIS = Redis(port=int(os.environ["MCP_TEST_REDIS"]))
FORM = modern.ElicitRequestFormParamsRequestedSchema(properties={"said": modern.StringSchema()})


class Shop(modern.Server):
    options = ServerOptions(
        name="shop",
        list_changed=True,
        resource_updates=True,
        inputs=InputState(keys=[bytes.fromhex(os.environ["MCP_TEST_KEY"])], spent=RedisSpentStates(REDIS)),
        fan_out=RedisFanOut(REDIS),
    )

    async def list_tools(self, params: modern.PaginatedRequestParams, ctx: modern.Context) -> modern.ListToolsResult:
        return modern.ListToolsResult(tools=[])

    async def list_resources(
        self, params: modern.PaginatedRequestParams, ctx: modern.Context
    ) -> modern.ListResourcesResult:
        return modern.ListResourcesResult(resources=[])

    async def call_tool(self, params: modern.CallToolRequestParams, ctx: modern.Context) -> modern.CallToolResult:
        text = await getattr(self, params.name)(ctx, **(params.arguments or {}))
        return modern.CallToolResult(content=[modern.TextContent(text=text)])

    async def who(self, ctx: modern.Context, seconds: float = 0) -> str:
        """Report progress, to say that it began; return the id of this process, after a while."""
        await ctx.report_progress(1)
        await asyncio.sleep(seconds)
        return str(os.getpid())

    async def touch(self, ctx: modern.Context, uri: str) -> str:
        """Change a resource and the list of tools; returns how many listeners of this process were notified."""
        return str(await resource_updated(self, uri) + await list_changed(self, "tools"))

    async def order(self, ctx: modern.Context) -> str:
        """Ask three times, and pay in between."""
        what = await self._ask(ctx, "What?")
        many = await self._ask(ctx, f"How many {what}?")

        async def pay(key: str) -> str:
            with Path(os.environ["MCP_TEST_PAYMENTS"]).open("a") as file:
                file.write(f"{many} {what} {key}\n")
            return f"{many} {what}"

        paid = await ctx.recorded("pay", pay)
        return f"{paid} to {await self._ask(ctx, 'Where to?')}"

    async def _ask(self, ctx: modern.Context, message: str) -> str:
        answer = await ctx.client.elicit(message=message, requested_schema=FORM)
        return str((answer.content or {})["said"])


class OldShop(legacy.Server):
    """Serves clients that have sessions; it is notified of changes in its own era only."""

    options = ServerOptions(name="shop", list_changed=True, fan_out=RedisFanOut(REDIS))

    async def list_tools(self, params: Any, ctx: legacy.Context) -> legacy.ListToolsResult:
        return legacy.ListToolsResult(tools=[])

    async def call_tool(self, params: legacy.CallToolRequestParams, ctx: legacy.Context) -> legacy.CallToolResult:
        if params.name == "touch":
            await list_changed(self, "tools")
        return legacy.CallToolResult(content=[legacy.TextContent(text=str(os.getpid()))])


app = asgi_app(Shop(), OldShop(), events=RedisEventStore(REDIS))
