"""Validation: wrong arguments, wrong results and missing arguments of prompts."""

import asyncio
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest

from mcp_bindings import v2025_06_18, v2026_07_28
from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.errors import PeerError, RemoteProtocolError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.json_schema.check import Check
from mcp_runtime.memory import connect_memory
from mcp_runtime.middleware.validate import Validate
from support.calculator import SUM, TOTAL, Calculator, Unchecked, text_of, tool
from support.talk import MODERN, of_sender, raw
from support.together import together


class TestArguments:
    async def test_valid_arguments_reach_the_handler(self) -> None:
        server = Calculator(tool("other"), tool("sum", SUM))
        async with together(v.Client, server) as client:
            result = await client.call_tool(name="sum", arguments={"a": 1, "b": 2.5})
        assert not result.is_error
        assert server.called == [{"a": 1, "b": 2.5}]

    async def test_invalid_arguments_are_answered_so_that_a_model_can_correct_itself(self) -> None:
        server = Calculator(tool("other"), tool("sum", SUM))
        async with together(v.Client, server) as client:
            wrong = await client.call_tool(name="sum", arguments={"a": 1, "b": "two"})
            missing = await client.call_tool(name="sum")
        assert wrong.is_error
        assert text_of(wrong) == "Invalid arguments for tool sum: /b: 'two' is not of type 'number'"
        assert missing.is_error
        assert "'a' is a required property" in text_of(missing)
        assert server.called == []

    async def test_before_2025_11_25_invalid_arguments_are_an_error_of_the_protocol(self) -> None:
        class Old(v2025_06_18.Server):
            options = ServerOptions(middleware=(Validate(),))

            async def list_tools(self, params: Any, ctx: v2025_06_18.Context) -> v2025_06_18.ListToolsResult:
                schema = v2025_06_18.ToolInputSchema.model_validate(SUM)
                return v2025_06_18.ListToolsResult(tools=[v2025_06_18.Tool(name="sum", input_schema=schema)])

            async def call_tool(self, params: Any, ctx: v2025_06_18.Context) -> v2025_06_18.CallToolResult:
                raise AssertionError("called")

        async with together(v2025_06_18.Client, Old()) as client:
            with pytest.raises(PeerError, match="invalid arguments for tool sum: /b: 'two'") as caught:
                await client.call_tool(name="sum", arguments={"a": 1, "b": "two"})
        assert caught.value.code == -32602
        assert caught.value.data == {"pointer": "/arguments/b"}

    async def test_the_kind_of_error_can_be_chosen(self) -> None:
        class Chosen(Calculator):
            options = ServerOptions(middleware=(Validate(invalid_input="error"),))

        async with together(v.Client, Chosen(tool("sum", SUM))) as client:
            with pytest.raises(PeerError, match="invalid arguments"):
                await client.call_tool(name="sum")
        with pytest.raises(ValueError, match="'result' or 'error'"):
            Validate(invalid_input="both")

    async def test_a_call_that_becomes_a_task_is_refused_by_an_error(self) -> None:
        class Tasked(Calculator):
            options = ServerOptions(
                middleware=(Validate(),), capabilities={"tasks": {"requests": {"tools": {"call": {}}}}}
            )

        async with together(v.Client, Tasked(tool("sum", SUM))) as client:
            with pytest.raises(PeerError, match="invalid arguments"):
                await client.call_tool(name="sum", task=v.TaskMetadata())

    async def test_an_unlisted_tool_is_left_to_the_handler(self) -> None:
        async with together(v.Client, Calculator(tool("sum", SUM))) as client:
            with pytest.raises(PeerError, match="unknown tool nothing"):
                await client.call_tool(name="nothing")

    async def test_the_list_is_requested_once(self) -> None:
        server = Calculator(tool("other"), tool("sum", SUM))
        async with together(v.Client, server) as client:
            for _ in range(5):
                await client.call_tool(name="sum", arguments={"a": 1, "b": 2})
        assert server.listed == 2  # its two pages

    async def test_a_list_requested_by_the_client_is_remembered(self) -> None:
        server = Calculator(tool("other"), tool("sum", SUM))
        async with together(v.Client, server) as client:
            assert [found.name async for found in client.iter_tools()] == ["other", "sum"]
            await client.call_tool(name="sum", arguments={"a": 1, "b": 2})
        assert server.listed == 2

    async def test_a_tool_that_changes_is_checked_by_its_new_schema(self) -> None:
        server = Calculator(tool("sum", SUM))
        async with together(v.Client, server) as client:
            await client.call_tool(name="sum", arguments={"a": 1, "b": 2})
            server.tools = [tool("sum", {"type": "object", "required": ["c"]})]
            await list_changed(server, "tools")
            result = await client.call_tool(name="sum", arguments={"a": 1, "b": 2})
        assert "'c' is a required property" in text_of(result)

    async def test_a_tool_added_without_notification_is_checked_too(self) -> None:
        server = Calculator(tool("other"))
        async with together(v.Client, server) as client:
            await client.call_tool(name="other")
            server.tools.append(tool("sum", SUM))
            result = await client.call_tool(name="sum", arguments={})
        assert result.is_error

    async def test_nothing_is_called_unchecked_when_the_list_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        class Broken(Calculator):
            async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
                raise OSError("the disk is gone")

        server = Broken(tool("sum", SUM))
        async with together(v.Client, server) as client:
            with pytest.raises(PeerError, match="internal error"):
                await client.call_tool(name="sum")
        assert server.called == []

    async def test_tools_can_be_skipped(self) -> None:
        class Chosen(Calculator):
            options = ServerOptions(middleware=(Validate(skip=["sum"]),))

        server = Chosen(tool("sum", SUM))
        async with together(v.Client, server) as client:
            await client.call_tool(name="sum")
        assert server.called == [None]

    async def test_an_unknown_dialect_is_named(self) -> None:
        server = Calculator(tool("odd", {"type": "object", "$schema": "https://example.org/my-dialect"}))
        async with together(v.Client, server) as client:
            with pytest.raises(PeerError, match=r"dialect https://example.org/my-dialect is not supported"):
                await client.call_tool(name="odd")


