"""Listening for changes (2026-07-28, basic/patterns/subscriptions), alongside sessions that subscribe."""

import asyncio
import json
import logging
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.changes.listen import Change
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import ConnectionClosed, LocalProtocolError, RequestTimeout
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.memory import memory_pair
from mcp_runtime.middleware.log_handler import McpLogHandler
from support.channels import Stream, Streams
from support.posting import answer, post
from support.roles import make_server, returns
from support.talk import raw
from support.together import together

PREFIX = "io.modelcontextprotocol/"
META: dict[str, Any] = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": {}}
ALL = ServerOptions(name="all", version="1", list_changed=True, resource_updates=True)
CHANGES: dict[str, Any] = {
    "list_tools": returns("ListToolsResult", tools=[], resultType="complete", ttlMs=0, cacheScope="private"),
    "list_resources": returns(
        "ListResourcesResult", resources=[], resultType="complete", ttlMs=0, cacheScope="private"
    ),
}


def shop(options: ServerOptions = ALL) -> Any:
    return make_server("2026-07-28", options, **CHANGES)


def listen(id_: Any, **wanted: Any) -> dict[str, Any]:
    return {"id": id_, "method": "subscriptions/listen", "params": {"_meta": META, "notifications": wanted}}


def tagged(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    meta = {"_meta": {f"{PREFIX}subscriptionId": id_}}
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": {**meta, **params}}


async def got(channel: Stream, count: int) -> list[Any]:
    async with asyncio.timeout(5):
        while len(channel.got) < count:
            await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(channel.got) == count
    return channel.got


class TestServer:
    @pytest.mark.requirement("listening.asked-for", "listening.acknowledged", "listening.tagged")
    async def test_only_requested_and_supported_changes_are_reported_with_a_tag(self) -> None:
        server = shop()
        streams = Streams()
        connection = await start_server(streams, server)
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:/x"]}
        one, two = post(streams, **listen("one", **wanted)), post(streams, **listen(2))
        agreed = {"toolsListChanged": True, "resourceSubscriptions": ["a:/x"]}
        assert await got(one, 1) == [tagged("one", "subscriptions/acknowledged", notifications=agreed)]
        assert await got(two, 1) == [tagged(2, "subscriptions/acknowledged", notifications={})]
        assert [await list_changed(server, area) for area in ("tools", "resources")] == [1, 0]
        assert [await resource_updated(server, uri) for uri in ("a:/x", "a:/x/y", "a:/xy")] == [1, 1, 0]
        assert (await got(one, 4))[1:] == [
            tagged("one", "tools/list_changed"),
            tagged("one", "resources/updated", uri="a:/x"),
            tagged("one", "resources/updated", uri="a:/x/y"),
        ]
        for message in one.got:
            params = v.METHODS[message["method"]].params
            assert params is not None
            params.load().model_validate(message["params"])
        assert len(two.got) == 1 and streams.got == []
        await connection.aclose()

    @pytest.mark.requirement("alone.cancel-silence")
    async def test_it_ends_by_cancellation_or_with_its_channel(self) -> None:
        server = shop()
        streams = Streams()
        connection = await start_server(streams, server)
        one, two = post(streams, **listen(1, toolsListChanged=True)), post(streams, **listen(1, toolsListChanged=True))
        await got(one, 1)
        await got(two, 1)
        streams.deliver(one, method="notifications/cancelled", params={"requestId": 1})
        assert await list_changed(server, "tools") == 1
        streams.deliver(one, id=1, method="tools/list", params={"_meta": META})
        assert "result" in await answer(one, 1), "the id is free again"
        streams.receiver.channel_lost(two, None)
        assert await list_changed(server, "tools") == 0
        assert (len(one.got), len(two.got), connection.open_requests) == (2, 2, 0)
        await connection.aclose()

    @pytest.mark.requirement("listening.ends", "listening.only-listening")
    async def test_a_server_that_leaves_says_so(self) -> None:
        """With a result and, over a stream shared with others, also with a cancellation: the specification has both."""
        streams = Streams()
        connection = await start_server(streams, shop())
        own = post(streams, **listen(1))
        streams.deliver(streams, **listen(2))
        await got(own, 1)
        await got(streams, 1)
        await connection.aclose()
        assert (own.got[1]["id"], own.got[1]["result"]["resultType"]) == (1, "complete")
        assert own.got[1]["result"]["_meta"][f"{PREFIX}subscriptionId"] == 1
        assert len(own.got) == 2 and [message.get("method") for message in streams.got[1:]] == [
            None,
            "notifications/cancelled",
        ]
        assert streams.got[2]["params"]["requestId"] == 2

    async def test_it_does_not_count_as_a_request_in_flight(self) -> None:
        streams = Streams()
        connection = await start_server(streams, shop(ServerOptions(max_in_flight=1, max_waiting=3, list_changed=True)))
        channels = [post(streams, **listen(1, toolsListChanged=True)) for _ in range(4)]
        for channel in channels[:3]:
            await got(channel, 1)
        assert (await answer(channels[3], 1))["error"]["code"] == -32603
        assert "result" in await answer(post(streams, id=1, method="tools/list", params={"_meta": META}), 1)
        streams.receiver.channel_lost(channels[0], None)
        await got(post(streams, **listen(1)), 1)
        await connection.aclose()

    async def test_the_number_of_watched_resources_is_bounded(self) -> None:
        streams = Streams()
        connection = await start_server(streams, shop())
        uris = [f"a:/{number}" for number in range(1_001)]
        error = (await answer(post(streams, **listen(1, resourceSubscriptions=uris)), 1))["error"]
        assert error["code"] == -32602 and error["data"] == {"pointer": "/notifications/resourceSubscriptions"}
        await connection.aclose()

    async def test_a_handler_cannot_report_changes_on_the_stream_of_its_request(self) -> None:
        raised: list[str] = []

        async def call_tool(self: Any, params: Any, ctx: v.Context) -> v.CallToolResult:
            with pytest.raises(LocalProtocolError, match="use list_changed") as caught:
                await ctx.client.notify_tool_list_changed()
            raised.append(caught.value.reason)
            return v.CallToolResult(content=[])

        async with together(v.Client, make_server("2026-07-28", ALL, call_tool=call_tool, **CHANGES)) as client:
            await client.call_tool(name="x")
        assert len(raised) == 1


class TestBothEras:
    @pytest.mark.usefixtures("virtual_time")
    async def test_sessions_and_listeners_are_notified_by_their_server(self) -> None:
        new = shop()
        old = make_server(
            "2025-11-25",
            ServerOptions(list_changed=True),
            list_tools=returns("ListToolsResult", tools=[]),
            read_resource=returns("ReadResourceResult", contents=[]),
            subscribe=returns("EmptyResult"),
        )
        async with raw(old, new) as line:
            await line.shake_hands("2025-11-25")
            await line.ask("resources/subscribe", {"uri": "a:/x"}, 1)
            line.tell(**listen(2, toolsListChanged=True, resourceSubscriptions=["a:/x"]))
            await asyncio.sleep(0.01)
            before = len(line.got)
            assert [await list_changed(server, "tools") for server in (old, new)] == [1, 1]
            assert [await resource_updated(server, "a:/x") for server in (old, new)] == [1, 1]
            assert [("_meta" in message.get("params", {}), message["method"]) for message in line.got[before:]] == [
                (False, "notifications/tools/list_changed"),
                (True, "notifications/tools/list_changed"),
                (False, "notifications/resources/updated"),
                (True, "notifications/resources/updated"),
            ]


class TestClient:
    @pytest.mark.requirement("listening.told-apart")
    async def test_changes_are_iterated_over(self) -> None:
        server = shop()
        async with together(v.Client, server) as client:
            async with (
                await client.listen(tools=True, prompts=True, resources=["a:/x"]) as both,
                await client.listen(resource_list=True) as lists,
            ):
                assert both.agreed == {"toolsListChanged": True, "resourceSubscriptions": ["a:/x"]}
                await list_changed(server, "tools")
                await list_changed(server, "resources")
                await resource_updated(server, "a:/x")
                first, second = await anext(both), await anext(both)
                assert (first.what, first.uri, second.what, second.uri) == ("tools", None, "resource", "a:/x")
                assert (await anext(lists)).what == "resources"
            assert await list_changed(server, "tools") == 0
            assert client.connection.open_requests == 0
            assert [change async for change in both] == []

    async def test_notification_handlers_are_called_too(self) -> None:
        class Listening(v.ClientHandlers):
            heard = 0

            async def on_tool_list_changed(self, params: v.NotificationParams | None, ctx: v.ClientContext) -> None:
                type(self).heard += 1

        server = shop()
        async with together(v.Client, server, handlers=Listening()) as client:
            changes = await client.listen(tools=True)
            await list_changed(server, "tools")
            assert isinstance(await anext(changes), Change)
            await asyncio.sleep(0)
        assert Listening.heard == 1

    @pytest.mark.requirement("listening.ends-either-way", "alone.cancel-races")
    @pytest.mark.parametrize("how", ["result", "cancelled", "both"])
    async def test_the_server_may_end_it_in_either_way(self, how: str) -> None:
        server = shop()
        here, there = memory_pair()
        served = await start_server(there, server)
        client = await v.Client.open(Peer(here))
        changes = await client.listen(tools=True)
        errors: list[Any] = []
        client.connection.on_error(errors.append)
        id_ = next(iter(client.connection.inbound.notifications.subscriptions.open))
        result = {"resultType": "complete", "_meta": {f"{PREFIX}subscriptionId": id_}}
        if how != "cancelled":
            there.send(message(id=id_, result=result))
        if how != "result":
            there.send(message(method="notifications/cancelled", params={"requestId": id_}))
        assert [change async for change in changes] == [] and errors == []
        if how == "cancelled":
            there.send(message(id=id_, result=result))
            assert errors == [], "a late result surprises nobody"
        await client.list_tools()
        await client.connection.aclose()
        await served.wait_closed()

    async def test_the_end_of_the_connection_raises_an_error(self) -> None:
        here, there = memory_pair()
        served = await start_server(there, shop())
        client = await v.Client.open(Peer(here))
        changes = await client.listen(tools=True)
        reading = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        await here.close()
        with pytest.raises(ConnectionClosed):
            await reading
        await served.wait_closed()

    async def test_a_silent_server_times_out(self) -> None:
        here, there = memory_pair()
        server = shop()
        served = await start_server(there, server)
        client = await v.Client.open(Peer(here))
        there.pause_reading()
        with pytest.raises(RequestTimeout):
            await client.listen(tools=True, timeout=0.01)
        there.resume_reading()
        await client.connection.aclose()
        await served.wait_closed()

    async def test_listening_needs_the_modern_era(self) -> None:
        async with together(legacy.Client, make_server("2025-11-25")) as client:
            with pytest.raises(LocalProtocolError, match="this revision has sessions"):
                await client.listen(tools=True)


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.mark.requirement("alone.logs-asked")
@pytest.mark.usefixtures("virtual_time")
async def test_records_of_a_program_go_to_the_request_that_they_belong_to() -> None:
    """Log messages are sent only while a request that wants them is handled (server/utilities/logging)."""
    logger = logging.getLogger("shop")

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        logger.warning("at work")
        return v.CallToolResult(content=[])

    server = make_server("2026-07-28", ServerOptions(log_rate=None), call_tool=call_tool, **CHANGES)
    handler = McpLogHandler(server)
    logger.addHandler(handler)
    streams = Streams()
    connection = await start_server(streams, server)
    try:
        call = {"method": "tools/call", "params": {"name": "x", "_meta": META}}
        wanting = {"name": "x", "_meta": {**META, f"{PREFIX}logLevel": "warning"}}
        loud = post(streams, id=1, method="tools/call", params=wanting)
        quiet = post(streams, id=1, **call)
        await answer(loud, 1)
        await answer(quiet, 1)
        logger.error("beside all requests")
        await asyncio.sleep(0.01)
        assert [m.get("method") for m in loud.got] == ["notifications/message", None]
        assert (len(quiet.got), streams.got) == (1, [])
    finally:
        logger.removeHandler(handler)
        await connection.aclose()
