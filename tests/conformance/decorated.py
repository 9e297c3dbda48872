"""The server of the conformance suite as one `App` of the newest revision, which is bridged to the others."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from conformance.everything import DEFAULTS, ENUMS, NAME, PAUSE, PNG, SCHEMA_2020_12, TEMPLATE, WAV
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.app import ToolFailure
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.skills import Skills
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks

SKILLS = Path(__file__).parents[2] / "examples" / "skills"

app = v.App(
    "conformance",
    version="1.0",
    options=ServerOptions(progress_rate=None),
    extensions=[Skills(SKILLS), Tasks(MemoryTaskStore(poll_interval=0.1))],
)
image = v.ImageContent(data=PNG, mime_type="image/png")


def resource(uri: str, type_: str, text: str) -> v.EmbeddedResource:
    return v.EmbeddedResource(resource=v.TextResourceContents(uri=uri, mime_type=type_, text=text))


@app.tool()
def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


@app.tool()
def test_image_content() -> v.ImageContent:
    """An image."""
    return image


@app.tool()
def test_audio_content() -> v.AudioContent:
    """A sound."""
    return v.AudioContent(data=WAV, mime_type="audio/wav")


@app.tool()
def test_embedded_resource() -> v.EmbeddedResource:
    """A resource."""
    return resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@app.tool()
def test_multiple_content_types() -> list[v.ImageContent | v.EmbeddedResource | str]:
    """All of these."""
    data = json.dumps({"test": "data", "value": 123})
    return [
        "Multiple content types test:",
        image,
        resource("test://mixed-content-resource", "application/json", data),
    ]


@app.tool()
async def test_tool_with_logging(ctx: v.Context) -> str:
    """Log three messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.log("info", text)
        await asyncio.sleep(PAUSE)
    return "It logged three messages."


@app.tool()
async def test_tool_with_progress(ctx: v.Context) -> str:
    """Report progress."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
        await asyncio.sleep(PAUSE)
    return "It reported its progress."


@app.tool()
def test_error_handling() -> str:
    """Fail."""
    raise ToolFailure("This tool intentionally returns an error for testing")


@app.tool()
async def test_sampling(prompt: str, ctx: v.Context) -> str:
    """Ask the model."""
    return f"LLM response: {await ctx.sample(prompt)}"


async def elicited(ctx: v.Context, message: str, schema: Mapping[str, Any]) -> str:
    form = v.ElicitRequestFormParamsRequestedSchema.model_validate({"type": "object", **schema})
    answer = await ctx.client.elicit(message=message, requested_schema=form)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@app.tool()
async def test_elicitation(message: str, ctx: v.Context) -> str:
    """Ask the user."""
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    schema = {"properties": properties, "required": ["username", "email"]}
    return f"User response: {await elicited(ctx, message, schema)}"


@app.tool()
async def test_elicitation_sep1034_defaults(ctx: v.Context) -> str:
    """Ask with defaults."""
    return f"Elicitation completed: {await elicited(ctx, 'Fill in the form', {'properties': DEFAULTS})}"


@app.tool()
async def test_elicitation_sep1330_enums(ctx: v.Context) -> str:
    """Ask for choices."""
    return f"Elicitation completed: {await elicited(ctx, 'Fill in the form', {'properties': ENUMS})}"


@app.tool()
async def test_reconnection(ctx: v.Context) -> str:
    """Close the stream in the middle of the call."""
    ctx.close_stream()
    await asyncio.sleep(PAUSE)
    return "The stream was closed meanwhile."


@app.tool(input_schema=SCHEMA_2020_12)
def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Take what a schema says that no signature can."""
    return f"It got {sorted(arguments)}."


