"""What the server offers in 2026-07-28: handlers that ask clients in results, and subscriptions to changes."""

import asyncio
from collections.abc import Mapping
from typing import Any

from conformance.everything import NAME, NONE, Everything, text_of
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.settings import ServerOptions

ASKING = "test_input_required_result_"
REGION = {"type": "string", "x-mcp-header": "Region"}


class Everything20260728(Everything, v.Server):
    """The handlers of every revision, and those that only this one has."""

    models: Any = v
    options: ServerOptions | None = ServerOptions(
        name="conformance", version="1.0", progress_rate=None, list_changed=True
    )
    tools: Mapping[str, dict[str, Any]] = {
        **Everything.tools,
        **{f"{ASKING}{name}": NONE for name in ("elicitation", "sampling", "list_roots", "request_state")},
        **{f"{ASKING}{name}": NONE for name in ("multiple_inputs", "multi_round", "tampered_state", "capabilities")},
        "test_missing_capability": NONE,
        "test_streaming_elicitation": NONE,
        "test_logging_tool": NONE,
        "test_trigger_tool_change": NONE,
        "test_trigger_prompt_change": NONE,
        "test_custom_header": {"type": "object", "properties": {"region": REGION}, "required": ["region"]},
    }
    prompts: Mapping[str, tuple[str, ...]] = {**Everything.prompts, f"{ASKING}prompt": ()}

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        if params.name == f"{ASKING}elicitation":
            return self._greet(params.input_responses)
        return await super().call_tool(params, ctx)

    def _greet(self, answers: Any) -> Any:
        """Ask for a name by hand, without a state: the client's answer tells how far the call has got."""
        given: dict[str, Any] = answers or {}
        content: Any = getattr(given.get("user_name"), "content", None) or {}
        if "name" in content:
            return self.models.CallToolResult(content=text_of(f"Hello, {content['name']}!"))
        asked: dict[str, Any] = {"user_name": {"method": "elicitation/create", "params": NAME}}
        return self.models.InputRequiredResult(input_requests=asked)

    async def test_input_required_result_sampling(self, ctx: Any) -> Any:
        return await self.test_sampling(ctx, "What is the capital of France?")

    async def test_input_required_result_list_roots(self, ctx: Any) -> Any:
        found = await ctx.client.list_roots()
        return text_of(f"roots: {[root.uri for root in found.roots]}")

    async def test_input_required_result_request_state(self, ctx: Any) -> Any:
        await self._confirmed(ctx, "Please confirm", "ok")
        return text_of("state-ok")

    async def test_input_required_result_tampered_state(self, ctx: Any) -> Any:
        return await self.test_input_required_result_request_state(ctx)

    async def test_input_required_result_multiple_inputs(self, ctx: Any) -> Any:
        questions = (
            self._confirmed(ctx, "What is your name?", "name"),
            self.test_sampling(ctx, "Generate a greeting"),
            ctx.client.list_roots(),
        )
        await asyncio.gather(*questions)
        return text_of("It has all three.")

    async def test_input_required_result_multi_round(self, ctx: Any) -> Any:
        await self._confirmed(ctx, "Step 1: What is your name?", "name")
        await self._confirmed(ctx, "Step 2: What is your favorite color?", "color")
        return text_of("It has both.")

    async def test_input_required_result_capabilities(self, ctx: Any) -> Any:
        try:
            await self._confirmed(ctx, "Please confirm", "ok")
        except MissingCapability:
            return await self.test_sampling(ctx, "hello")
        return text_of("It has a form.")

    async def test_input_required_result_prompt(self, ctx: Any) -> Any:
        await self._confirmed(ctx, "What context should the prompt use?", "context")
        return text_of("It has a context.")

    async def test_missing_capability(self, ctx: Any) -> Any:
        return await self.test_sampling(ctx, "hello")

    async def test_streaming_elicitation(self, ctx: Any) -> Any:
        await ctx.report_progress(1, 2)
        return await self.test_input_required_result_request_state(ctx)

    async def test_logging_tool(self, ctx: Any) -> Any:
        return await self.test_tool_with_logging(ctx)

    async def test_trigger_tool_change(self, ctx: Any) -> Any:
        return text_of(f"told {await list_changed(self, 'tools')}")

    async def test_trigger_prompt_change(self, ctx: Any) -> Any:
        return text_of(f"told {await list_changed(self, 'prompts')}")

    async def test_custom_header(self, ctx: Any, region: str) -> Any:
        return text_of(region)

    async def _confirmed(self, ctx: Any, message: str, name: str) -> Any:
        properties: dict[str, Any] = {name: v.BooleanSchema() if name == "ok" else v.StringSchema()}
        schema = v.ElicitRequestFormParamsRequestedSchema(properties=properties, required=[name])
        return await ctx.client.elicit(message=message, requested_schema=schema)
