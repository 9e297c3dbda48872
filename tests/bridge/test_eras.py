"""Features that the two eras express with different messages, where a bridge connects them."""

import asyncio
from typing import Any

import pytest

from bridge.conversation import converse
from bridge.everyone import URI, Received, make_handlers, make_server
from mcp_bindings import v2025_11_25 as old
from mcp_bindings import v2026_07_28 as new
from mcp_runtime.bridge import MissingInRevision
from mcp_runtime.core.connection.transport import ANSWER_SENT, Sent
from mcp_runtime.core.errors import McpError, PeerError
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.options import CacheHint
from mcp_runtime.core.settings import ServerOptions
from support.channels import Stream, Streams
from support.posting import answer, post
from support.talk import of_sender

OLD, NEW = old.REVISION, new.REVISION


def text(words: str) -> old.CallToolResult:
    return old.CallToolResult(content=[old.TextContent(text=words)])


class TestServerOfTheLegacyEra:
    class Noting(old.Server):
        """Records its notifications, lets clients subscribe to one resource, and announces changes."""

        options = ServerOptions(list_changed=True, cache={"tools/list": CacheHint(seconds=60, scope="public")})

        def __init__(self) -> None:
            self.noted: list[str] = []
            self.is_subscribing = asyncio.Event()

        async def list_tools(self, params: Any, ctx: old.Context) -> old.ListToolsResult:
            return old.ListToolsResult(tools=[])

        async def call_tool(self, params: old.CallToolRequestParams, ctx: old.Context) -> old.CallToolResult:
            if params.name == "url":
                raise PeerError(-32042, "open a page", {"elicitations": []})
            await ctx.client.notify_tool_list_changed()
            await ctx.client.notify_resource_updated(uri=URI)
            return text("told")

        async def list_resources(self, params: Any, ctx: old.Context) -> old.ListResourcesResult:
            return old.ListResourcesResult(resources=[])

        async def subscribe(self, params: old.SubscribeRequestParams, ctx: old.Context) -> old.EmptyResult:
            if params.uri == "memo://slow":
                self.is_subscribing.set()
                await asyncio.Event().wait()
            if params.uri != URI:
                raise PeerError(-32602, "no such resource")
            self.noted.append(f"+{params.uri}")
            return old.EmptyResult()

        async def unsubscribe(self, params: old.UnsubscribeRequestParams, ctx: old.Context) -> old.EmptyResult:
            self.noted.append(f"-{params.uri}")
            return old.EmptyResult()

        async def list_tasks(self, params: Any, ctx: old.Context) -> old.ListTasksResult:
            return old.ListTasksResult(tasks=[])

    async def test_its_handlers_are_notified_of_subscriptions(self) -> None:
        server = self.Noting()
        async with converse(server, NEW) as talk:
            async with await talk.client.listen(tools=True, resources=[URI, "memo://none"]) as changes:
                assert changes.agreed == {"toolsListChanged": True, "resourceSubscriptions": [URI]}
                assert server.noted == [f"+{URI}"]
                await talk.client.call_tool(name="tell")
                assert [(await anext(changes)).what, (await anext(changes)).uri] == ["tools", URI]
            await talk.client.list_tools()
            assert server.noted == [f"+{URI}", f"-{URI}"]

    async def test_a_resource_is_released_with_the_last_request_that_watches_it(self) -> None:
        server = self.Noting()
        async with converse(server, NEW) as talk:
            first = await talk.client.listen(resources=[URI, URI])
            second = await talk.client.listen(resources=[URI])
            await first.aclose()
            await talk.client.list_tools()
            assert server.noted == [f"+{URI}"]
            await second.aclose()
            await talk.client.list_tools()
            assert server.noted == [f"+{URI}", f"-{URI}"]

    async def test_a_resource_is_released_when_the_client_leaves_before_the_acknowledgement(self) -> None:
        server = self.Noting()
        async with converse(server, NEW) as talk:
            listening = asyncio.create_task(talk.client.listen(resources=[URI, "memo://slow"]))
            await server.is_subscribing.wait()
            listening.cancel()
            await asyncio.wait([listening])
            await talk.client.list_tools()
            assert server.noted == [f"+{URI}", f"-{URI}"]

    async def test_a_channel_that_is_lost_while_a_change_is_sent_keeps_it_from_no_other(self) -> None:
        class Losing(Stream):
            """Turns out to be lost when a change is sent on it."""

            def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
                super().send(message, about)
                if b"list_changed" in message:
                    streams.receiver.channel_lost(self, None)

        streams, channels = Streams(), (Losing(), Stream())
        connection = await start_server(streams, self.Noting())
        asked: dict[str, Any] = {"_meta": of_sender(NEW, {}), "notifications": {"toolsListChanged": True}}
        for channel in channels:
            streams.deliver(channel, id=1, method="subscriptions/listen", params=asked)
            await channel.until(lambda message: message["method"] == "notifications/subscriptions/acknowledged")
        call = post(streams, id=2, method="tools/call", params={"_meta": of_sender(NEW, {}), "name": "tell"})
        assert "result" in await answer(call, 2)
        assert [channel.got[-1]["method"] for channel in channels] == ["notifications/tools/list_changed"] * 2
        await connection.aclose()

    async def test_its_results_may_be_cached_as_its_options_say(self) -> None:
        async with converse(self.Noting(), NEW) as talk:
            kept = await talk.client.list_tools()
            assert (kept.ttl_ms, kept.cache_scope) == (60_000, "public")
            assert (await talk.client.list_resources()).ttl_ms == 0

    async def test_it_offers_no_tasks(self) -> None:
        async with converse(self.Noting(), NEW) as talk:
            assert "tasks" not in talk.client.capabilities

    async def test_an_error_that_the_era_lacks_is_an_internal_error_and_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with converse(self.Noting(), NEW) as talk:
            with pytest.raises(PeerError) as error:
                await talk.client.call_tool(name="url")
        assert error.value.code == -32603
        assert "raised error -32042, which 2026-07-28 does not have" in caplog.text


