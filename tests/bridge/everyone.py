"""A server and a client of any revision that use every feature of every revision, and the outcome."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from mcp_runtime.bridge import MissingInRevision
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import MissingCapability, PeerError
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.names import LOG_LEVEL
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import Handlers, ServerHandlers
from support.talk import bindings

URI = "memo://notes"
FIRST_WITH_FORMS = "2025-06-18"
MODERN = "2026-07-28"


def make_server(revision: str) -> ServerHandlers:
    """Make a server that is written against a revision."""
    package = bindings(revision)

    class Everyone(package.Server):  # type: ignore[name-defined, misc]
        options = ServerOptions(
            name="everyone",
            version="1",
            strict=True,
            check_sent=True,
            list_changed=True,
            logging=True,
            resource_updates=True,
        )

        async def list_tools(self, params: Any, ctx: Any) -> Any:
            return package.ListToolsResult(tools=[package.Tool(name="any", input_schema=package.ToolInputSchema())])

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            said = await getattr(self, f"_{params.name}")(ctx)
            return package.CallToolResult(content=[package.TextContent(text=said)])

        async def _plain(self, ctx: Any) -> str:
            await ctx.log("debug", "not wanted")
            await ctx.log("warning", "wanted")
            await ctx.report_progress(1, 2)
            return "plain"

        async def _sample(self, ctx: Any) -> str:
            message = package.SamplingMessage(role="user", content=package.TextContent(text="Say it"))
            answer = await ctx.client.create_message(messages=[message], max_tokens=9)
            return str(answer.content.text)

        async def _roots(self, ctx: Any) -> str:
            return " ".join(root.uri for root in (await ctx.client.list_roots()).roots)

        async def _ask(self, ctx: Any) -> str:
            if revision < FIRST_WITH_FORMS:
                return "no forms"
            kind = "ElicitRequestParams" if revision == FIRST_WITH_FORMS else "ElicitRequestFormParams"
            schema = getattr(package, f"{kind}RequestedSchema")(properties={"name": package.StringSchema()})
            try:
                first = await ctx.client.elicit(message="Who?", requested_schema=schema)
                again = await ctx.client.elicit(message="Really?", requested_schema=schema)
            except (MissingInRevision, MissingCapability):
                return "no forms"
            return f"{first.action} {first.content['name']}, {again.content['name']}"

        async def _change(self, ctx: Any) -> str:
            await list_changed(self, "tools")
            await resource_updated(self, URI)
            return "changed"

        async def list_resources(self, params: Any, ctx: Any) -> Any:
            return package.ListResourcesResult(resources=[package.Resource(name="notes", uri=URI)])

        async def read_resource(self, params: Any, ctx: Any) -> Any:
            if params.uri != URI:
                code = -32602 if revision >= MODERN else -32002
                raise PeerError(code, "no such resource", {"uri": params.uri})
            return package.ReadResourceResult(contents=[package.TextResourceContents(uri=URI, text="Notes.")])

        async def list_prompts(self, params: Any, ctx: Any) -> Any:
            return package.ListPromptsResult(prompts=[package.Prompt(name="hello")])

        async def get_prompt(self, params: Any, ctx: Any) -> Any:
            text = package.TextContent(text=f"Hello {params.arguments['who']}")
            return package.GetPromptResult(messages=[package.PromptMessage(role="user", content=text)])

        async def complete(self, params: Any, ctx: Any) -> Any:
            return package.CompleteResult(completion=package.CompleteResultCompletion(values=[params.argument.value]))

        if revision < MODERN:

            async def subscribe(self, params: Any, ctx: Any) -> Any:
                return package.EmptyResult()

            async def unsubscribe(self, params: Any, ctx: Any) -> Any:
                return package.EmptyResult()

    server: ServerHandlers = Everyone()
    return server


@dataclass(slots=True)
class Received:
    """The notifications that a client received."""

    logs: list[str] = field(default_factory=list[str])
    progress: list[float] = field(default_factory=list[float])
    changes: set[str] = field(default_factory=set[str])


def make_handlers(revision: str, received: Received) -> Handlers:
    """Make the handlers of a client in a revision."""
    package = bindings(revision)

    class Answers(package.ClientHandlers):  # type: ignore[name-defined, misc]
        async def create_message(self, params: Any, ctx: Any) -> Any:
            content = package.TextContent(text="said")
            return package.CreateMessageResult(role="assistant", model="m", content=content)

        async def list_roots(self, params: Any, ctx: Any) -> Any:
            return package.ListRootsResult(roots=[package.Root(uri="file:///notes")])

        if revision >= FIRST_WITH_FORMS:

            async def elicit(self, params: Any, ctx: Any) -> Any:
                return package.ElicitResult(action="accept", content={"name": params.message})

        async def on_logging_message(self, params: Any, ctx: Any) -> None:
            received.logs.append(params.data)

        async def on_tool_list_changed(self, params: Any, ctx: Any) -> None:
            received.changes.add("tools")

        async def on_resource_updated(self, params: Any, ctx: Any) -> None:
            received.changes.add(params.uri)

    handlers: Handlers = Answers()
    return handlers


async def use_everything(client: Any, received: Received) -> dict[str, Any]:
    """Use everything that a server has, in the client's revision; returns the outcome."""
    package = bindings(client.__binding__.revision)
    is_modern = client.__binding__.revision >= MODERN
    options = CallOptions(progress=lambda progress, total, message: received.progress.append(progress))
    wanted = {LOG_LEVEL: "info"} if is_modern else None
    if not is_modern:
        await client.ping()
        await client.set_level(level="info")
    found: dict[str, Any] = {
        "tools": [tool.name for tool in (await client.list_tools()).tools],
        "plain": _text(await client.call_tool(name="plain", meta=wanted, options=options)),
    }
    for name in ("sample", "roots", "ask"):
        found[name] = _text(await client.call_tool(name=name))
    found["resources"] = [resource.uri for resource in (await client.list_resources()).resources]
    found["read"] = (await client.read_resource(uri=URI)).contents[0].text
    try:
        await client.read_resource(uri="memo://none")
    except PeerError as error:
        found["missing"] = error.code
    found["prompts"] = [prompt.name for prompt in (await client.list_prompts()).prompts]
    found["prompt"] = (await client.get_prompt(name="hello", arguments={"who": "you"})).messages[0].content.text
    ref, argument = package.PromptReference(name="hello"), package.CompleteRequestParamsArgument(name="who", value="y")
    found["complete"] = (await client.complete(ref=ref, argument=argument)).completion.values
    found["changes"] = await _receive_changes(client, received, is_modern=is_modern)
    found["logs"], found["progress"] = received.logs, received.progress
    return found


