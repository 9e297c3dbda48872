"""Our server of the interop tests: one program that speaks four revisions and offers one of everything.

    python -m interop.our_server [--only REVISION] [--http | --sse]        # in tests/

Code shared by the revisions is in `Everything`, which uses the models of the revision that the client speaks; this
gives up the static types of a server of one revision. At the end, a class per revision joins it to its bindings.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from interop.peers import offer
from interop.peers.offer import Json
from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import ServerHandlers
from mcp_runtime.core.transports.stdio import serve_stdio
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.web_server import serve_http
from support.own import own

RESOURCE_NOT_FOUND = -32002
INVALID_PARAMS = -32602


class Everything(ServerHandlers):
    """The handlers and their state; the process has one client."""

    options: ServerOptions | None = ServerOptions(
        name=offer.NAME,
        version=offer.VERSION,
        instructions=offer.INSTRUCTIONS,
        list_changed=True,
        extensions=[Tasks(MemoryTaskStore())],  # for 2025-11-25, which has tasks
    )
    models: Any
    """The package of the revision."""

    def __init__(self) -> None:
        self.revision: str = self.models.REVISION
        self.cancelled = 0
        self.roots_changes = 0

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        return self.models.ListToolsResult.model_validate(page("tools", offer.tools(self.revision), params))

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        tool: Callable[..., Awaitable[Any]] | None = getattr(self, f"tool_{params.name}", None)
        if tool is None:
            raise PeerError(INVALID_PARAMS, f"unknown tool: {params.name}")
        answer = await tool(ctx, **(params.arguments or {}))
        return self._text(answer) if isinstance(answer, str) else answer

    async def tool_add(self, ctx: Any, a: int, b: int) -> Any:
        result = self._text(str(a + b))
        if offer.since(self.revision, "2025-06-18"):
            result.structured_content = {"sum": a + b}
        return result

    async def tool_ask_model(self, ctx: Any, prompt: str) -> str:
        question = self.models.TextContent(text=prompt)
        try:
            answer = await ctx.client.create_message(
                messages=[self.models.SamplingMessage(role="user", content=question)],
                max_tokens=100,
                system_prompt="Be brief.",
                temperature=0.5,
                stop_sequences=["."],
                model_preferences=self.models.ModelPreferences(
                    hints=[self.models.ModelHint(name="small")], speed_priority=1
                ),
            )
        except PeerError as refusal:
            return f"error {refusal.code}"
        return f"{answer.model} ({answer.stop_reason}): {answer.content.text}"

    async def tool_ask_model_with_tools(self, ctx: Any) -> str:
        models = self.models
        schema = models.ToolInputSchema.model_validate(offer.add_tool(self.revision)["inputSchema"])
        messages = [models.SamplingMessage(role="user", content=models.TextContent(text="What is 1 + 2?"))]
        while True:
            answer = await ctx.client.create_message(
                messages=messages,
                max_tokens=100,
                tools=[models.Tool(name="add", input_schema=schema)],
                tool_choice=models.ToolChoice(mode="auto"),
            )
            if answer.stop_reason != "toolUse":
                return str(answer.content.text)
            results = [
                models.ToolResultContent(
                    tool_use_id=use.id, content=[models.TextContent(text=str(use.input["a"] + use.input["b"]))]
                )
                for use in answer.content
            ]
            messages.append(models.SamplingMessage(role="assistant", content=answer.content))
            messages.append(models.SamplingMessage(role="user", content=results))

    async def tool_ask_user(self, ctx: Any, question: str) -> str:
        if offer.since(self.revision, "2025-11-25"):
            form = self.models.ElicitRequestFormParamsRequestedSchema.model_validate(offer.FORM)
        else:
            form = self.models.ElicitRequestParamsRequestedSchema.model_validate(offer.FORM)
        answer = await ctx.client.elicit(message=question, requested_schema=form)
        return json.dumps({"action": answer.action, "content": answer.content})

    async def tool_ask_user_elsewhere(self, ctx: Any) -> str:
        answer = await ctx.client.elicit(
            mode="url", message="Sign in", url="https://example.com/sign-in", elicitation_id="e-1"
        )
        await ctx.client.notify_elicitation_complete(elicitation_id="e-1")
        return str(answer.action)

    async def tool_cancelled_calls(self, ctx: Any) -> str:
        return str(self.cancelled)

    async def tool_change_lists(self, ctx: Any) -> str:
        for area in ("tools", "resources", "prompts"):
            await list_changed(self, area)
        return "changed"

    async def tool_content(self, ctx: Any) -> Any:
        return self.models.CallToolResult.model_validate({"content": offer.content(self.revision)})

    async def tool_count(self, ctx: Any, steps: int) -> str:
        for step in range(1, steps + 1):
            message = f"step {step}" if offer.since(self.revision, "2025-03-26") else None
            await ctx.report_progress(step, steps, message)
        return "counted"

    async def tool_echo_meta(self, ctx: Any) -> Any:
        result = self._text("see _meta")
        result.meta = {"interop/echo": ctx.meta.get("interop/trace")}
        return result

    async def tool_fail(self, ctx: Any) -> Any:
        result = self._text("it failed")
        result.is_error = True
        return result

    async def tool_log_all(self, ctx: Any) -> str:
        for level in offer.LEVELS:  # Messages below the client's level are not sent.
            await ctx.log(level, {"at": level}, logger=offer.NAME)
        return "logged"

    async def tool_ping_back(self, ctx: Any) -> str:
        answer = await ctx.client.ping()
        return json.dumps(answer.model_dump(mode="json"))

    async def tool_roots(self, ctx: Any) -> str:
        answer = await ctx.client.list_roots()
        roots = [root.model_dump(mode="json") for root in answer.roots]
        return json.dumps({"changes": self.roots_changes, "roots": roots})

    async def tool_slow(self, ctx: Any) -> str:
        try:
            await ctx.report_progress(1)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += int(ctx.is_cancelled)
            raise
        return "slept"

    async def tool_slowly(self, ctx: Any, seconds: float) -> str:
        await ctx.report_progress(1)
        await asyncio.sleep(seconds)
        return "done"

    async def tool_touch(self, ctx: Any, uri: str) -> str:
        await resource_updated(self, uri)  # Only subscribers are notified.
        return "touched"

    async def tool_whoami(self, ctx: Any) -> str:
        client, capabilities = ctx.connection.peer_info, ctx.connection.declared[Side.CLIENT]
        has = [feature for feature in offer.client_features(self.revision) if declares(capabilities, feature)]
        return json.dumps({"name": client["name"], "version": client["version"], "has": has})

    async def tool_work(self, ctx: Any, steps: int) -> str:
        for _ in range(steps):
            await asyncio.sleep(0.05)
        return f"worked {steps} steps"

    async def list_resources(self, params: Any, ctx: Any) -> Any:
        found = page("resources", offer.resources(self.revision), params)
        return self.models.ListResourcesResult.model_validate(found)

    async def list_resource_templates(self, params: Any, ctx: Any) -> Any:
        found = page("resourceTemplates", offer.TEMPLATES, params)
        return self.models.ListResourceTemplatesResult.model_validate(found)

    async def read_resource(self, params: Any, ctx: Any) -> Any:
        contents = offer.read(params.uri)
        if contents is None:
            raise PeerError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": params.uri})
        return self.models.ReadResourceResult.model_validate({"contents": [contents]})

    async def subscribe(self, params: Any, ctx: Any) -> Any:
        return self.models.EmptyResult()  # The runtime keeps the subscriptions; a handler may refuse one.

    async def unsubscribe(self, params: Any, ctx: Any) -> Any:
        return self.models.EmptyResult()

    async def list_prompts(self, params: Any, ctx: Any) -> Any:
        return self.models.ListPromptsResult.model_validate(page("prompts", offer.prompts(self.revision), params))

    async def get_prompt(self, params: Any, ctx: Any) -> Any:
        arguments: dict[str, str] = params.arguments or {}
        if params.name == "greet" and "name" not in arguments:
            raise PeerError(INVALID_PARAMS, "missing argument: name")
        prompt = offer.prompt(params.name, arguments)
        if prompt is None:
            raise PeerError(INVALID_PARAMS, f"unknown prompt: {params.name}")
        return self.models.GetPromptResult.model_validate(prompt)

    async def complete(self, params: Any, ctx: Any) -> Any:
        context = getattr(params, "context", None)  # since 2025-06-18
        values = offer.complete(dumped(params.ref), dumped(params.argument), dumped(context) if context else {})
        completion = self.models.CompleteResultCompletion(values=values, total=len(values), has_more=False)
        return self.models.CompleteResult(completion=completion)

    async def on_roots_list_changed(self, params: Any, ctx: Any) -> None:
        self.roots_changes += 1

    def _text(self, words: str) -> Any:
        return self.models.CallToolResult(content=[self.models.TextContent(text=words)])


def dumped(model: Any) -> Json:
    """Return a model as it is on the wire."""
    found: Json = model.model_dump(mode="json")
    return found


def page(member: str, items: list[Json], params: Any) -> Json:
    """Return the page of a list at the cursor."""
    start = int(params.cursor) if params and params.cursor else 0
    answer: Json = {member: items[start : start + offer.PAGE]}
    if start + offer.PAGE < len(items):
        answer["nextCursor"] = str(start + offer.PAGE)
    return answer


class Everything20241105(Everything, v2024_11_05.Server):
    """Speaks 2024-11-05."""

    models = v2024_11_05


class Everything20250326(Everything, v2025_03_26.Server):
    """Speaks 2025-03-26."""

    models = v2025_03_26


class Everything20250618(Everything, v2025_06_18.Server):
    """Speaks 2025-06-18."""

    models = v2025_06_18


class Everything20251125(Everything, v2025_11_25.Server):
    """Speaks 2025-11-25."""

    models = v2025_11_25


def servers() -> tuple[Everything, ...]:
    """Return a server of each revision."""
    return Everything20241105(), Everything20250326(), Everything20250618(), Everything20251125()


def main() -> None:
    """Serve until the client disconnects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="REVISION")
    parser.add_argument("--http", action="store_true", help="serve over HTTP, and print the URL")
    parser.add_argument("--sse", action="store_true", help="serve over HTTP+SSE, and print the URL")
    given = parser.parse_args()
    only = given.only
    wanted = [own(server) for server in servers() if only in (None, server.revision)]
    if given.http or given.sse:
        path = "/sse" if given.sse else "/mcp"
        serve_http(*wanted, port=0, sse="/sse", grace=1, started=lambda url: print(f"{url}{path}", flush=True))
    else:
        serve_stdio(*wanted)


if __name__ == "__main__":
    main()
