"""The side that clients see: a server that passes on what it is asked."""

from . import protocol as p
from .protocol import METHODS, CallToolRequest, CallToolRequestParams, CallToolResult, Context, Server


class Front(Server):
    def __init__(self, behind: Server, upstream: p.Client) -> None:
        self.behind = behind
        self.upstream = upstream
        self.cancelled: list[p.CancelledNotificationParams] = []

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        if params.name.startswith("local/"):
            return await self.behind.call_tool(params, ctx)  # impact: result-alternative-added
        if params.name == "unknown":
            return await super().call_tool(params, ctx)  # impact: result-alternative-added
        return await self.upstream.call_tool(name=params.name, arguments=params.arguments)

    async def on_cancelled(self, params: p.CancelledNotificationParams, ctx: Context) -> None:
        self.cancelled.append(params)
        await self.upstream.notify_cancelled(request_id=params.request_id)  # impact: property-now-optional

    def ids(self) -> list[int | str]:
        return [one.request_id for one in self.cancelled]  # impact: property-now-optional

    def last(self) -> int | str | None:
        *_, last = self.cancelled
        return last.request_id  # impact: property-now-optional


def frame(params: CallToolRequestParams) -> CallToolRequest:
    return CallToolRequest(params=params)  # impact: envelope-member-declared


def is_request(name: str) -> bool:
    return name in METHODS and METHODS["tools/call"].name != name
