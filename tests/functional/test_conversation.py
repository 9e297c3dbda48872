"""Conversations over the generated stubs: pages, tasks, unions, requests within requests, and failures."""

import pytest

from functional.bindings import package, public, python_name, request_meta, requests_of
from functional.double import Double
from mcp_bindgen.load.protocol import load_released
from mcp_bindings.v2025_11_25 import (
    CallToolRequestParams,
    CallToolResult,
    Client,
    ClientContext,
    ClientHandlers,
    Context,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateTaskResult,
    ElicitRequestFormParams,
    ElicitRequestFormParamsRequestedSchema,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmptyResult,
    GetTaskPayloadRequestParams,
    GetTaskPayloadResult,
    ListRootsResult,
    ListToolsResult,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    ProgressNotificationParams,
    RequestParams,
    SamplingMessage,
    Server,
    Task,
    TaskMetadata,
    TextContent,
    Tool,
    ToolInputSchema,
)
from mcp_bindings.v2025_11_25.errors import InvalidParamsError, MethodNotFoundError, PeerUrlElicitationRequiredError
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.stub import iterate
from support.samples import REVISIONS


class Weather(Server):
    """Answers a few methods, with one page of tools per cursor."""

    pages: tuple[tuple[tuple[str, ...], str | None], ...] = ((("a", "b"), ""), ((), "2"), (("c",), None))

    def __init__(self) -> None:
        self.cursors: list[str | None] = []
        self.logged: list[str] = []

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        cursor = params.cursor if params else None
        self.cursors.append(cursor)
        names, following = self.pages[{None: 0, "": 1, "2": 2}[cursor]]
        tools = [Tool(name=name, input_schema=ToolInputSchema()) for name in names]
        return ListToolsResult(tools=tools, next_cursor=following)

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult | CreateTaskResult:
        if params.task is not None:
            return CreateTaskResult(task=task("7"))
        if params.name == "forbidden":
            raise PeerError(-32042, "look at this page first", {"elicitations": []})
        answer = await ctx.client.create_message(
            messages=[SamplingMessage(role="user", content=TextContent(text=f"{params.name}?"))], max_tokens=10
        )
        assert isinstance(answer.content, TextContent)
        roots = await ctx.client.list_roots()
        await ctx.client.notify_progress(progress_token=1, progress=1.0)
        return CallToolResult(content=[TextContent(text=f"{answer.content.text} {len(roots.roots)}")])

    async def get_task_payload(self, params: GetTaskPayloadRequestParams, ctx: Context) -> GetTaskPayloadResult:
        done = CallToolResult(content=[TextContent(text=params.task_id)])
        return GetTaskPayloadResult.model_validate(done.model_dump())


class Host(ClientHandlers):
    """Answers the requests of `Weather`."""

    def __init__(self) -> None:
        self.elicited: list[ElicitRequestParams] = []
        self.progress: list[float] = []

    async def create_message(
        self, params: CreateMessageRequestParams, ctx: ClientContext
    ) -> CreateMessageResult | CreateTaskResult:
        if params.task is not None:
            return CreateTaskResult(task=task("8"))
        question = params.messages[0].content
        assert isinstance(question, TextContent)
        return CreateMessageResult(role="assistant", model="m", content=TextContent(text=question.text.upper()))

    async def list_roots(self, params: RequestParams | None, ctx: ClientContext) -> ListRootsResult:
        return ListRootsResult(roots=[])

    async def elicit(self, params: ElicitRequestParams, ctx: ClientContext) -> ElicitResult | CreateTaskResult:
        self.elicited.append(params)
        return CreateTaskResult(task=task("9")) if params.task is not None else ElicitResult(action="decline")

    async def on_progress(self, params: ProgressNotificationParams, ctx: ClientContext) -> None:
        self.progress.append(params.progress)

    async def on_logging_message(self, params: LoggingMessageNotificationParams, ctx: ClientContext) -> None:
        raise AssertionError("nobody sends this")


def task(id_: str) -> Task:
    return Task(
        task_id=id_,
        status="working",
        created_at="2025-11-25T00:00:00Z",
        last_updated_at="2025-11-25T00:00:00Z",
        ttl=None,
    )


class TestIterators:
    async def test_all_pages_and_an_empty_cursor_is_not_the_end(self) -> None:
        server = Weather()
        client: Client = Double(package("2025-11-25"), server).client
        assert [tool.name async for tool in client.iter_tools()] == ["a", "b", "c"]
        assert server.cursors == [None, "", "2"]

    async def test_no_page_is_fetched_before_it_is_needed(self) -> None:
        server = Weather()
        client: Client = Double(package("2025-11-25"), server).client
        tools = client.iter_tools()
        assert server.cursors == []
        assert (await anext(tools)).name == "a"
        assert server.cursors == [None]

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_every_paginated_method_has_one(self, revision: str) -> None:
        paginated = [method for method in requests_of(revision) if method.paginated]
        iterators = {name for name in public(package(revision).Client) if name.startswith("iter_")}
        assert iterators == {f"iter_{python_name(method).removeprefix('list_')}" for method in paginated}

    async def test_iterate_raises_what_a_page_raises(self) -> None:
        async def page(cursor: str | None) -> list[int]:
            if cursor:
                raise PeerError(-32602, "no such cursor")
            return [1]

        seen: list[int] = []
        with pytest.raises(PeerError, match="no such cursor"):
            async for item in iterate(page, lambda items: (items, "next")):
                seen.append(item)
        assert seen == [1]


