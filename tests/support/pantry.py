"""The scenario of the pantry: what a client sees of it, before and after it was ported."""

from typing import Any

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime import PeerError
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.transports.stdio import connect_stdio

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {}),
    ("search", {"text": "mil", "limit": 1}),
    ("search", {"limit": 0}),
    ("add", {"item": {"name": "eggs", "amount": 6, "place": "fridge"}}),
    ("use", {"name": "eggs", "amount": 2}),
    ("use", {"name": "eggs", "amount": 9}),
    ("use", {"name": "jam"}),
    ("throw_away", {"name": "milk"}),
    ("throw_away", {"name": "milk"}),
    ("throw_away", {"name": "flour"}),
    ("suggest", {}),
    ("count", {}),
    ("photo", {}),
)
ANSWERS = (
    mcp.ElicitResult(action="accept", content={"reason": "sour", "sure": True}),
    mcp.ElicitResult(action="decline"),
)


class User(mcp.ClientHandlers):
    """Answers questions, and notes what is logged."""

    def __init__(self) -> None:
        self.answers = iter(ANSWERS)
        self.logged: list[Any] = []

    async def elicit(self, params: mcp.ElicitRequestParams, ctx: Any) -> mcp.ElicitResult:
        return next(self.answers)

    async def create_message(self, params: mcp.CreateMessageRequestParams, ctx: Any) -> mcp.CreateMessageResult:
        return mcp.CreateMessageResult(role="assistant", model="m", content=mcp.TextContent(text="Pancakes."))

    async def on_logging_message(self, params: mcp.LoggingMessageNotificationParams, ctx: Any) -> None:
        self.logged.append((params.level, params.data))


async def seen(*command: str) -> dict[str, Any]:
    """Start a pantry, use all of it, and return the results that do not depend on the wording of a framework."""
    user, progress, results = User(), list[Any](), list[Any]()
    async with connect_stdio(*command) as peer:
        client = await mcp.Client.open(peer, handlers=user)

        def report(*values: Any) -> None:
            progress.append(values)

        options = CallOptions(progress=report)
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments, options=options)
            structured = result.structured_content
            # FastMCP sends a list as a block for each item, and words errors in its own way.
            is_own = result.is_error or (structured and isinstance(structured.get("result"), list))
            content = [] if is_own else [_read(block) for block in result.content]
            results.append((name, bool(result.is_error), content, structured))
        listed = [(tool.name, tool.description) async for tool in client.iter_tools()]
        read = [(await client.read_resource(uri)).contents[0] for uri in ("pantry://places", "pantry://places/fridge")]
        messages = (await client.get_prompt("plan", {"days": "2"})).messages
        try:
            missing = bool(await client.read_resource("pantry://cellar"))
        except PeerError:
            missing = False
    return {
        "calls": results,
        "tools": listed,
        "resources": [(each.uri, each.mime_type, _read(each)) for each in read],
        "messages": [(message.role, _read(message.content)) for message in messages],
        "progress": progress,
        "logged": user.logged,
        "missing": missing,
    }


def _read(block: Any) -> Any:
    """Return the text without its layout, or the bytes."""
    return "".join(block.text.split()) if hasattr(block, "text") else block.bytes
