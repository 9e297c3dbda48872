"""A server and a client, bridged or not, in memory; every message is validated against the negotiated revision."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bridge.messages import accepts
from differential.subjects import subject
from mcp_bindings import v2025_11_25 as newest
from mcp_bindings.v2025_11_25 import Context, Server
from mcp_runtime.bridge import Bridging, Loss, MissingInRevision, NotExpressible
from mcp_runtime.core.binding import Revisions
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import Handlers
from mcp_runtime.memory import memory_pair
from support.own import own, speaking
from support.talk import bindings

OPENING = frozenset(("initialize", "server/discover"))
SOUND = newest.AudioContent(data="AAAA", mime_type="audio/wav")
LINK = newest.ResourceLink(name="notes", uri="memo://notes", title="Notes", mime_type="text/plain")
COLOURS = newest.TitledSingleSelectEnumSchema(
    one_of=[newest.TitledSingleSelectEnumSchemaOneOf(const=c, title=c.upper()) for c in ("red", "blue")]
)
MANY = newest.UntitledMultiSelectEnumSchema(
    items=newest.UntitledMultiSelectEnumSchemaItems(enum=["red", "blue"]), min_items=1
)


def form(**properties: Any) -> newest.ElicitRequestFormParamsRequestedSchema:
    """Make the schema of a form."""
    return newest.ElicitRequestFormParamsRequestedSchema(properties=properties)


class Everything(Server):
    """A server of 2025-11-25 that uses features that older revisions lack."""

    options = ServerOptions(name="everything", version="1", strict=True, check_sent=True, list_changed=True)

    async def list_tools(self, params: newest.PaginatedRequestParams | None, ctx: Context) -> newest.ListToolsResult:
        schema = newest.ToolInputSchema()
        tool = newest.Tool(name="speak", title="Speak", input_schema=schema, icons=[newest.Icon(src="data:,x")])
        return newest.ListToolsResult(tools=[tool])

    async def call_tool(self, params: newest.CallToolRequestParams, ctx: Context) -> newest.CallToolResult:
        return await getattr(self, f"tool_{params.name}")(ctx)  # type: ignore[no-any-return]

    async def tool_speak(self, ctx: Context) -> newest.CallToolResult:
        return newest.CallToolResult(content=[SOUND, LINK], structured_content={"said": True})

    async def tool_ask(self, ctx: Context) -> newest.CallToolResult:
        try:
            answer = await ctx.client.elicit(message="Which?", requested_schema=form(colour=COLOURS))
        except MissingInRevision as error:
            return _text(f"{error.method} is not in {error.revision}")
        except MissingCapability as error:
            return _text(f"no {error.capability}")
        return _text(json.dumps(answer.content))

    async def tool_ask_many(self, ctx: Context) -> newest.CallToolResult:
        try:
            await ctx.client.elicit(message="Which?", requested_schema=form(colours=MANY))
        except (NotExpressible, MissingInRevision) as error:
            return _text(type(error).__name__)
        return _text("asked")

    async def tool_sample(self, ctx: Context) -> newest.CallToolResult:
        message = newest.SamplingMessage(role="user", content=[newest.TextContent(text="Listen:"), SOUND])
        answer = await ctx.client.create_message(messages=[message], max_tokens=9)
        assert isinstance(answer.content, newest.TextContent)
        return _text(answer.content.text)

    async def get_prompt(self, params: newest.GetPromptRequestParams, ctx: Context) -> newest.GetPromptResult:
        return newest.GetPromptResult(messages=[newest.PromptMessage(role="user", content=LINK)])

    async def list_prompts(
        self, params: newest.PaginatedRequestParams | None, ctx: Context
    ) -> newest.ListPromptsResult:
        return newest.ListPromptsResult(prompts=[newest.Prompt(name="read", title="Read")])

    async def read_resource(self, params: newest.ReadResourceRequestParams, ctx: Context) -> newest.ReadResourceResult:
        return newest.ReadResourceResult(contents=[newest.TextResourceContents(uri=params.uri, text="Notes.")])

    async def list_resources(
        self, params: newest.PaginatedRequestParams | None, ctx: Context
    ) -> newest.ListResourcesResult:
        return newest.ListResourcesResult(resources=[newest.Resource(name="notes", uri="memo://notes", title="Notes")])

    async def complete(self, params: newest.CompleteRequestParams, ctx: Context) -> newest.CompleteResult:
        return newest.CompleteResult(completion=newest.CompleteResultCompletion(values=[params.argument.value + "o"]))


def _text(words: str) -> newest.CallToolResult:
    return newest.CallToolResult(content=[newest.TextContent(text=words)])


@dataclass(slots=True)
class Conversation:
    """Both ends, the losses that either side reported, and every message that the client sent or received."""

    client: Any
    server: Connection
    losses: list[Loss]
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def judge(self, revision: str) -> int:
        """Return how many messages there were, all valid in a revision."""
        tried = subject(revision)
        methods = {method.name: method for method in tried.protocol.methods}
        asked: dict[Any, str] = {}
        for message in self.messages:
            if message.get("method") in OPENING - methods.keys():
                continue  # before the peer's revision was known
            if "method" in message:
                method = methods[message["method"]]
                if "id" in message:
                    asked[message["id"], _way(message)] = method.name
                if "params" in message:
                    assert method.params
                    assert accepts(tried, (method.params,), message["params"]), message
            elif "result" in message and (message["id"], _back(message)) in asked:
                method = methods[asked[message["id"], _back(message)]]
                assert accepts(tried, (method.result or "", *method.alternatives), message["result"]), message
        return len(self.messages)

    def result_of(self, method: str) -> Any:
        """Return the last result of a method, as it was on the wire."""
        ids = {m["id"]: _way(m) for m in self.messages if m.get("method") == method and "id" in m}
        return [m["result"] for m in self.messages if "result" in m and ids.get(m["id"]) == _back(m)][-1]

    def params_of(self, method: str) -> Any:
        """Return the last params of a method, as they were on the wire."""
        return [m["params"] for m in self.messages if m.get("method") == method][-1]


def _way(message: dict[str, Any]) -> str:
    return str(message["way"])


def _back(message: dict[str, Any]) -> str:
    return "received" if message["way"] == "sent" else "sent"


@asynccontextmanager
async def converse(
    server: Any,
    revision: str,
    *,
    handlers: Handlers | None = None,
    bridged: Revisions | None = None,
    losses: list[Loss] | None = None,
    revisions: Sequence[str] | None = None,
    policy: Any = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> AsyncGenerator[Conversation]:
    """Connect a strict client of a revision; the server is bridged unless the client is."""
    here, there = memory_pair()
    reported: list[Loss] = [] if losses is None else losses
    messages: list[dict[str, Any]] = []

    def trace(way: str, message: bytes) -> None:
        parsed = json.loads(message)
        assert is_object(parsed)
        messages.append({**parsed, "way": way})

    offered = None if revisions is None else tuple(revisions)
    bridging = Bridging(revisions=offered, policy=policy or {}, on_loss=reported.append)
    served = own(server) if bridged else speaking(server, bridging)
    connection = await start_server(there, served)
    said = ClientOptions(strict=True, check_sent=True, trace=trace, revisions=bridged or "own", **options)
    client = await bindings(revision).Client.open(Peer(here), handlers=handlers, options=said)
    try:
        yield Conversation(client=client, server=connection, losses=reported, messages=messages)
    finally:
        await client.connection.aclose()
        await connection.aclose()
