"""A client that begins without a handshake: what it learns, and what its calls can do."""

# pyright: reportDeprecated=false

import asyncio
import json

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import McpError, MissingCapability, RequestTimeout, UnsupportedRevision
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.memory import memory_pair
from support.own import own
from support.roles import make_server
from support.together import together

pytestmark = pytest.mark.usefixtures("virtual_time")


class Busy(v.Server):
    """Reports what it does, and waits if told to."""

    options = ServerOptions(name="busy", version="1", instructions="Be quick.", log_rate=None, progress_rate=None)

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended: list[str | None] = []

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        self.begun.set()
        await ctx.report_progress(1, 2, "half")
        await ctx.log("info", "at work")
        if params.name == "wait":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.ended.append(ctx.cancel_reason)
                raise
        return v.CallToolResult(content=[])


@pytest.mark.requirement("alone.logs-declared")
async def test_a_client_learns_about_its_server() -> None:
    async with together(v.Client, Busy()) as client:
        connection = client.connection
        assert (connection.revision, connection.instructions) == ("2026-07-28", "Be quick.")
        assert connection.peer_info == {"name": "busy", "version": "1"}
        assert sorted(client.capabilities) == ["logging", "tools"]
        with pytest.raises(MissingCapability, match=r"server\.prompts"):
            await client.list_prompts()


@pytest.mark.requirement("alone.cancel-told", "alone.cancel-own")
async def test_a_call_that_is_cancelled_or_late_is_cancelled_at_the_server() -> None:
    server = Busy()
    async with together(v.Client, server) as client:
        call = asyncio.create_task(client.call_tool(name="wait"))
        await server.begun.wait()
        call.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await call
        with pytest.raises(RequestTimeout):
            await client.call_tool(name="wait", options=CallOptions(timeout=0.01))
        await asyncio.sleep(0.01)
    assert server.ended == ["enough", "no answer within 0.01 s"]


@pytest.mark.requirement("modern.id-unique")
async def test_many_calls_share_one_stream() -> None:
    async with together(v.Client, Busy()) as client:
        results = await asyncio.gather(*(client.call_tool(name="x") for _ in range(64)))
    assert len(results) == 64


async def test_a_server_of_another_revision_refuses_and_nothing_stays_open() -> None:
    here, there = memory_pair()
    served = await start_server(there, own(make_server("2025-11-25")))
    peer = Peer(here)
    said = "this side speaks 2026-07-28, the server answered server/discover with an error: "
    with pytest.raises(UnsupportedRevision, match=said):
        await v.Client.open(peer, options=ClientOptions(timeout=5, revisions="own"))
    assert peer.connection is not None
    assert str(peer.connection.closed_because).startswith("the handshake failed:")
    await served.wait_closed()


@pytest.mark.requirement("modern.no-client-answers")
async def test_a_modern_client_answers_no_requests() -> None:
    here, there = memory_pair()
    server = Busy()
    served = await start_server(there, server)
    sent: list[bytes] = []

    def note(way: str, message: bytes) -> None:
        if way == "sent":
            sent.append(message)

    client = await v.Client.open(Peer(here), options=ClientOptions(trace=note))
    errors: list[McpError] = []
    client.connection.on_error(errors.append)
    before = len(sent)
    for method in ("ping", "roots/list", "elicitation/create"):
        there.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method}).encode())
    assert len(sent) == before and client.connection.open_requests == 0
    assert ["a server must not send requests" in str(error) for error in errors] == [True] * 3
    await client.connection.aclose()
    await served.wait_closed()
