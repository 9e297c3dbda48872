"""Requests and their answers, between a real client and server."""

import logging
from typing import Any, cast

import pytest
from pydantic import BaseModel

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.connection import Exchange
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.errors import LocalProtocolError, MissingCapability, PeerError, RemoteProtocolError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.vendor import vendor_notification, vendor_request
from support.talk import bindings, raw, talk
from support.tools_server import Host, Tools, text_result

pytestmark = pytest.mark.usefixtures("virtual_time")


class Listing(Tools):
    """Answers `tools/list` with whatever a test wants."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        super().__init__()
        self.tools = tools

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        listing = v.ListToolsResult(tools=[])
        listing.tools = cast(Any, self.tools)
        return listing


class TestHandlers:

    async def test_the_text_of_an_unexpected_error_is_not_sent(self, caplog: pytest.LogCaptureFixture) -> None:
        async with talk(Tools()) as both:
            with pytest.raises(PeerError, match="internal error") as caught:
                await both.client.call_tool(name="secret")
            assert caught.value.code == -32603
            assert "hunter2" not in str(both.received)
            assert "hunter2" in caplog.text

    async def test_a_non_finite_number_is_not_sent(self, caplog: pytest.LogCaptureFixture) -> None:
        """Models refuse such numbers, but a handler may put one into a dictionary that a model holds."""

        class Scoring(Tools):
            async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
                scores = {"best": 1.0}
                result = v.CallToolResult(content=[], structured_content=scores)
                assert result.structured_content is not None
                result.structured_content["best"] = float("nan")
                return result

        async with talk(Scoring()) as both:
            with pytest.raises(PeerError, match="internal error"):
                await both.client.call_tool(name="score")
        assert "NaN or Infinity is not a JSON number" in caplog.text

    async def test_a_handler_answers_with_its_own_error(self) -> None:
        async with talk(Tools()) as both:
            with pytest.raises(PeerError, match="no more tea") as caught:
                await both.client.call_tool(name="own error")
            assert (caught.value.code, caught.value.data) == (-7, {"left": 0})

    async def test_a_peers_error_is_not_forwarded(self) -> None:
        """A tool that could not ask the client has failed; the client's error reveals nothing about the tool."""

        class Rude(Host):
            async def create_message(
                self, params: v.CreateMessageRequestParams, ctx: v.ClientContext
            ) -> v.CreateMessageResult | v.CreateTaskResult:
                raise PeerError(-1, "rejected")

        async with talk(Tools(), handlers=Rude()) as both:
            with pytest.raises(PeerError) as caught:
                await both.client.call_tool(name="sample")
            assert caught.value.code == -32603

    async def test_nothing_is_logged_in_a_good_conversation(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, "mcp_runtime")
        async with talk(Tools(), handlers=Host()) as both:
            await both.client.call_tool(name="sample")
            assert not both.errors and not both.complaints
        assert caplog.text == ""