class TestResults:
    async def test_a_server_does_not_send_what_its_output_schema_forbids(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        for structured in ({"total": "three"}, None):
            server = Calculator(tool("sum", SUM, TOTAL), structured=structured)
            async with together(v.Client, server) as client:
                with pytest.raises(PeerError, match="its result is not valid") as caught:
                    await client.call_tool(name="sum", arguments={"a": 1, "b": 2})
            assert caught.value.code == -32603
        assert "/total: 'three' is not of type 'number'" in caplog.text
        assert "structuredContent is missing" in caplog.text

    async def test_a_valid_result_arrives(self) -> None:
        server = Calculator(tool("sum", SUM, TOTAL), structured={"total": 3})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            result = await client.call_tool(name="sum", arguments={"a": 1, "b": 2})
        assert result.structured_content == {"total": 3}

    async def test_a_client_refuses_what_the_output_schema_forbids(self) -> None:
        server = Unchecked(tool("sum", SUM, TOTAL), structured={"total": "three"})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            with pytest.raises(RemoteProtocolError, match="outputSchema of tool sum") as caught:
                await client.call_tool(name="sum")
            assert caught.value.pointer == "/structuredContent/total"
            server.structured = None
            with pytest.raises(RemoteProtocolError, match="structuredContent is missing"):
                await client.call_tool(name="sum")
        assert server.listed == 1

    async def test_the_list_is_requested_once_for_an_unlisted_tool(self) -> None:
        class Hidden(Unchecked):
            async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
                return v.CallToolResult(content=[])

        server = Hidden(tool("other"))
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            for _ in range(3):
                await client.call_tool(name="hidden")
        assert server.listed == 1

    async def test_a_client_uses_the_new_schema_after_a_change(self) -> None:
        server = Unchecked(tool("sum"), structured={"total": "three"})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            await client.call_tool(name="sum")
            server.tools = [tool("sum", SUM, TOTAL)]
            await list_changed(server, "tools")
            await asyncio.sleep(0)
            with pytest.raises(RemoteProtocolError, match="outputSchema"):
                await client.call_tool(name="sum")

    async def test_a_client_can_skip_the_request_for_the_list(self) -> None:
        server = Unchecked(tool("sum", SUM, TOTAL), structured={"total": "three"})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(ask=False),))) as client:
            await client.call_tool(name="sum")
            assert server.listed == 0
            await client.list_tools()
            with pytest.raises(RemoteProtocolError):
                await client.call_tool(name="sum")

    async def test_an_unusable_schema_is_reported_and_the_result_passes(self) -> None:
        output: dict[str, Any] = {**TOTAL, "patternProperties": {"^(a+)+$": {}}}
        server = Unchecked(tool("sum", SUM, output), structured={"total": "three"})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            reported: list[str] = []
            client.connection.on_error(lambda error: reported.append(str(error)))
            result = await client.call_tool(name="sum")
        assert result.structured_content == {"total": "three"}
        assert "patternProperties is not supported" in reported[0]

    async def test_a_schema_that_takes_long_is_checked_in_a_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        threads: list[threading.Thread] = []
        find = Check.find

        def watched(check: Check, value: Any, seconds: float = 1.0) -> Any:
            threads.append(threading.current_thread())
            return find(check, value, seconds)

        monkeypatch.setattr(Check, "find", watched)
        output = {**TOTAL, "properties": {"total": {"type": "number"}, "rows": {"items": {"type": "integer"}}}}
        server = Unchecked(tool("sum", SUM, output), structured={"total": 3})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            for rows in ([1], [1], [*range(20_000), "one"]):
                server.structured = {"total": 3, "rows": rows}
                with nullcontext() if len(rows) == 1 else pytest.raises(RemoteProtocolError, match="is not of type"):
                    await client.call_tool(name="sum")
        own = threading.current_thread()
        assert [each is own for each in threads] == [False, True, True, False], "compiled, short, too long, again"

    @pytest.mark.slow
    async def test_a_schema_that_cannot_be_compiled_is_tried_once(self) -> None:
        output = {**TOTAL, "properties": {f"p{number}": {"type": "string"} for number in range(30_000)}}
        server = Unchecked(tool("sum", SUM, output), structured={"total": 3})
        async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
            before = time.process_time()
            await client.call_tool(name="sum")
            first = time.process_time() - before
            for _ in range(5):
                await client.call_tool(name="sum")
            assert time.process_time() - before < 3 * first

    async def test_the_result_of_a_task_is_checked_too(self, caplog: pytest.LogCaptureFixture) -> None:
        class Tasked(Calculator):
            options = ServerOptions(extensions=[Tasks(MemoryTaskStore())], middleware=(Validate(),))

        class Careless(Calculator):
            options = ServerOptions(extensions=[Tasks(MemoryTaskStore())])

        for server_type, expected in ((Tasked, PeerError), (Careless, RemoteProtocolError)):
            listed = tool("sum", SUM, TOTAL)
            listed.execution = v.ToolExecution(task_support="optional")
            server = server_type(listed, structured={"total": "three"})
            async with together(v.Client, server, options=ClientOptions(middleware=(Validate(),))) as client:
                created = await client.call_tool(name="sum", arguments={"a": 1, "b": 2}, task=v.TaskMetadata())
                with pytest.raises(expected, match=r"not valid|outputSchema"):
                    await client.get_task_payload(task_id=created.task.task_id, result_type=v.CallToolResult)

    async def test_an_error_has_no_structure_to_check(self) -> None:
        class Failing(Calculator):
            async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
                return v.CallToolResult(content=[], is_error=True)

        async with together(v.Client, Failing(tool("sum", SUM, TOTAL))) as client:
            assert (await client.call_tool(name="sum", arguments={"a": 1, "b": 2})).is_error


