"""A server written with the official SDK, of either generation, that offers everything in `offer`.

python sdk_server.py [--only REVISION] [--http | --sse]
"""

import argparse
import asyncio
import json
import socket
import warnings
from typing import Any

import mcp.server.stdio
import offer
import sdk
import uvicorn
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from offer import Json
from starlette.responses import Response

RESOURCE_NOT_FOUND = -32002
INVALID_PARAMS = -32602


class Interop:
    """The handlers and their state; the process has one client."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.roots_changes = 0
        self.subscribed: set[str] = set()
        self.threshold = "debug"

    def roots_changed(self) -> None:
        self.roots_changes += 1

    async def list_tools(self, client: sdk.Client, params: Json) -> Json:
        return page("tools", offer.tools(client.revision), params)

    async def call_tool(self, client: sdk.Client, params: Json) -> Any:
        tool = getattr(self, f"tool_{params['name']}", None)
        if tool is None:
            raise sdk.error(INVALID_PARAMS, f"unknown tool: {params['name']}")
        answer = await tool(client, params.get("arguments", {}), params.get("_meta", {}))
        return text(answer) if isinstance(answer, str) else answer

    async def tool_add(self, client: sdk.Client, arguments: Json, meta: Json) -> Json:
        total = arguments["a"] + arguments["b"]
        answer = text(str(total))
        if offer.since(client.revision, "2025-06-18"):
            answer["structuredContent"] = {"sum": total}
        return answer

    async def tool_ask_model(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        content = {"type": "text", "text": arguments["prompt"]}
        params: Json = {
            "messages": [{"role": "user", "content": content}],
            "maxTokens": 100,
            "systemPrompt": "Be brief.",
            "temperature": 0.5,
            "stopSequences": ["."],
            "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 1},
        }
        try:
            answer = await client.request("sampling/createMessage", params)
        except sdk.SdkError as refusal:
            return f"error {refusal.error.code}"
        return f"{answer['model']} ({answer['stopReason']}): {answer['content']['text']}"

    async def tool_ask_model_with_tools(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        question = {"role": "user", "content": {"type": "text", "text": "What is 1 + 2?"}}
        tool = {"name": "add", "inputSchema": offer.add_tool(client.revision)["inputSchema"]}
        params: Json = {"messages": [question], "maxTokens": 100, "tools": [tool], "toolChoice": {"mode": "auto"}}
        ask = ("sampling/createMessage", params)
        use = (await client.request(*ask, result="CreateMessageResultWithTools"))["content"]
        use = use[0] if isinstance(use, list) else use
        result = {**offer.TOOL_RESULT, "toolUseId": use["id"]}
        params["messages"] += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        answer = await client.request(*ask, result="CreateMessageResultWithTools")
        return str(answer["content"]["text"])

    async def tool_ask_user(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        params = {"message": arguments["question"], "requestedSchema": offer.FORM}
        answer = await client.request("elicitation/create", params)
        return json.dumps({"action": answer["action"], "content": answer.get("content")})

    async def tool_ask_user_elsewhere(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        params = {"mode": "url", "message": "Sign in", "url": "https://example.com/sign-in", "elicitationId": "e-1"}
        answer = await client.request("elicitation/create", params)
        await client.notify("notifications/elicitation/complete", {"elicitationId": "e-1"})
        return answer["action"]

    async def tool_cancelled_calls(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        return str(self.cancelled)

    async def tool_change_lists(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        for kind in ("tools", "resources", "prompts"):
            await client.notify(f"notifications/{kind}/list_changed")
        return "changed"

    async def tool_content(self, client: sdk.Client, arguments: Json, meta: Json) -> Json:
        return {"content": offer.content(client.revision)}

    async def tool_count(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        for step in range(1, arguments["steps"] + 1):
            progress: Json = {"progressToken": meta["progressToken"], "progress": step, "total": arguments["steps"]}
            if offer.since(client.revision, "2025-03-26"):
                progress["message"] = f"step {step}"
            await client.notify("notifications/progress", progress)
        return "counted"

    async def tool_echo_meta(self, client: sdk.Client, arguments: Json, meta: Json) -> Json:
        return {**text("see _meta"), "_meta": {"interop/echo": meta.get("interop/trace")}}

    async def tool_fail(self, client: sdk.Client, arguments: Json, meta: Json) -> Json:
        return {**text("it failed"), "isError": True}

    async def tool_log_all(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        for level in offer.LEVELS[offer.LEVELS.index(self.threshold) :]:
            await client.notify("notifications/message", {"level": level, "logger": "interop", "data": {"at": level}})
        return "logged"

    async def tool_ping_back(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        return json.dumps(await client.request("ping"))

    async def tool_roots(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        roots = await client.request("roots/list")
        return json.dumps({"changes": self.roots_changes, "roots": roots["roots"]})

    async def tool_slow(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        try:
            await client.notify("notifications/progress", {"progressToken": meta["progressToken"], "progress": 1})
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "slept"

    async def tool_slowly(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        report = {"progressToken": meta["progressToken"], "progress": 1}
        await client.notify("notifications/progress", report, on_its_stream=True)
        await asyncio.sleep(arguments["seconds"])
        return "done"

    async def tool_touch(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        if arguments["uri"] in self.subscribed:
            await client.notify("notifications/resources/updated", {"uri": arguments["uri"]})
        return "touched"

    async def tool_whoami(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        known = client.introduced
        features = offer.client_features(client.revision)
        asks = [name for name in features if name in known["capabilities"]]
        return json.dumps({"name": known["clientInfo"]["name"], "version": known["clientInfo"]["version"], "has": asks})

    async def tool_work(self, client: sdk.Client, arguments: Json, meta: Json) -> str:
        for _ in range(arguments["steps"]):
            await asyncio.sleep(0.05)
        return f"worked {arguments['steps']} steps"

    async def list_resources(self, client: sdk.Client, params: Json) -> Json:
        return page("resources", offer.resources(client.revision), params)

    async def list_templates(self, client: sdk.Client, params: Json) -> Json:
        return page("resourceTemplates", offer.TEMPLATES, params)

    async def read_resource(self, client: sdk.Client, params: Json) -> Json:
        contents = offer.read(params["uri"])
        if contents is None:
            raise sdk.error(RESOURCE_NOT_FOUND, "Resource not found", {"uri": params["uri"]})
        return {"contents": [contents]}

    async def subscribe(self, client: sdk.Client, params: Json) -> Json:
        self.subscribed.add(params["uri"])
        return {}

    async def unsubscribe(self, client: sdk.Client, params: Json) -> Json:
        self.subscribed.discard(params["uri"])
        return {}

    async def list_prompts(self, client: sdk.Client, params: Json) -> Json:
        return page("prompts", offer.prompts(client.revision), params)

    async def get_prompt(self, client: sdk.Client, params: Json) -> Json:
        arguments = params.get("arguments", {})
        if params["name"] == "greet" and "name" not in arguments:
            raise sdk.error(INVALID_PARAMS, "missing argument: name")
        answer = offer.prompt(params["name"], arguments)
        if answer is None:
            raise sdk.error(INVALID_PARAMS, f"unknown prompt: {params['name']}")
        return answer

    async def complete(self, client: sdk.Client, params: Json) -> Json:
        values = offer.complete(params["ref"], params["argument"], params.get("context", {}))
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    async def set_level(self, client: sdk.Client, params: Json) -> Json:
        self.threshold = params["level"]
        return {}


def text(words: str) -> Json:
    """Return a tool result with one text."""
    return {"content": [{"type": "text", "text": words}]}


def page(member: str, items: list[Json], params: Json) -> Json:
    """Return the page of a list at the cursor."""
    start = int(params.get("cursor", "0"))
    answer: Json = {member: items[start : start + offer.PAGE]}
    if start + offer.PAGE < len(items):
        answer["nextCursor"] = str(start + offer.PAGE)
    return answer


class Events(EventStore):
    """Keeps all events, so that streams can be resumed."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self.kept.append((stream_id, message))
        return str(len(self.kept))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        if not last_event_id.isdecimal() or not 0 < int(last_event_id) <= len(self.kept):
            return None
        stream = self.kept[int(last_event_id) - 1][0]
        for number, (stream_id, message) in enumerate(self.kept[int(last_event_id) :], int(last_event_id) + 1):
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def serve_http(server: Any) -> None:
    """Serve over HTTP until the process is ended."""
    # The session manager calls this itself for the options of the handshake.
    options = server.initialization()
    server.server.create_initialization_options = lambda *_, **__: options
    manager = StreamableHTTPSessionManager(server.server, event_store=Events(), retry_interval=100)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await manager.handle_request(scope, receive, send)

    config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    async with manager.run():
        await uvicorn.Server(config).serve([listener])