async def _receive_changes(client: Any, received: Received, *, is_modern: bool) -> list[str]:
    """Subscribe or listen, depending on the revision; return the changes received before and after the end."""
    if is_modern:
        async with await client.listen(tools=True, resources=[URI]) as changes:
            await client.call_tool(name="change")
            announced = [await asyncio.wait_for(anext(changes), 40) for _ in range(2)]
        return sorted(change.uri or change.what for change in announced)
    await client.subscribe(uri=URI)
    await client.call_tool(name="change")
    async with asyncio.timeout(40):
        while len(received.changes) < 2:
            await asyncio.sleep(0.001)
    await client.unsubscribe(uri=URI)
    return sorted(received.changes)


def expected(server: str, client: str) -> dict[str, Any]:
    """Return the expected outcome, whichever side is bridged."""
    has_forms = min(server, client) >= FIRST_WITH_FORMS
    return {
        "tools": ["any"],
        "plain": "plain",
        "sample": "said",
        "roots": "file:///notes",
        "ask": "accept Who?, Really?" if has_forms else "no forms",
        "resources": [URI],
        "read": "Notes.",
        "missing": -32602 if client >= MODERN else -32002,
        "prompts": ["hello"],
        "prompt": "Hello you",
        "complete": ["y"],
        "changes": [URI, "tools"],
        "logs": ["wanted"],
        "progress": [1],
    }


def _text(result: Any) -> str:
    return str(result.content[0].text)