class TestPrompts:
    async def test_a_required_argument_that_is_missing_is_named(self) -> None:
        async with together(v.Client, Calculator()) as client:
            await client.get_prompt(name="explain", arguments={"code": "x = 1"})
            await client.get_prompt(name="hello")
            with pytest.raises(PeerError, match="prompt explain needs the argument code") as caught:
                await client.get_prompt(name="explain", arguments={"style": "short"})
        assert (caught.value.code, caught.value.data) == (-32602, {"missing": ["code"]})


class Paged(v2026_07_28.Server):
    """Lists its tool on the second page, with a different schema than the legacy server beside it."""

    options = ServerOptions(middleware=(Validate(),))

    async def list_tools(
        self, params: v2026_07_28.PaginatedRequestParams, ctx: v2026_07_28.Context
    ) -> v2026_07_28.ListToolsResult:
        if params.cursor is None:
            return v2026_07_28.ListToolsResult(tools=[], next_cursor="more")
        schema = v2026_07_28.ToolInputSchema.model_validate({"type": "object", "required": ["c"]})
        return v2026_07_28.ListToolsResult(tools=[v2026_07_28.Tool(name="sum", input_schema=schema)])

    async def call_tool(
        self, params: v2026_07_28.CallToolRequestParams, ctx: v2026_07_28.Context
    ) -> v2026_07_28.CallToolResult:
        return v2026_07_28.CallToolResult(content=[])


class TestTheModernEra:
    async def test_each_era_on_a_stream_has_schemas_of_its_own(self) -> None:
        async with raw(Calculator(tool("sum", SUM)), Paged()) as line:
            await line.shake_hands("2025-11-25")
            one, other = {"a": 1, "b": 2}, {"c": 1}
            cases = ((False, one, None), (True, one, True), (True, other, None), (False, other, True))
            for id_, (is_modern, arguments, wrong) in enumerate(cases):
                line.meta = of_sender(MODERN, {}) if is_modern else {}
                answer = await line.ask("tools/call", {"name": "sum", "arguments": arguments}, id_=id_)
                assert answer["result"].get("isError") == wrong

    async def test_a_modern_client_requests_all_pages(self) -> None:
        asked: list[str] = []

        async def note(exchange: Exchange, proceed: Proceed) -> Any:
            asked.append(exchange.method.name)
            return await proceed()

        options = ClientOptions(middleware=(note, Validate()))
        async with connect_memory(Paged()) as peer:
            client = await v2026_07_28.Client.open(peer, options=options)
            assert not (await client.call_tool(name="sum", arguments={"c": 1})).is_error
        assert asked == ["server/discover", "tools/call", "tools/list", "tools/list"]