class TestValidation:
    async def test_invalid_params_are_refused(self) -> None:
        async with raw(Tools()) as line:
            await line.shake_hands("2025-11-25")
            answer = await line.ask("tools/call", {"name": 1})
            assert answer["error"]["code"] == -32602
            assert answer["error"]["data"] == {"pointer": "/name"}
            error = line.errors[0]
            assert isinstance(error, RemoteProtocolError)
            assert str(error).startswith("tools/call of 2025-11-25: /name: ")
            assert error.link == "https://modelcontextprotocol.io/specification/2025-11-25/schema"
            assert (await line.ask("tools/call", None, id_=2))["error"]["code"] == -32602

    async def test_unknown_methods(self) -> None:
        async with raw(Tools()) as line:
            await line.shake_hands("2025-11-25")
            for id_, method in enumerate(("no/such", "resources/list", "x\x1b[31m")):
                assert (await line.ask(method, id_=id_))["error"]["code"] == -32601
            line.tell(method="notifications/no/such")
            assert (await line.ask("ping", id_=9))["result"] == {}

    @pytest.mark.parametrize(("revision", "has_id"), [("2025-06-18", True), ("2025-11-25", False)])
    async def test_unreadable_messages_are_answered_as_the_revision_specifies(
        self, revision: str, has_id: bool
    ) -> None:
        async with raw(bindings(revision).Server()) as line:
            await line.shake_hands(revision)
            line.send(b"{")
            answer = line.got[-1]
            assert answer["error"]["code"] == -32700
            assert ("id" in answer) is has_id and answer.get("id") is None
            assert (await line.ask("ping", id_=9))["result"] == {}

    async def test_an_invalid_result_is_a_protocol_error(self) -> None:
        async with talk(Listing({"name": 1}), strict=True) as both:
            with pytest.raises(RemoteProtocolError, match="tools/list of 2025-11-25: /tools/0/name: ") as caught:
                await both.client.list_tools()
            assert caught.value.pointer == "/tools/0/name" and len(str(caught.value).splitlines()) <= 5
            assert await both.client.call_tool(name="echo") == text_result("None")

    async def test_null_counts_as_absent_for_a_lenient_reader(self) -> None:
        """A lenient reader treats it as absent and reports it once; a strict one rejects it."""
        listing = Listing({"name": "t", "inputSchema": {"type": "object"}, "description": None})
        async with talk(listing) as both:
            for _ in range(2):
                (tool,) = (await both.client.list_tools()).tools
                assert tool.name == "t" and tool.description is None
            (error,) = both.errors
            assert isinstance(error, RemoteProtocolError) and error.pointer == "/tools/0/description"
        async with talk(listing, strict=True) as both:
            with pytest.raises(RemoteProtocolError, match="/tools/0/description"):
                await both.client.list_tools()

    async def test_sent_messages_can_be_checked(self) -> None:
        async with talk(Tools(), check_sent=True) as both:
            params = v.CallToolRequestParams(name="echo")
            params.name = cast(Any, None)
            with pytest.raises(LocalProtocolError, match="/name"):
                await both.client.connection.request(methods.TOOLS_CALL, params, None)
            assert await both.client.call_tool(name="echo") == text_result("None")

    async def test_capabilities_of_properties(self) -> None:
        async with talk(Tools()) as both:
            with pytest.raises(MissingCapability, match=r"task of tools/call needs .*server\.tasks\.requests"):
                await both.client.call_tool(name="echo", task=v.TaskMetadata())
        async with raw(Tools()) as line:
            await line.shake_hands("2025-11-25")
            answer = await line.ask("tools/call", {"name": "echo", "task": {}})
            assert answer["result"]["content"][0]["text"] == "None"


class Thing(BaseModel):
    """Params of a vendor."""

    size: int


async def test_vendor_requests_and_notifications() -> None:
    sizes: list[int] = []

    async def grow(params: Thing, ctx: Any) -> Thing:
        return Thing(size=params.size + 1)

    async def note(params: Thing, ctx: Any) -> None:
        sizes.append(params.size)

    async with talk(Tools()) as both:
        both.server.handle(vendor_request("acme/grow", Thing, Thing), grow)
        both.server.handle(vendor_notification("acme/note", Thing), note)
        connection = both.client.connection
        assert await connection.request(vendor_request("acme/grow", Thing, Thing), Thing(size=1), None) == Thing(size=2)
        await connection.notify(vendor_notification("acme/note", Thing), Thing(size=5))
        with pytest.raises(PeerError, match="/size: ") as caught:
            await connection.request(vendor_request("acme/grow", dict, Thing), {"size": "x"}, None)
        assert caught.value.code == -32602
        await both.client.call_tool(name="echo")
        assert sizes == [5]


async def test_middleware_wraps_everything() -> None:
    seen: list[str] = []

    async def audit(exchange: Exchange, proceed: Proceed) -> Any:
        seen.append(f"{exchange.way} {exchange.method.name}")
        if exchange.method.name == "tools/call" and exchange.params.name == "other":
            exchange.params = v.CallToolRequestParams(name="echo", arguments={"by": "audit"})
        result = await proceed()
        seen.append(f"{exchange.method.name} done")
        return result

    class Audited(Tools):
        options = ServerOptions(middleware=(audit,))

    async with talk(Audited(), middleware=(audit,)) as both:
        assert await both.client.call_tool(name="other") == text_result("{'by': 'audit'}")
    calls = [line for line in seen if "tools/call" in line]
    assert calls == ["sent tools/call", "received tools/call", "tools/call done", "tools/call done"]
    assert seen[:3] == ["sent initialize", "initialize done", "sent notifications/initialized"]
