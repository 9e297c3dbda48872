"""Tools (server/tools)."""

import asyncio
from typing import Any

import pytest

from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit
from mcp_runtime.middleware.validate import Validate
from support.roles import SUM, TEXT, Hold, answering, make_server, returns
from support.talk import plain, raw, talk

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
TOTAL = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
DONE = returns("CallToolResult", content=[TEXT])


def listing(*tools: dict[str, Any]) -> Any:
    return returns("ListToolsResult", tools=[{"inputSchema": {"type": "object"}, **tool} for tool in tools])


@requirement("tools.declared")
async def test_servers_with_tools_declare_them(revision: str) -> None:
    async with raw(make_server(revision, list_tools=listing())) as line:
        assert (await line.shake_hands(revision))["capabilities"]["tools"] == {}
    async with raw(make_server(revision)) as line:
        assert "tools" not in (await line.shake_hands(revision))["capabilities"]


@requirement("tools.list-changed")
async def test_clients_are_notified_of_a_changed_list_if_declared(revision: str) -> None:
    server = make_server(revision, ServerOptions(list_changed=True), list_tools=listing())
    async with raw(server) as line:
        assert (await line.shake_hands(revision))["capabilities"]["tools"] == {"listChanged": True}
        assert await list_changed(server, "tools") == 1
        assert line.got[-1] == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


@requirement("tools.input-schema")
@pytest.mark.parametrize("schema", [None, True, {}, {"type": "string"}])
async def test_a_tool_schema_must_be_an_object(revision: str, schema: Any) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        listed = asyncio.create_task(server.client.list_tools())
        asked = await server.asked("tools/list")
        server.tell(id=asked["id"], result={"tools": [{"name": "t", "inputSchema": schema}]})
        assert [item.pointer for item in (await listed).unusable] == ["/tools/0"]


@requirement("tools.output-conforms")
@pytest.mark.parametrize("structured", [None, {}, {"total": "x"}])
async def test_a_result_that_violates_its_output_schema_is_not_sent(revision: str, structured: Any) -> None:
    more = {} if structured is None else {"structuredContent": structured}
    server = make_server(
        revision,
        ServerOptions(middleware=(Validate(),)),
        list_tools=listing({"name": "sum", "outputSchema": TOTAL}, {"name": "other"}),
        call_tool=returns("CallToolResult", content=[TEXT], **more),
    )
    async with raw(server) as line:
        await line.shake_hands(revision)
        assert (await line.ask("tools/call", {"name": "sum"}, id_=1))["error"]["code"] == -32603
        assert (await line.ask("tools/call", {"name": "other"}, id_=2))["result"]["content"] == [TEXT]


@requirement("tools.output-conforms")
@pytest.mark.parametrize("more", [{"structuredContent": {"total": 1.5}}, {"isError": True}])
async def test_valid_results_and_errors_are_sent(revision: str, more: dict[str, Any]) -> None:
    server = make_server(
        revision,
        ServerOptions(middleware=(Validate(),)),
        list_tools=listing({"name": "sum", "outputSchema": TOTAL}),
        call_tool=returns("CallToolResult", content=[TEXT], **more),
    )
    async with raw(server) as line:
        await line.shake_hands(revision)
        assert plain((await line.ask("tools/call", {"name": "sum"}))["result"]) == {"content": [TEXT], **more}


@requirement("tools.output-validated")
async def test_a_client_refuses_a_result_that_breaks_its_output_schema(revision: str) -> None:
    async with answering(revision, capabilities={"tools": {}}, middleware=(Validate(),)) as server:
        listed = asyncio.create_task(server.client.list_tools())
        tool = {"name": "sum", "inputSchema": SUM, "outputSchema": TOTAL}
        server.tell(id=(await server.asked("tools/list"))["id"], result={"tools": [tool]})
        await listed
        for total, valid in ((1.5, True), ("x", False)):
            call = asyncio.create_task(server.client.call_tool(name="sum"))
            asked = await server.asked("tools/call")
            server.got.remove(asked)
            server.tell(id=asked["id"], result={"content": [], "structuredContent": {"total": total}})
            if valid:
                assert (await call).structured_content == {"total": total}
            else:
                with pytest.raises(RemoteProtocolError, match="/structuredContent/total"):
                    await call


@requirement("tools.errors-in-results")
async def test_tool_failures_are_returned_as_results(revision: str) -> None:
    server = make_server(revision, call_tool=returns("CallToolResult", content=[TEXT], isError=True))
    async with talk(server) as both:
        result = await both.client.call_tool(name="x")
        assert result.is_error is True and result.content[0].text == "done"


@requirement("tools.name-case")
async def test_names_that_differ_in_case_are_different(revision: str) -> None:
    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        if params.name != "Echo":
            raise PeerError(-32602, f"unknown tool {params.name}")
        return await DONE(self, params, ctx)

    async with talk(make_server(revision, call_tool=call_tool)) as both:
        assert (await both.client.call_tool(name="Echo")).content
        with pytest.raises(PeerError, match="unknown tool echo"):
            await both.client.call_tool(name="echo")


@requirement("tools.inputs-validated")
async def test_invalid_arguments_reach_no_handler(revision: str) -> None:
    called: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        called.append(params.arguments)
        return await DONE(self, params, ctx)

    options = ServerOptions(middleware=(Validate(),))
    server = make_server(
        revision, options, list_tools=listing({"name": "sum", "inputSchema": SUM}), call_tool=call_tool
    )
    async with raw(server) as line:
        await line.shake_hands(revision)
        for id_, arguments in enumerate(({"a": 1}, {"a": "x"}, {}, None)):
            given = {} if arguments is None else {"arguments": arguments}
            answer = await line.ask("tools/call", {"name": "sum", **given}, id_=id_)
            refused = "error" in answer or answer["result"].get("isError", False)
            assert refused is (id_ > 0)
        assert (await line.ask("tools/call", {"name": "sum", "arguments": [1]}, id_=9))["error"]["code"] == -32602
        assert called == [{"a": 1}]


@requirement("tools.rate-limited")
async def test_calls_that_come_too_fast_are_refused(revision: str) -> None:
    limit = RateLimit(rate=0.001, burst=2, methods=["tools/call"])
    async with raw(make_server(revision, ServerOptions(middleware=(limit,)), call_tool=DONE)) as line:
        await line.shake_hands(revision)
        answers = [await line.ask("tools/call", {"name": "x"}, id_=id_) for id_ in range(3)]
        assert ["result" in answer for answer in answers] == [True, True, False]
        assert answers[2]["error"]["code"] == RATE_LIMITED and answers[2]["error"]["data"]["retryAfter"] > 0


@requirement("tools.results-checked")
async def test_an_invalid_result_reaches_no_caller(revision: str) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        call = asyncio.create_task(server.client.call_tool(name="x"))
        asked = await server.asked("tools/call")
        server.tell(id=asked["id"], result={"content": [{"type": "text", "text": 7}]})
        with pytest.raises(RemoteProtocolError, match="/content/0"):
            await call


@requirement("tools.timeouts")
async def test_a_tool_that_hangs_does_not_hold_its_caller(revision: str) -> None:
    assert ClientOptions().timeout is not None and ClientOptions().max_time is not None
    hold = Hold()
    async with talk(make_server(revision, call_tool=hold.handler), timeout=0.02) as both:
        with pytest.raises(RequestTimeout, match="tools/call"):
            await both.client.call_tool(name="x")
        await both.client.ping()
        assert hold.ended
