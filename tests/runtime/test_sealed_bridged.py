"""Servers that are written for the legacy era and replayed for clients of the modern one."""

from typing import Any

from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.sealed import InputState
from support.asking import Line, asked, text
from support.channels import Stream, Streams
from support.roles import build, make_server


def shop(revision: str, done: list[str]) -> Any:
    """Return a server that asks twice and works in between."""

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        form: Any = {"type": "object", "properties": {"said": {"type": "string"}}}
        first = await ctx.client.elicit(message="first", requested_schema=form)

        async def work(key: str) -> str:
            done.append(key)
            return f"{params.arguments['n']} done"

        worked = await ctx.recorded("work", work)
        second = await ctx.client.elicit(message="second", requested_schema=form)
        said = f"{first.content['said']} {worked} {second.action}"
        return build(revision, "CallToolResult", content=[{"type": "text", "text": said}])

    async def list_tools(self: Any, params: Any, ctx: Any) -> Any:
        return build(revision, "ListToolsResult", tools=[])

    options = ServerOptions(name="shop", inputs=InputState(keys=[bytes(32)]))
    return make_server(revision, options, call_tool=call_tool, list_tools=list_tools)


async def test_each_round_at_another_server() -> None:
    revision = "2025-06-18"
    done: list[str] = []
    more: dict[str, Any] = {}
    for message in ("first", "second", ""):
        streams = Streams()
        connection = await start_server(streams, shop(revision, done))
        answer = (await Line(streams, connection).over(Stream(), "buy", args={"n": 1.5}, **more))[-1]
        if message:
            questions, state = asked(answer)
            assert list(questions) == [message]
            yes = {"action": "accept", "content": {"said": f"to {message}"}}
            more = {"requestState": state, "inputResponses": {questions[message]: yes, "unknown": 7}}
            other = Line(streams, connection)
            other.next_id = 5
            assert (await other.call("buy", args={"n": 2}, **more))["error"]["code"] == -32602
        else:
            assert text(answer) == "to first 1.5 done accept"
        await connection.aclose()
    assert len(done) == 1
