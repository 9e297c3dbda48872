"""What the server of the conformance suite offers in every revision that has Streamable HTTP.

It has everything that the scenarios of the suite use, in their words; it does not know which one is running.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_runtime.core.errors import McpError, MissingCapability, PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import ServerHandlers

INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEMPLATE = "test://template/"
PAUSE = 0.05

NONE: dict[str, Any] = {"type": "object", "properties": {}}


def _texts(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
TOOLS: dict[str, dict[str, Any]] = {
    "test_simple_text": NONE,
    "test_image_content": NONE,
    "test_audio_content": NONE,
    "test_embedded_resource": NONE,
    "test_multiple_content_types": NONE,
    "test_tool_with_logging": NONE,
    "test_tool_with_progress": NONE,
    "test_error_handling": NONE,
    "test_sampling": _texts("prompt"),
    "test_elicitation": _texts("message"),
    "test_elicitation_sep1034_defaults": NONE,
    "test_elicitation_sep1330_enums": NONE,
    "test_reconnection": NONE,
    "json_schema_2020_12_tool": SCHEMA_2020_12,
}
RESOURCES: dict[str, dict[str, Any]] = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "It can be watched."},
}
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_TITLED = [
    {"const": "value1", "title": "First Option"},
    {"const": "value2", "title": "Second Option"},
    {"const": "value3", "title": "Third Option"},
]
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


NAME: dict[str, Any] = {
    "message": "What is your name?",
    "requestedSchema": {"type": "object", "properties": {}, "required": ["name"]},
}


class Everything(ServerHandlers):
    """The handlers, with the models of the client's revision."""

    options: ServerOptions | None = ServerOptions(name="conformance", version="1.0", progress_rate=None)
    models: Any
    """The package of the revision."""
    tools: Mapping[str, dict[str, Any]] = TOOLS
    prompts: Mapping[str, tuple[str, ...]] = PROMPTS

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        tools = [
            {"name": name, "description": f"{name}.", "inputSchema": schema} for name, schema in self.tools.items()
        ]
        return self.models.ListToolsResult(tools=tools)

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        tool: Callable[..., Awaitable[Any]] | None = getattr(self, params.name, None)
        if params.name not in self.tools or tool is None:
            raise PeerError(INVALID_PARAMS, f"unknown tool: {params.name}")
        try:
            content, is_error = await tool(ctx, **(params.arguments or {})), False
        except MissingCapability:
            raise
        except (McpError, RuntimeError) as error:
            content, is_error = text_of(str(error)), True
        return self.models.CallToolResult(content=content, is_error=is_error)

    async def test_simple_text(self, ctx: Any) -> Any:
        return text_of("This is a simple text response for testing.")

    async def test_image_content(self, ctx: Any) -> Any:
        return [{"type": "image", "data": PNG, "mimeType": "image/png"}]

    async def test_audio_content(self, ctx: Any) -> Any:
        return [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]

    async def test_embedded_resource(self, ctx: Any) -> Any:
        text = "This is an embedded resource content."
        return [_resource("test://embedded-resource", "text/plain", text)]

    async def test_multiple_content_types(self, ctx: Any) -> Any:
        text = json.dumps({"test": "data", "value": 123})
        return [
            *text_of("Multiple content types test:"),
            *(await self.test_image_content(ctx)),
            _resource("test://mixed-content-resource", "application/json", text),
        ]

    async def test_tool_with_logging(self, ctx: Any) -> Any:
        await ctx.log("info", "Tool execution started")
        await asyncio.sleep(PAUSE)
        await ctx.log("info", "Tool processing data")
        await asyncio.sleep(PAUSE)
        await ctx.log("info", "Tool execution completed")
        return text_of("It logged three messages.")

    async def test_tool_with_progress(self, ctx: Any) -> Any:
        for progress in (0, 50, 100):
            await ctx.report_progress(progress, 100)
            await asyncio.sleep(PAUSE)
        return text_of("It reported its progress.")

    async def test_error_handling(self, ctx: Any) -> Any:
        raise RuntimeError("This tool intentionally returns an error for testing")

    async def test_sampling(self, ctx: Any, prompt: str) -> Any:
        content = self.models.TextContent(text=prompt)
        message = self.models.SamplingMessage(role="user", content=content)
        answer = await ctx.client.create_message(messages=[message], max_tokens=100)
        return text_of(f"LLM response: {answer.content.text}")

    async def test_elicitation(self, ctx: Any, message: str) -> Any:
        properties = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        answer = await self._elicit(ctx, message, properties, ["username", "email"])
        return text_of(f"User response: action={answer.action}, content={json.dumps(answer.content)}")

    async def test_elicitation_sep1034_defaults(self, ctx: Any) -> Any:
        return await self._completed(ctx, DEFAULTS)

    async def test_elicitation_sep1330_enums(self, ctx: Any) -> Any:
        return await self._completed(ctx, ENUMS)

    async def test_reconnection(self, ctx: Any) -> Any:
        ctx.close_stream()
        await asyncio.sleep(PAUSE)
        return text_of("The stream was closed meanwhile.")

    async def json_schema_2020_12_tool(self, ctx: Any, **arguments: Any) -> Any:
        return text_of(f"It got {sorted(arguments)}.")

    async def _completed(self, ctx: Any, properties: dict[str, Any]) -> Any:
        answer = await self._elicit(ctx, "Fill in the form", properties, [])
        return text_of(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")

    async def _elicit(self, ctx: Any, message: str, properties: dict[str, Any], required: list[str]) -> Any:
        method = self.models.METHODS["elicitation/create"]
        schema = {"type": "object", "properties": properties, "required": required}
        params = method.params.build({"message": message, "requestedSchema": schema})
        return await ctx.connection.request(method, params, None)

    async def list_resources(self, params: Any, ctx: Any) -> Any:
        resources = [
            {"uri": uri, "name": uri, "description": "A resource.", "mimeType": found["mimeType"]}
            for uri, found in RESOURCES.items()
        ]
        return self.models.ListResourcesResult(resources=resources)

    async def list_resource_templates(self, params: Any, ctx: Any) -> Any:
        template = {
            "uriTemplate": f"{TEMPLATE}{{id}}/data",
            "name": "data",
            "description": "A template.",
            "mimeType": "application/json",
        }
        return self.models.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, params: Any, ctx: Any) -> Any:
        found = RESOURCES.get(params.uri)
        id_ = params.uri.removeprefix(TEMPLATE).removesuffix("/data")
        if found is None and params.uri == f"{TEMPLATE}{id_}/data" and id_:
            text = json.dumps({"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"})
            found = {"mimeType": "application/json", "text": text}
        if found is None:
            raise PeerError(RESOURCE_NOT_FOUND, "there is no such resource", {"uri": params.uri})
        return self.models.ReadResourceResult(contents=[{"uri": params.uri, **found}])

    async def subscribe(self, params: Any, ctx: Any) -> Any:
        return self.models.EmptyResult()

    async def unsubscribe(self, params: Any, ctx: Any) -> Any:
        return self.models.EmptyResult()

    async def list_prompts(self, params: Any, ctx: Any) -> Any:
        prompts = [
            {
                "name": name,
                "description": f"{name}.",
                "arguments": [{"name": one, "description": f"{one}.", "required": True} for one in arguments],
            }
            for name, arguments in self.prompts.items()
        ]
        return self.models.ListPromptsResult(prompts=prompts)

    async def get_prompt(self, params: Any, ctx: Any) -> Any:
        given: dict[str, str] = params.arguments or {}
        if params.name not in self.prompts or set(self.prompts[params.name]) - given.keys():
            raise PeerError(INVALID_PARAMS, f"unknown prompt, or a missing argument: {params.name}")
        contents = await getattr(self, params.name)(ctx, **given)
        messages = [{"role": "user", "content": content} for content in contents]
        return self.models.GetPromptResult(messages=messages)

    async def test_simple_prompt(self, ctx: Any) -> Any:
        return text_of("This is a simple prompt for testing.")

    async def test_prompt_with_arguments(self, ctx: Any, arg1: str, arg2: str) -> Any:
        return text_of(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")

    async def test_prompt_with_embedded_resource(self, ctx: Any, **arguments: str) -> Any:
        text = "Embedded resource content for testing."
        resource = _resource(arguments["resourceUri"], "text/plain", text)
        return [resource, *text_of("Please process the embedded resource above.")]

    async def test_prompt_with_image(self, ctx: Any) -> Any:
        return [*(await self.test_image_content(ctx)), *text_of("Please analyze the image above.")]

    async def complete(self, params: Any, ctx: Any) -> Any:
        values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
        completion = {"values": values, "total": len(values), "hasMore": False}
        return self.models.CompleteResult(completion=completion)


def text_of(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _resource(uri: str, type_: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": type_, "text": text}}
