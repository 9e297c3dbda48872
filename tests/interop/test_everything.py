"""Our client with `server-everything`, the reference server of the TypeScript SDK."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from interop.processes import node_server
from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25
from mcp_bindings.v2025_11_25 import (
    CallToolResult,
    CompleteRequestParamsArgument,
    CompleteRequestParamsContext,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    PromptReference,
    Root,
    TaskMetadata,
    TextContent,
)
from mcp_bindings.v2025_11_25.errors import InvalidParamsError, PeerUrlElicitationRequiredError
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.opening import open_any

pytestmark = pytest.mark.interop


class Host(v2025_11_25.ClientHandlers):
    """Answers the requests of the server."""

    def __init__(self) -> None:
        self.forms: list[ElicitRequestFormParams] = []

    async def create_message(
        self, params: CreateMessageRequestParams, ctx: v2025_11_25.ClientContext
    ) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="I agree."), model="parrot")

    async def elicit(self, params: ElicitRequestParams, ctx: v2025_11_25.ClientContext) -> ElicitResult:
        if not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        self.forms.append(params)
        if "interpretation" in params.requested_schema.properties:
            return ElicitResult(action="accept", content={"interpretation": "snake"})
        return ElicitResult(action="accept", content={"name": "Ada", "check": True, "number": 2.5, "integer": 7})


@asynccontextmanager
async def everything(host: Host | None = None) -> AsyncGenerator[v2025_11_25.Client]:
    options = ClientOptions(
        roots=[Root(uri="file:///srv/one", name="one")], capabilities={"elicitation": {"form": {}, "url": {}}}
    )
    async with connect_stdio(*node_server("everything"), stderr=lambda line: None) as server:
        yield await v2025_11_25.Client.open(server, handlers=host or Host(), options=options)


def text(result: CallToolResult) -> str:
    """Return the texts of a result."""
    return "\n".join(item.text for item in result.content if isinstance(item, TextContent))


@pytest.mark.parametrize(
    "client_type",
    [v2024_11_05.Client, v2025_03_26.Client, v2025_06_18.Client, v2025_11_25.Client],
    ids=lambda client: client.__binding__.revision,
)
async def test_the_same_in_every_revision(
    client_type: type[v2024_11_05.Client | v2025_03_26.Client | v2025_06_18.Client | v2025_11_25.Client],
) -> None:
    async with connect_stdio(*node_server("everything"), stderr=lambda line: None) as server:
        client = await client_type.open(server)
        assert client.connection.peer_info["name"] == "mcp-servers/everything"
        names = [tool.name async for tool in client.iter_tools()]
        assert {"echo", "get-sum"} <= set(names)
        assert "trigger-sampling-request" not in names  # It needs capabilities that this client did not declare.
        added = await client.call_tool(name="get-sum", arguments={"a": 2, "b": 3})
        assert added.model_dump(mode="json")["content"][0]["text"] == "The sum of 2 and 3 is 5."
        assert len([resource async for resource in client.iter_resources()]) == 7
        assert len([prompt async for prompt in client.iter_prompts()]) == 4
        assert (await client.ping()).model_dump(mode="json") == {}


async def test_tools_answer_with_every_kind_of_content() -> None:
    async with everything() as client:
        weather = await client.call_tool(name="get-structured-content", arguments={"location": "Chicago"})
        assert weather.structured_content == {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
        image = await client.call_tool(name="get-tiny-image", arguments={})
        assert [item.type for item in image.content] == ["text", "image", "text"]
        links = await client.call_tool(name="get-resource-links", arguments={"count": 2})
        assert [item.type for item in links.content] == ["text", "resource_link", "resource_link"]
        embedded = await client.call_tool(
            name="get-resource-reference", arguments={"resourceType": "Blob", "resourceId": 1}
        )
        assert [item.type for item in embedded.content] == ["text", "resource", "text"]
        wrong = await client.call_tool(name="get-sum", arguments={"a": "x"})
        assert wrong.is_error


async def test_progress_and_cancellation() -> None:
    async with everything() as client:
        seen: list[tuple[float, float | None]] = []
        options = CallOptions(progress=lambda progress, total, message: seen.append((progress, total)))
        arguments = {"duration": 0.2, "steps": 4}
        await client.call_tool(name="trigger-long-running-operation", arguments=arguments, options=options)
        assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]

        started = asyncio.Event()
        options = CallOptions(progress=lambda progress, total, message: started.set())
        arguments = {"duration": 60, "steps": 600}
        call = asyncio.ensure_future(
            client.call_tool(name="trigger-long-running-operation", arguments=arguments, options=options)
        )
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert text(await client.call_tool(name="echo", arguments={"message": "alive"})) == "Echo: alive"


async def test_sampling_elicitation_and_roots() -> None:
    host = Host()
    async with everything(host) as client:
        sampled = await client.call_tool(name="trigger-sampling-request", arguments={"prompt": "Do you?"})
        assert "I agree." in text(sampled)

        filled = await client.call_tool(name="trigger-elicitation-request", arguments={})
        assert "- Name: Ada" in text(filled)
        kinds = {name: type(schema).__name__ for name, schema in host.forms[0].requested_schema.properties.items()}
        assert kinds["check"] == "BooleanSchema"
        assert kinds["number"] == "NumberSchema"
        assert kinds["titledMultipleSelectEnum"] == "TitledMultiSelectEnumSchema"

        declined = await client.call_tool(name="trigger-url-elicitation", arguments={"url": "https://example.com"})
        assert "declined" in text(declined)

        assert "file:///srv/one" in text(await client.call_tool(name="get-roots-list", arguments={}))
        await client.set_roots(["file:///srv/one", "file:///srv/two"])
        async with asyncio.timeout(40):
            while "file:///srv/two" not in text(await client.call_tool(name="get-roots-list", arguments={})):
                await asyncio.sleep(0.01)


async def test_choices_of_a_form_are_distinguished_from_texts() -> None:
    host = Host()
    async with everything(host) as client:
        await client.call_tool(name="trigger-elicitation-request", arguments={})
        fields = host.forms[0].requested_schema.properties
        assert isinstance(fields["untitledSingleSelectEnum"], v2025_11_25.UntitledSingleSelectEnumSchema)
        assert isinstance(fields["titledSingleSelectEnum"], v2025_11_25.TitledSingleSelectEnumSchema)
        assert isinstance(fields["legacyTitledEnum"], v2025_11_25.LegacyTitledEnumSchema)


async def test_a_tool_that_needs_a_web_page_first_raises_the_error_of_that_name() -> None:
    async with everything() as client:
        arguments = {"url": "https://example.com", "errorPath": True}
        with pytest.raises(PeerUrlElicitationRequiredError) as caught:
            await client.call_tool(name="trigger-url-elicitation", arguments=arguments)
        assert caught.value.data["elicitations"][0]["mode"] == "url"


async def test_resources_and_their_updates() -> None:
    uri = "demo://resource/dynamic/text/1"
    async with everything() as client:
        templates = [template.uri_template async for template in client.iter_resource_templates()]
        assert templates == [
            "demo://resource/dynamic/text/{resourceId}",
            "demo://resource/dynamic/blob/{resourceId}",
        ]
        read = await client.read_resource(uri=uri)
        assert read.contents[0].uri == uri
        blob = await client.read_resource(uri="demo://resource/dynamic/blob/1")
        assert isinstance(blob.contents[0], v2025_11_25.BlobResourceContents)
        with pytest.raises(PeerError):
            await client.read_resource(uri="demo://nothing")

        updates = client.notifications(v2025_11_25.methods.NOTIFICATIONS_RESOURCES_UPDATED)
        await client.subscribe(uri=uri)
        await client.call_tool(name="toggle-subscriber-updates", arguments={})
        update = await updates.next(timeout=40)
        assert update is not None
        assert update.uri == uri


async def test_prompts_and_completion() -> None:
    async with everything() as client:
        prompt = await client.get_prompt(name="args-prompt", arguments={"city": "Oslo"})
        assert isinstance(prompt.messages[0].content, TextContent)
        assert prompt.messages[0].content.text == "What's weather in Oslo?"
        with pytest.raises(InvalidParamsError):
            await client.get_prompt(name="args-prompt", arguments={})

        completed = await client.complete(
            ref=PromptReference(name="completable-prompt"),
            argument=CompleteRequestParamsArgument(name="name", value="A"),
            context=CompleteRequestParamsContext(arguments={"department": "Engineering"}),
        )
        assert completed.completion.values == ["Alice"]


async def test_a_task_that_asks_while_it_works() -> None:
    host = Host()
    async with everything(host) as client:
        created = await client.call_tool(
            name="simulate-research-query",
            arguments={"topic": "Python", "ambiguous": True},
            task=TaskMetadata(ttl=60000),
        )
        assert created.task.status == "working"
        result = await client.get_task_payload(task_id=created.task.task_id, result_type=CallToolResult)
        assert "Python (snake)" in text(result)
        assert host.forms
        assert (await client.get_task(task_id=created.task.task_id)).status == "completed"
        assert [task.status async for task in client.iter_tasks()] == ["completed"]


async def test_open_any_speaks_the_newest_revision() -> None:
    async with connect_stdio(*node_server("everything"), stderr=lambda line: None) as server:
        client = await open_any(server, v2024_11_05.Client, v2025_11_25.Client)
        assert isinstance(client, v2025_11_25.Client)