class TestServerOfTheModernEra:
    class ByHand(new.Server):
        """Returns its questions instead of awaiting the answers."""

        options = ServerOptions(inputs=None)

        async def list_tools(self, params: Any, ctx: new.Context) -> new.ListToolsResult:
            return new.ListToolsResult(tools=[])

        async def call_tool(self, params: new.CallToolRequestParams, ctx: new.Context) -> Any:
            if params.name == "endless" or params.input_responses is None:
                schema = new.ElicitRequestFormParamsRequestedSchema(properties={"name": new.StringSchema()})
                asked = new.ElicitRequest(params=new.ElicitRequestFormParams(message="Who?", requested_schema=schema))
                return new.InputRequiredResult(input_requests={"who": asked}, request_state="one")
            answer: Any = params.input_responses["who"]
            return new.CallToolResult(
                content=[new.TextContent(text=f"{params.request_state} {answer.content['name']}")]
            )

    async def test_questions_in_results_become_requests(self) -> None:
        async with converse(self.ByHand(), OLD, handlers=make_handlers(OLD, Received())) as talk:
            assert (await talk.client.call_tool(name="ask")).content[0].text == "one Who?"
            assert talk.judge(OLD) > 5

    async def test_a_handler_that_asks_endlessly_is_stopped(self, caplog: pytest.LogCaptureFixture) -> None:
        async with converse(self.ByHand(), OLD, handlers=make_handlers(OLD, Received())) as talk:
            with pytest.raises(PeerError, match="internal error"):
                await talk.client.call_tool(name="endless")
        assert "asked for input 16 times" in caplog.text


class TestClientOfTheLegacyEra:
    async def test_tasks_are_not_available_in_the_modern_era(self) -> None:
        async with converse(make_server(NEW), OLD, bridged="all") as talk:
            with pytest.raises(MissingInRevision, match="tasks/list does not exist in revision 2026-07-28"):
                await talk.client.list_tasks()

    async def test_its_log_level_is_sent_with_each_request(self) -> None:
        received = Received()
        async with converse(make_server(NEW), OLD, bridged="all", handlers=make_handlers(OLD, received)) as talk:
            await talk.client.call_tool(name="plain")
            assert received.logs == []
            await talk.client.set_level(level="warning")
            await talk.client.call_tool(name="plain")
            assert received.logs == ["wanted"]
            assert talk.params_of("tools/call")["_meta"]["io.modelcontextprotocol/logLevel"] == "warning"

    async def test_a_change_of_its_roots_needs_no_message(self) -> None:
        async with converse(make_server(NEW), OLD, bridged="all") as talk:
            await talk.client.notify_roots_list_changed()
            assert "notifications/roots/list_changed" not in [m.get("method") for m in talk.messages]


class TestClientOfTheModernEra:
    @pytest.mark.usefixtures("virtual_time")
    async def test_changed_roots_reach_the_server(self) -> None:
        options: dict[str, Any] = {"roots": ["file:///one"], "ping_interval": 0.05, "ping_timeout": 5}
        async with converse(make_server(OLD), NEW, bridged="all", options=options) as talk:
            assert talk.params_of("initialize")["capabilities"]["roots"] == {"listChanged": True}
            await talk.client.set_roots(["file:///two"])
            assert (await talk.client.call_tool(name="roots")).content[0].text == "file:///two"
            await asyncio.sleep(0.15)
            methods = [m.get("method") for m in talk.messages]
            assert "notifications/roots/list_changed" in methods and "ping" in methods

    async def test_requests_omit_what_only_its_own_era_has(self) -> None:
        async with converse(make_server(OLD), NEW, bridged="all") as talk:
            await talk.client.list_tools(meta={"trace": "kept"})
            assert talk.params_of("tools/list") == {"_meta": {"trace": "kept"}}
            await talk.client.list_tools()
            assert talk.params_of("tools/list") == {}

    async def test_discovery_returns_the_information_of_the_handshake(self) -> None:
        async with converse(make_server(OLD), NEW, bridged="all") as talk:
            meta = new.RequestMetaObject.model_validate(talk.client.connection.request_meta())
            params = new.RequestParams(meta=meta)
            found = await talk.client.connection.request(new.methods.SERVER_DISCOVER, params, None)
            assert found.supported_versions == [OLD]
            assert found.capabilities.tools is not None

    async def test_two_listeners_share_a_subscription(self) -> None:
        async with converse(make_server(OLD), NEW, bridged="all") as talk:
            first = await talk.client.listen(resources=[URI])
            second = await talk.client.listen(resources=[URI])
            await first.aclose()
            assert "resources/unsubscribe" not in [m.get("method") for m in talk.messages]
            await talk.client.call_tool(name="change")
            assert (await anext(second)).uri == URI
            await second.aclose()
            assert talk.messages[-2]["method"] == "resources/unsubscribe"

    async def test_listening_ends_with_the_connection(self) -> None:
        async with converse(make_server(OLD), NEW, bridged="all") as talk:
            changes = await talk.client.listen(tools=True)
            await talk.server.aclose()
            with pytest.raises(McpError):
                await anext(changes)