@app.tool()
def test_custom_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Take an argument that is a header too."""
    return region


@app.tool()
async def test_missing_capability(ctx: v.Context) -> str:
    """Ask the model of a client that has none."""
    return await ctx.sample("hello")


@app.tool()
async def test_logging_tool(ctx: v.Context) -> str:
    """Log three messages."""
    return await test_tool_with_logging(ctx)


@app.tool()
async def test_trigger_tool_change() -> str:
    """Say that the tools have changed."""
    return f"told {await list_changed(app, 'tools')}"


@app.tool()
async def test_trigger_prompt_change() -> str:
    """Say that the prompts have changed."""
    return f"told {await list_changed(app, 'prompts')}"


async def confirmed(ctx: v.Context, message: str, name: str) -> None:
    stated: Mapping[str, Any] = {"type": "boolean"} if name == "ok" else {"type": "string"}
    await elicited(ctx, message, {"properties": {name: stated}, "required": [name]})


@app.tool()
def test_input_required_result_elicitation(ctx: v.Context) -> str | v.InputRequiredResult:
    """Ask for a name without a state: the answer alone tells how far the call has got."""
    answers: Mapping[str, Any] = ctx.exchange.params.input_responses or {}
    content: Mapping[str, Any] = getattr(answers.get("user_name"), "content", None) or {}
    if "name" in content:
        return f"Hello, {content['name']}!"
    asked: Any = {"user_name": {"method": "elicitation/create", "params": NAME}}
    return v.InputRequiredResult(input_requests=asked)


@app.tool()
async def test_input_required_result_sampling(ctx: v.Context) -> str:
    """Ask the model."""
    return await ctx.sample("What is the capital of France?")


@app.tool()
async def test_input_required_result_list_roots(ctx: v.Context) -> str:
    """Ask for the roots."""
    found = await ctx.client.list_roots()  # pyright: ignore[reportDeprecated]
    return f"roots: {[root.uri for root in found.roots]}"


@app.tool()
async def test_input_required_result_request_state(ctx: v.Context) -> str:
    """Ask with a state."""
    await confirmed(ctx, "Please confirm", "ok")
    return "state-ok"


@app.tool()
async def test_input_required_result_tampered_state(ctx: v.Context) -> str:
    """Ask with a state that nobody can change."""
    return await test_input_required_result_request_state(ctx)


@app.tool()
async def test_streaming_elicitation(ctx: v.Context) -> str:
    """Ask on a stream."""
    await ctx.report_progress(1, 2)
    return await test_input_required_result_request_state(ctx)


@app.tool()
async def test_input_required_result_multiple_inputs(ctx: v.Context) -> str:
    """Ask three questions at once."""
    name = confirmed(ctx, "What is your name?", "name")
    roots = ctx.client.list_roots()  # pyright: ignore[reportDeprecated]
    await asyncio.gather(name, ctx.sample("Generate a greeting"), roots)
    return "It has all three."


@app.tool()
async def test_input_required_result_multi_round(ctx: v.Context) -> str:
    """Ask one question after the other."""
    await confirmed(ctx, "Step 1: What is your name?", "name")
    await confirmed(ctx, "Step 2: What is your favorite color?", "color")
    return "It has both."


@app.tool()
async def test_input_required_result_capabilities(ctx: v.Context) -> str:
    """Ask whoever can be asked."""
    try:
        await confirmed(ctx, "Please confirm", "ok")
    except MissingCapability:
        return await ctx.sample("hello")
    return "It has a form."


@app.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@app.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return image.bytes


@app.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text that can be watched."""
    return "It can be watched."


@app.subscription()
def watch(uri: str) -> None:
    """Let everything be watched."""


@app.resource(f"{TEMPLATE}{{id}}/data", mime_type="application/json")
def data(id: str) -> dict[str, Any]:
    """Any data."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@app.prompt()
def test_simple_prompt() -> str:
    """A prompt."""
    return "This is a simple prompt for testing."


@app.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@app.completion("arg1", prompt="test_prompt_with_arguments")
def words(value: str) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


@app.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[v.EmbeddedResource | str]:
    """A prompt with a resource."""
    text = "Embedded resource content for testing."
    return [resource(resourceUri, "text/plain", text), "Please process the embedded resource above."]


@app.prompt()
def test_prompt_with_image() -> list[v.ImageContent | str]:
    """A prompt with an image."""
    return [image, "Please analyze the image above."]


@app.prompt()
async def test_input_required_result_prompt(ctx: v.Context) -> str:
    """A prompt that asks."""
    await confirmed(ctx, "What context should the prompt use?", "context")
    return "It has a context."
