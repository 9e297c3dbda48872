"""What our client observes at the server of `peers/sdk_modern_server.py`, and at our own with the same tools."""

# pyright: reportDeprecated=false

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.options import CallOptions

WORDS = {"word 0": "one", "word 1": "two", "word 2": "three"}
SEEN: dict[str, Any] = {
    "revision": "2026-07-28",
    "server": "modern",
    "instructions": "Ask.",
    "tools": ["three", "both", "count", "say", "slow", "cancelled_calls", "change", "fail"],
    "three": "one two three",
    "both": "file:///home HELLO",
    "say": "hello",
    "logged": [["warning", {"said": "hello"}]],
    "steps": [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]],
    "fail": [-7, "no luck", {"why": "luck"}],
    "cancelled": "1",
}


class Host(v.ClientHandlers):
    """Answers the requests of a server, and keeps its log messages."""

    def __init__(self) -> None:
        self.logged: list[Any] = []

    async def elicit(self, params: v.ElicitRequestParams, ctx: v.ClientContext) -> v.ElicitResult:
        return v.ElicitResult(action="accept", content={"word": WORDS[params.message]})

    async def list_roots(self, params: v.ListRootsRequestParams | None, ctx: v.ClientContext) -> v.ListRootsResult:
        return v.ListRootsResult(roots=[v.Root(uri="file:///home")])

    async def create_message(self, params: v.CreateMessageRequestParams, ctx: v.ClientContext) -> v.CreateMessageResult:
        content = params.messages[0].content
        assert isinstance(content, v.TextContent)
        return v.CreateMessageResult(role="assistant", model="m", content=v.TextContent(text=content.text.upper()))

    async def on_logging_message(self, params: v.LoggingMessageNotificationParams, ctx: v.ClientContext) -> None:
        self.logged.append([params.level, params.data])


async def seen_by(client: v.Client, host: Host) -> dict[str, Any]:
    """Use everything that the server offers; returns the results."""
    found = dict[str, Any]()

    async def call(name: str, **arguments: Any) -> str:
        meta = {"io.modelcontextprotocol/logLevel": "info"}
        [block] = (await client.call_tool(name=name, arguments=arguments, meta=meta)).content
        assert isinstance(block, v.TextContent)
        return block.text

    found["revision"] = client.connection.revision
    found["server"] = client.connection.peer_info["name"]
    found["instructions"] = client.connection.instructions
    found["tools"] = [tool.name async for tool in client.iter_tools()]
    found["three"] = await call("three")
    found["both"] = await call("both")
    found["say"] = await call("say", text="hello")
    async with asyncio.timeout(40):
        while not host.logged:
            await asyncio.sleep(0.01)
    found["logged"] = host.logged
    steps: list[Any] = []

    def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append([progress, total, message])

    await client.call_tool(name="count", arguments={"steps": 3}, options=CallOptions(progress=note))
    found["steps"] = steps
    with pytest.raises(PeerError) as error:
        await client.call_tool(name="fail", arguments={})
    found["fail"] = [error.value.code, error.value.message, error.value.data]
    begun = asyncio.Event()
    options = CallOptions(progress=lambda progress, total, message: begun.set())
    slow = asyncio.ensure_future(client.call_tool(name="slow", arguments={}, options=options))
    async with asyncio.timeout(40):
        await begun.wait()
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        while (cancelled := await call("cancelled_calls")) == "0":
            await asyncio.sleep(0.02)
    found["cancelled"] = cancelled
    async with await client.listen(tools=True, resources=["memo://x"]) as changes:
        await call("change", uri="memo://x")
        first, second = await anext(changes), await anext(changes)
        assert (first.what, second.what, second.uri) == ("tools", "resource", "memo://x")
    return found
