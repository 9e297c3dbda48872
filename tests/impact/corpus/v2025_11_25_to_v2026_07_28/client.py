"""A client that lists what a server offers and calls one tool."""

import asyncio
from collections.abc import Iterable

import mcp_bindings.v2025_11_25 as mcp
from mcp_bindings.v2025_11_25 import (
    AudioContent,
    CallToolResult,
    Client,
    ClientHandlers,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from mcp_bindings.v2025_11_25 import Tool as Function


async def hello(client: Client, answer: mcp.InitializeResult) -> mcp.ClientCapabilities:  # impact: definition-removed
    own = mcp.ClientCapabilities(
        roots=mcp.ClientCapabilitiesRoots(list_changed=True),  # impact: definition-removed, object-undeclared
        tasks=mcp.ClientCapabilitiesTasks(),  # impact: definition-removed, member-removed-optional
    )
    await client.notify_initialized()  # impact: notification-method-removed
    if answer.capabilities.tasks:  # impact: member-removed-optional
        print("tasks are supported")
    if answer.capabilities.logging is not None:
        await client.set_level(level="warning")  # impact: request-method-removed
    return own


async def inventory(client: Client) -> dict[str, Function]:
    found: dict[str, Function] = {}
    async for tool in client.iter_tools():
        found[tool.name] = tool
        if tool.execution:  # impact: property-removed-optional
            print(tool.title, tool.execution.task_support)  # impact: property-removed-optional
    page = await client.list_tools(cursor=None)
    for tool in page.tools:
        print(tool.output_schema.type if tool.output_schema else "none")  # impact: property-removed-required
        print(tool.input_schema.properties)  # impact: property-constraint-dropped
    names = [t.name for t in page.tools if t.execution is None]  # impact: property-removed-optional
    print(names, page.next_cursor)
    return found


def longest(tools: Iterable[Function]) -> str:
    return max((tool.description or "" for tool in tools), key=len)


async def call(client: Client, name: str) -> CallToolResult:
    started = await client.call_tool(
        name=name,
        task=mcp.TaskMetadata(ttl=1000),  # impact: definition-removed, property-removed-optional
    )
    task = await client.get_task(task_id=started.task.task_id)  # impact: request-method-removed
    while task.status == "working":
        await asyncio.sleep(1)
        task = await client.get_task(task_id=task.task_id)  # impact: request-method-removed
    return await client.get_task_payload(  # impact: request-method-removed
        task_id=task.task_id, result_type=CallToolResult
    )


async def ask(client: Client) -> None:
    result = await client.call_tool(name="forecast", arguments={"city": "Oslo"})
    structured = result.structured_content  # impact: type-widened
    print(structured)
    for block in result.content:
        show(block)
    first, second = await asyncio.gather(
        client.call_tool(name="a"),
        client.list_prompts(),
    )
    print(first.structured_content, [prompt.name for prompt in second.prompts])  # impact: type-widened
    meta = result.meta or {}  # impact: object-declared
    print(meta.get("trace"))  # follows


def show(block: TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource) -> None:
    match block:
        case TextContent(text=text):
            print(text)
        case ImageContent(data=data) | AudioContent(data=data):
            print(len(data))
        case ResourceLink(uri=uri):
            print(uri)
        case EmbeddedResource(resource=resource):
            print(resource.uri)


class Answers(ClientHandlers):
    """What this client answers."""

    async def create_message(
        self, params: mcp.CreateMessageRequestParams, ctx: mcp.ClientContext
    ) -> mcp.CreateMessageResult:
        if params.task:  # impact: property-removed-optional
            print("not as a task")
        return mcp.CreateMessageResult(
            role="assistant",
            model="none",
            content=TextContent(text="hello"),
        )

    async def elicit(self, params: mcp.ElicitRequestParams, ctx: mcp.ClientContext) -> mcp.ElicitResult:
        if isinstance(params, mcp.ElicitRequestURLParams):
            print(params.url, params.elicitation_id)  # impact: property-removed-required
            return mcp.ElicitResult(action="decline")
        print(params.message, params.requested_schema.properties)
        return mcp.ElicitResult(action="accept", content={"name": "x"})

    async def list_roots(  # impact: type-inlined
        self, params: mcp.RequestParams | None, ctx: mcp.ClientContext
    ) -> mcp.ListRootsResult:
        return mcp.ListRootsResult(roots=[mcp.Root(uri="file:///home")])

    async def on_task_status(  # impact: notification-method-removed
        self,
        params: mcp.TaskStatusNotificationParams,  # impact: definition-removed
        ctx: mcp.ClientContext,
    ) -> None:
        print(params.status)

    async def on_tool_list_changed(self, params: mcp.NotificationParams | None, ctx: mcp.ClientContext) -> None:
        await ctx.server.list_tools()


async def stop(client: Client, request: int) -> None:
    await client.notify_cancelled(reason="too slow")  # impact: property-now-required
    await client.notify_cancelled(request_id=request)
    await client.notify_roots_list_changed()  # impact: notification-method-removed
    await client.ping()  # impact: request-method-removed
