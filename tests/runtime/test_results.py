"""Results with a type: constructors fill it in, readers use it, extensions add to it."""

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.connection.results import Interrupted
from mcp_runtime.core.errors import McpError, RemoteProtocolError
from mcp_runtime.core.model import WireModel
from mcp_runtime.core.options import NO_OPTIONS
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from support.roles import TEXT, make_server
from support.talk import LEGACY, bindings
from support.together import together

MODERN = "2026-07-28"
TAG = {"resultType": "complete"}
HINTS = {"ttlMs": 0, "cacheScope": "private"}


class Said(BaseModel):
    """A result that is written exactly as given."""

    model_config = ConfigDict(extra="allow")


class CreateTaskResult(BaseModel):
    """A result type of an extension."""

    task: str


def saying(options: ServerOptions | None = None, **result: Any) -> Any:
    """Return a server that answers with this value as it is."""

    async def answer(self: Any, params: Any, ctx: Any) -> Any:
        return Said.model_validate(result)

    return make_server(MODERN, options, call_tool=answer, list_tools=answer)


class TestConstructors:
    @pytest.mark.parametrize("revision", [LEGACY[-1], MODERN])
    def test_constants_may_be_omitted(self, revision: str) -> None:
        package = bindings(revision)
        tag, hints = ({}, {}) if revision in LEGACY else (TAG, HINTS)
        assert json.loads(package.CallToolResult(content=[]).model_dump_json()) == {**tag, "content": []}
        assert json.loads(package.ListToolsResult(tools=[]).model_dump_json()) == {**tag, **hints, "tools": []}

    def test_required_properties_must_be_on_the_wire(self) -> None:
        for absent in (*TAG, *HINTS):
            whole: dict[str, Any] = {**TAG, **HINTS, "tools": []}
            v.ListToolsResult.model_validate_json(json.dumps(whole))
            del whole[absent]
            with pytest.raises(ValidationError, match=rf"{absent}\s+Field required"):
                v.ListToolsResult.model_validate_json(json.dumps(whole))

    def test_a_field_can_be_passed_under_either_name(self) -> None:
        wire: dict[str, Any] = {"tools": [], "ttlMs": 5}
        assert v.ListToolsResult(tools=[], ttl_ms=5).ttl_ms == v.ListToolsResult(**wire).ttl_ms == 5
        with pytest.raises(ValueError, match="passed under both its names: ttl_ms"):
            v.ListToolsResult(ttl_ms=5, **wire)

    @pytest.mark.requirement("modern.result-type")
    def test_results_name_their_type(self) -> None:
        assert v.InputRequiredResult(request_state="x").result_type == "input_required"
        assert isinstance(v.InputRequiredResult(), v.Result)


class TestReading:
    @pytest.mark.requirement("modern.result-type-absent")
    async def test_defaults_of_absent_properties_are_reported_once(self) -> None:
        errors: list[McpError] = []
        async with together(v.Client, saying(tools=[], ttlMs=-3)) as client:
            client.connection.on_error(errors.append)
            for _ in range(2):
                result = await client.list_tools()
                assert (result.result_type, result.ttl_ms, result.cache_scope) == ("complete", 0, "private")
        assert [str(error) for error in errors] == [
            f"tools/list of 2026-07-28: /{name}: it is absent or below zero, and was taken as {default!r}"
            for name, default in {**TAG, **HINTS}.items()
        ]

    async def test_a_strict_reader_requires_the_result_type(self) -> None:
        async with together(v.Client, saying(content=[]), options=ClientOptions(strict=True)) as client:
            with pytest.raises(RemoteProtocolError, match="/resultType: Field required"):
                await client.call_tool(name="x")

    @pytest.mark.requirement("modern.result-type-unknown")
    @pytest.mark.parametrize("value", ["task", "", 7, {"a": "b"}])
    async def test_an_unknown_result_type_is_an_error(self, value: Any) -> None:
        async with together(v.Client, saying(resultType=value, content=[])) as client:
            with pytest.raises(RemoteProtocolError) as caught:
                await client.call_tool(name="x")
        assert caught.value.pointer == "/resultType"
        assert (
            caught.value.reason
            == f"the result is {value!r}, which is none of those known here: complete, input_required"
        )

    async def test_a_question_in_a_result_that_cannot_ask_is_an_error(self) -> None:
        async with together(v.Client, saying(resultType="input_required", requestState="x")) as client:
            with pytest.raises(
                RemoteProtocolError, match="'input_required', which is none of those known here: complete"
            ):
                await client.list_tools()

    @pytest.mark.parametrize(
        ("asked", "reason"),
        [
            ({}, "the result has neither inputRequests nor requestState"),
            (
                {"inputRequests": {"a": {"method": "roots/list"}}},
                "roots/list is not supported by this client",
            ),
            ({"inputRequests": {"a": {"method": "acme/x"}}}, "'acme/x'"),
        ],
    )
    async def test_a_question_without_a_handler_is_an_error(self, asked: dict[str, Any], reason: str) -> None:
        async with together(v.Client, saying(resultType="input_required", **asked)) as client:
            with pytest.raises(RemoteProtocolError, match=reason):
                await client.call_tool(name="x")

    @pytest.mark.requirement("input.state-echoed")
    async def test_a_state_alone_is_sent_back_at_once(self) -> None:
        async def call_tool(self: Any, params: v.CallToolRequestParams, ctx: v.Context) -> Any:
            if params.request_state is None:
                return v.InputRequiredResult(request_state="a\u00e9\ud7ff/ ")
            return v.CallToolResult(content=[v.TextContent(text=params.request_state)])

        server = make_server(MODERN, ServerOptions(inputs=None), call_tool=call_tool)
        async with together(v.Client, server) as client:
            assert (await client.call_tool(name="x")).content[0].model_dump()["text"] == "a\u00e9\ud7ff/ "