class TestTasks:
    async def test_a_task_changes_the_result(self) -> None:
        client: Client = Double(package("2025-11-25"), Weather(), Host()).client
        created = await client.call_tool(name="x", task=TaskMetadata(ttl=5))
        assert created.task.task_id == "7"
        assert isinstance(await client.call_tool(name="x"), CallToolResult)

    async def test_a_server_may_send_requests_as_tasks(self) -> None:
        connected = Double(package("2025-11-25"), Weather(), Host()).connected
        message = SamplingMessage(role="user", content=TextContent(text="?"))
        created = await connected.create_message(messages=[message], max_tokens=1, task=TaskMetadata())
        assert isinstance(created, CreateTaskResult) and created.task.task_id == "8"
        created = await connected.elicit(mode="url", message="m", elicitation_id="1", url="u", task=TaskMetadata())
        assert isinstance(created, CreateTaskResult) and created.task.task_id == "9"

    async def test_the_payload_has_the_requested_type(self) -> None:
        client: Client = Double(package("2025-11-25"), Weather()).client
        result = await client.get_task_payload(task_id="7", result_type=CallToolResult)
        assert result == CallToolResult(content=[TextContent(text="7")])


class TestUnionParams:
    async def test_elicit_sends_forms_and_urls(self) -> None:
        host = Host()
        double = Double(package("2025-11-25"), Weather(), host)
        schema = ElicitRequestFormParamsRequestedSchema(properties={})
        result = await double.connected.elicit(message="form", requested_schema=schema)
        assert isinstance(result, ElicitResult) and result.action == "decline"
        await double.connected.elicit(mode="form", message="form", requested_schema=schema, task=None, meta=None)
        await double.connected.elicit(mode="url", message="page", elicitation_id="1", url="https://example.org")
        assert [type(params) for params in host.elicited] == [
            ElicitRequestFormParams,
            ElicitRequestFormParams,
            ElicitRequestURLParams,
        ]
        assert [frame["params"] for frame in double.server_end.sent] == [
            {"message": "form", "requestedSchema": {"type": "object", "properties": {}}},
            {"mode": "form", "message": "form", "requestedSchema": {"type": "object", "properties": {}}},
            {"mode": "url", "message": "page", "elicitationId": "1", "url": "https://example.org"},
        ]


class TestErrors:
    async def test_sampling_inside_a_tool_call(self) -> None:
        host = Host()
        client: Client = Double(package("2025-11-25"), Weather(), host).client
        result = await client.call_tool(name="rain")
        assert result == CallToolResult(content=[TextContent(text="RAIN? 0")])
        assert host.progress == [1.0]

    @pytest.mark.parametrize("revision", REVISIONS)
    async def test_an_unimplemented_method_is_not_found(self, revision: str) -> None:
        bindings = package(revision)
        client = Double(bindings, bindings.Server(), meta=request_meta(revision)).client
        not_found = bindings.BINDING.errors[-32601]
        definitions = load_released(revision).definitions
        with pytest.raises(not_found, match="tools/list is not implemented here") as caught:
            await client.list_tools()
        assert (caught.value.code, caught.value.data) == (-32601, {"method": "tools/list"})
        assert not_found is getattr(
            bindings, "PeerMethodNotFoundError" if "MethodNotFoundError" in definitions else "MethodNotFoundError"
        )

    async def test_an_error_has_the_class_of_its_code(self) -> None:
        client: Client = Double(package("2025-11-25"), Weather()).client
        with pytest.raises(PeerUrlElicitationRequiredError) as caught:
            await client.call_tool(name="forbidden")
        assert caught.value.data == {"elicitations": []}
        with pytest.raises(MethodNotFoundError):
            await client.call_tool(name="asks a client that answers nothing")
        assert issubclass(InvalidParamsError, PeerError)

    async def test_invalid_params_are_refused(self) -> None:
        double = Double(package("2025-11-25"), Weather())
        answer = await double.server_end.take(b'{"id": 1, "method": "tools/call", "params": {"name": 1}}')
        assert answer is not None and b'"code": -32602' in answer
        answer = await double.server_end.take(b'{"id": 1, "method": "tools/call"}')
        assert answer is not None and b'"code": -32602' in answer


class TestImplemented:
    def test_only_overridden_methods_count(self) -> None:
        assert Weather.__implemented__() == {"tools/list", "tools/call", "tasks/result"}
        assert Server.__implemented__() == frozenset()

    def test_inherited_implementations_count(self) -> None:
        class Better(Weather):
            async def ping(self, params: RequestParams | None, ctx: Context) -> EmptyResult:
                return EmptyResult()

        assert Better.__implemented__() == Weather.__implemented__() | {"ping"}
