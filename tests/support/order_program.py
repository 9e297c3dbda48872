"""A server of 2026-07-28 that asks three times and pays in between, for `tests/runtime/test_sealed_processes.py`.

Its arguments are a file, to which it adds a line for each payment, and the keys in hexadecimal digits if states are
sealed.
"""

import sys
from pathlib import Path

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.settings import ServerOptions, Suspended
from mcp_runtime.core.transports.stdio import serve_stdio
from mcp_runtime.sealed import InputState

FORM = v.ElicitRequestFormParamsRequestedSchema(properties={"said": v.StringSchema()})


class Order(v.Server):
    def __init__(self, payments: Path, keys: list[bytes]) -> None:
        self.options = ServerOptions(name="order", inputs=InputState(keys=keys) if keys else Suspended())
        self._payments = payments

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[v.Tool(name="order", input_schema=v.ToolInputSchema())])

    async def ask(self, ctx: v.Context, message: str) -> str:
        answer = await ctx.client.elicit(message=message, requested_schema=FORM)
        return str((answer.content or {})["said"])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        what = await self.ask(ctx, "What?")
        many = await self.ask(ctx, f"How many {what}?")

        async def pay(key: str) -> dict[str, str]:
            with self._payments.open("a") as file:
                file.write(f"{many} {what} {key}\n")
            return {"paid": f"{many} {what}"}

        receipt = await ctx.recorded("pay", pay)
        where = await self.ask(ctx, "Where to?")
        text = f"{receipt['paid']} to {where}"
        return v.CallToolResult(content=[v.TextContent(text=text)])


if __name__ == "__main__":
    serve_stdio(Order(Path(sys.argv[1]), [bytes.fromhex(key) for key in sys.argv[2:]]))