class TestExtensions:
    async def test_an_extension_continues_from_its_own_result(self) -> None:
        seen: list[Any] = []

        async def poll(created: CreateTaskResult, call: Interrupted[Any, v.CallToolResult]) -> v.CallToolResult:
            seen.append((created.task, call.method.name, call.params, call.options))
            return v.CallToolResult(content=[v.TextContent(text="done")])

        async with together(v.Client, saying(resultType="task", task="t-1")) as client:
            client.connection.results.accept(v.methods.TOOLS_CALL, "task", CreateTaskResult, poll)
            result = await client.call_tool(name="x")
            with pytest.raises(RemoteProtocolError, match="'task', which is none of those known here"):
                await client.list_tools()
        assert [block.model_dump(mode="json") for block in result.content] == [TEXT]
        assert [(task, method, params.name, options) for task, method, params, options in seen] == [
            ("t-1", "tools/call", "x", NO_OPTIONS)
        ]

    async def test_a_server_may_send_accepted_results(self) -> None:
        options = ServerOptions(check_sent=True)

        async def resume(created: CreateTaskResult, call: Interrupted[Any, Any]) -> Any:
            raise AssertionError("a server goes on from nothing")

        class Slow(v.Server):
            accepts = False

            async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> Any:
                if params.name == "task":
                    ctx.connection.results.accept(v.methods.TOOLS_CALL, "task", CreateTaskResult, resume)
                return Said.model_validate({"resultType": "task", "task": "t-1"})

        Slow.options = options
        async with together(v.Client, Slow()) as client:
            taken: list[str] = []

            async def note(created: CreateTaskResult, call: Interrupted[Any, v.CallToolResult]) -> v.CallToolResult:
                taken.append(created.task)
                return v.CallToolResult(content=[])

            client.connection.results.accept(v.methods.TOOLS_CALL, "task", CreateTaskResult, note)
            with pytest.raises(McpError, match="internal error"):
                await client.call_tool(name="none")
            await client.call_tool(name="task")
        assert taken == ["t-1"]

    async def test_a_result_type_is_accepted_only_on_its_own_connection(self, caplog: pytest.LogCaptureFixture) -> None:
        class Created(WireModel):
            result_type: str = "task"
            task: str

        async def resume(created: Created, call: Interrupted[Any, Any]) -> v.CallToolResult:
            return v.CallToolResult(content=[v.TextContent(text=created.task)])

        class Slow(v.Server):
            def __init__(self, *, accepts: bool) -> None:
                self.accepts = accepts

            async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> Any:
                if self.accepts:
                    ctx.connection.results.accept(v.methods.TOOLS_CALL, "task", Created, resume)
                return Created(task="t-1")

        for accepts in (True, False):
            async with together(v.Client, Slow(accepts=accepts)) as client:
                client.connection.results.accept(v.methods.TOOLS_CALL, "task", Created, resume)
                if accepts:
                    assert (await client.call_tool(name="x")).content == [v.TextContent(text="t-1")]
                else:
                    with pytest.raises(McpError, match="internal error"):
                        await client.call_tool(name="x")
        assert "(Created), not CallToolResult" in caplog.records[-1].getMessage()

    def test_legacy_results_have_no_type(self) -> None:
        package = bindings(LEGACY[-1])
        assert package.METHODS["tools/call"].results == {} and package.BINDING.result_tag == ""

    async def test_the_usual_result_cannot_be_replaced(self) -> None:
        async def resume(created: CreateTaskResult, call: Interrupted[Any, Any]) -> Any: ...

        async with together(v.Client, saying()) as client:
            with pytest.raises(ValueError, match="'complete' is the usual result of tools/call"):
                client.connection.results.accept(v.methods.TOOLS_CALL, "complete", CreateTaskResult, resume)
            with pytest.raises(ValueError, match="the results of roots/list have no result type"):
                client.connection.results.accept(v.methods.ROOTS_LIST, "task", CreateTaskResult, resume)