async def serve_sse(server: Any) -> None:
    """Serve over HTTP+SSE until the process is ended."""
    transport = SseServerTransport("/messages")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/sse", flush=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/messages":
            await transport.handle_post_message(scope, receive, send)
            return
        if scope["method"] != "GET":
            await Response(status_code=405)(scope, receive, send)
            return
        async with transport.connect_sse(scope, receive, send) as (reading, writing):
            await server.server.run(reading, writing, server.initialization())

    config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve([listener])


async def main() -> None:
    """Serve until the client closes the pipe."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="REVISION")
    parser.add_argument("--http", action="store_true", help="serve over HTTP, and print the URL")
    parser.add_argument("--sse", action="store_true", help="serve over HTTP+SSE, and print the URL")
    given = parser.parse_args()
    if only := given.only:
        sdk.allow_only(only)
    warnings.simplefilter("ignore")  # 2.x warns of every feature that the modern revision dropped.

    mine = Interop()
    server = sdk.new_server(offer.NAME, offer.VERSION, offer.INSTRUCTIONS)
    for method, handler in {
        "tools/list": mine.list_tools,
        "tools/call": mine.call_tool,
        "resources/list": mine.list_resources,
        "resources/templates/list": mine.list_templates,
        "resources/read": mine.read_resource,
        "resources/subscribe": mine.subscribe,
        "resources/unsubscribe": mine.unsubscribe,
        "prompts/list": mine.list_prompts,
        "prompts/get": mine.get_prompt,
        "completion/complete": mine.complete,
        "logging/setLevel": mine.set_level,
    }.items():
        server.answer(method, handler)
    server.notified("notifications/roots/list_changed", mine.roots_changed)
    if given.http:
        await serve_http(server)
        return
    if given.sse:
        await serve_sse(server)
        return
    async with mcp.server.stdio.stdio_server() as (reading, writing):
        await server.server.run(reading, writing, server.initialization())


asyncio.run(main())
