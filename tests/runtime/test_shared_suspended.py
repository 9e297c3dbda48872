"""Suspended handlers whose clients come back over another connection, as over HTTP: `Suspended(shared=True)`."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import connections_of
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions, Suspended
from support.asking import FORM, YES, Known, Line, asked, meta, text
from support.channels import Streams
from support.stdio_peers import eventually

pytestmark = pytest.mark.usefixtures("virtual_time")


class Desk(v.Server):
    def __init__(self, **settings: Any) -> None:
        inputs = Suspended(**{"shared": True, **settings})
        self.options = ServerOptions(log_rate=None, progress_rate=None, inputs=inputs)
        self.done: list[str] = []
        self.ended: list[str | None] = []

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        client, said = ctx.client, list[str]()  # kept from the first connection on

        async def ask(message: str) -> None:
            said.append(f"{message} {(await client.elicit(message=message, requested_schema=FORM)).action}")

        try:
            match params.name:
                case "thrice":
                    for number in range(3):
                        await ask(f"q{number}")
                        self.done.append(f"charged {number}")
                        await ctx.report_progress(number)
                        await ctx.log("info", f"log {number}")
                        assert ctx.connection in connections_of(self)
                case "meanwhile":
                    talking = asyncio.ensure_future(self.talk(ctx))
                    await asyncio.gather(ask("first"), talking)
                    await ask("second")
                case "slow":
                    await ask("q")
                    await asyncio.sleep(30)
                case "fails":
                    await ask("q")
                    raise PeerError(-7, "no luck")
                case _:
                    await ask("q")
        except asyncio.CancelledError:
            self.ended.append(ctx.cancel_reason)
            raise
        return v.CallToolResult(content=[v.TextContent(text=" ".join(said))])

    async def talk(self, ctx: v.Context) -> None:
        """Log and ask while no request is open and the connection is gone."""
        await asyncio.sleep(0.05)
        await ctx.log("info", "meanwhile")
        await ctx.report_progress(0.5)
        await ctx.client.elicit(message="late", requested_schema=FORM)
        self.done.append("talked")


@asynccontextmanager
async def connected(server: Desk) -> AsyncGenerator[Line]:
    """Connect a client; its connection ends, and suspended handlers stay."""
    streams = Streams()
    connection = await start_server(streams, server)
    try:
        yield Line(streams, connection)
    finally:
        async with asyncio.timeout(5):
            await connection.aclose()


async def once(server: Desk, name: str, by: str | None = None, **params: Any) -> Any:
    """Send a request over a separate connection."""
    async with connected(server) as client:
        return await client.call(name, channel=Known(by) if by else None, **params)


def answered(message: Any) -> dict[str, Any]:
    questions, state = asked(message)
    return {"requestState": state, "inputResponses": dict.fromkeys(questions.values(), YES)}


async def test_each_round_comes_over_another_connection() -> None:
    server, before = Desk(), asyncio.all_tasks()
    message = await once(server, "thrice", "ada")
    for number in range(2):
        assert list(asked(message)[0]) == [f"q{number}"] and connections_of(server) == ()
        message = await once(server, "thrice", "ada", **answered(message))
    async with connected(server) as client:
        channel, wants = Known("ada"), {**meta(logLevel="info"), "progressToken": "t"}
        got = await client.over(channel, "thrice", _meta=wants, **answered(message))
        assert [m.get("method") for m in got] == ["notifications/progress", "notifications/message", None]
        assert text(got[-1]) == "q0 accept q1 accept q2 accept" and client.connection.open_requests == 0
    assert server.done == ["charged 0", "charged 1", "charged 2"] and server.ended == []
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


async def test_a_handler_may_log_and_ask_without_a_connection() -> None:
    server = Desk()
    message = await once(server, "meanwhile", _meta={**meta(logLevel="info"), "progressToken": "t"})
    assert list(asked(message)[0]) == ["first"]
    await asyncio.sleep(0.1)
    message = await once(server, "meanwhile", **answered(message))
    assert list(asked(message)[0]) == ["late"]
    message = await once(server, "meanwhile", **answered(message))
    assert list(asked(message)[0]) == ["second"]
    assert text(await once(server, "meanwhile", **answered(message))) == "first accept second accept"
    assert server.done == ["talked"]


async def test_a_suspended_request_is_bound_to_its_principal_and_used_once() -> None:
    server = Desk()
    retry = answered(await once(server, "once", "ada"))
    for by in ("bob", None):
        assert (await once(server, "once", by, **retry))["error"]["code"] == -32602
    assert text(await once(server, "once", "ada", **retry)) == "q accept"
    assert (await once(server, "once", "ada", **retry))["error"]["code"] == -32602


async def test_quotas_count_over_all_connections() -> None:
    server = Desk(per_peer=2, overall=3, expiry=1)

    async def ended_by(*askers: str | None) -> int:
        for by in askers:
            assert "result" in await once(server, "once", by)
        await asyncio.sleep(0)
        return len(server.ended)

    assert await ended_by("ada", "ada") == 0
    assert await ended_by("ada") == 1
    assert await ended_by("bob") == 1
    assert await ended_by("eve") == 2, "three are all, and ada has the most"
    await eventually(lambda: len(server.ended) == 5)
    assert server.ended[2:] == ["the client did not come back within 1 s"] * 3
    assert await ended_by(None, None, None) == 6, "without a name all are one"
    assert text(await once(server, "once", "bob", **answered(await once(server, "once", "bob")))) == "q accept"


@pytest.mark.slow
async def test_abandoned_requests_leave_nothing() -> None:
    server, before = Desk(expiry=0.1, per_peer=1000), len(asyncio.all_tasks())
    for _ in range(200):
        await once(server, "once")
    assert len(asyncio.all_tasks()) > before
    await eventually(lambda: len(server.ended) == 200)
    gc.collect()
    assert len(asyncio.all_tasks()) <= before


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
async def test_no_connection_is_kept(shared: bool) -> None:
    server = Desk(shared=shared)
    async with connected(server) as client:
        kept = weakref.ref(client.connection)
        await client.call("once", **answered(await client.call("once")))
    del client
    await asyncio.sleep(0)
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("name", ["once", "meanwhile"])
async def test_an_unshared_handler_ends_with_its_connection(name: str) -> None:
    server = Desk(shared=False)
    retry = answered(await once(server, name))
    assert server.ended == ["closed by this side"]
    assert (await once(server, name, **retry))["error"]["code"] == -32602


async def test_another_connection_cannot_resume_an_unshared_handler() -> None:
    server = Desk(shared=False)
    async with connected(server) as client:
        retry = answered(await client.call("once"))
        assert (await once(server, "once", **retry))["error"]["code"] == -32602
        assert text(await client.call("once", **retry)) == "q accept"


def test_another_event_loop_cannot_resume_a_handler() -> None:
    server = Desk()

    async def begin() -> dict[str, Any]:
        return answered(await once(server, "once"))

    retry = asyncio.run(begin())
    assert server.ended == [None], "the end of its event loop ends it"
    assert asyncio.run(once(server, "once", **retry))["error"]["code"] == -32602
