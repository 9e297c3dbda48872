"""Messages (basic): their format, and the handling of malformed ones."""

import asyncio
import re
from typing import Any

import pytest

from mcp_runtime.core.errors import PeerError, RemoteProtocolError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.extensions.tasks import RELATED
from mcp_runtime.middleware.validate import Validate
from support.roles import TEXT, answering, make_handlers, make_server, raises, returns
from support.talk import MODERN, PREFIX, idle, raw, talk
from support.tasking import Worker

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement


@requirement("messages.base-protocol")
async def test_an_empty_server_supports_the_base_protocol(revision: str) -> None:
    async with talk(make_server(revision)) as both:
        assert both.client.connection.revision == revision
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        assert "result" in await line.ask(idle(revision))


@requirement("messages.json-rpc")
async def test_invalid_json_rpc_messages_are_refused(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        before = len(line.got)
        for text in (b"{", b"[1", b'"ping"', b"7", b'{"id":1,"method":"ping"}', b'{"jsonrpc":"1.0","id":1}'):
            line.send(text)
        assert [answer["error"]["code"] for answer in line.got[before:]] == [-32700, -32700, *[-32600] * 4]
        assert "result" in await line.ask(idle(revision), id_=2)


@requirement("messages.json-rpc")
async def test_every_sent_message_is_valid_json_rpc(revision: str) -> None:
    server = make_server(revision, list_tools=raises(PeerError(-7, "no more tea")))
    async with talk(server) as both:
        with pytest.raises(PeerError):
            await both.client.list_tools()
        assert len(both.sent) == (2 if revision == MODERN else 3) and len(both.received) == 2
        assert all(message["jsonrpc"] == "2.0" for message in (*both.sent, *both.received))


@requirement("messages.request-id", "messages.id-not-null", "messages.answer-id")
@pytest.mark.parametrize("id_", [0, -1, 7, 2**53, "", "7", "a b"])
async def test_an_id_is_a_string_or_an_integer_and_comes_back(revision: str, id_: Any) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        answer = await line.ask(idle(revision), id_=id_)
        assert "result" in answer and answer["id"] == id_ and type(answer["id"]) is type(id_)


@requirement("messages.request-id", "messages.id-not-null")
@pytest.mark.parametrize("id_", [None, True, 1.5, [1], {}])
async def test_an_id_of_another_kind_is_refused(revision: str, id_: Any) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        before = len(line.got)
        line.tell(id=id_, method=idle(revision))
        [answer] = line.got[before:]
        assert answer["error"]["code"] == -32600 and "result" not in answer


@requirement("messages.request-id", "messages.id-not-null", "messages.id-not-reused", "messages.notification-no-id")
async def test_our_ids_are_unique_integers_and_notifications_have_none(revision: str) -> None:
    server = make_server(revision)
    async with talk(server, handlers=make_handlers(revision, create_message=_sampled)) as both:
        for _ in range(3):
            await both.client.ping()
            await both.server.stub.__caller__.request(both.client.connection.binding.methods["ping"], None, None)
        await both.server.log("info", "hello")
        await both.client.ping()
        for messages in (both.sent, both.received):
            asked = [message["id"] for message in messages if "method" in message and "id" in message]
            assert len(set(asked)) == len(asked) > 2 and all(type(id_) is int for id_ in asked)
            notifications = [message for message in messages if message.get("method", "").startswith("notifications/")]
            assert notifications and not any("id" in message for message in notifications)


async def _sampled(self: Any, params: Any, ctx: Any) -> Any:
    raise AssertionError("asked")


@requirement("messages.id-not-reused")
async def test_an_id_that_is_still_open_begins_nothing_new(revision: str) -> None:
    begun: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        begun.append(params.name)
        await asyncio.sleep(60)

    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "one"})
        line.tell(id=1, method="tools/call", params={"name": "two"})
        await asyncio.sleep(0.01)
        assert begun == ["one"] and "still open" in str(line.errors[0])


@requirement("messages.result-or-error")
@pytest.mark.parametrize("members", [{}, {"result": {}, "error": {"code": 1, "message": "m"}}])
async def test_an_answer_with_both_or_neither_fails_the_call(revision: str, members: dict[str, Any]) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        call = asyncio.create_task(server.client.list_tools())
        asked = await server.asked("tools/list")
        before = len(server.got)
        server.tell(id=asked["id"], **members)
        async with asyncio.timeout(5):
            with pytest.raises(RemoteProtocolError, match='one of "result" and "error"'):
                await call
        # The call is over, and a response gets no response.
        server.tell(id=asked["id"], result={})
        assert len(server.errors) == 2 and len(server.got) == before


@requirement("messages.result-or-error", "messages.error-code-integer")
async def test_our_answers_have_either_a_result_or_an_error(revision: str) -> None:
    async with raw(make_server(revision, list_tools=raises(KeyError()))) as line:
        await line.shake_hands(revision)
        for id_, method in enumerate((idle(revision), "tools/list", "no/such")):
            answer = await line.ask(method, id_=id_)
            assert ("result" in answer) is (id_ == 0) is ("error" not in answer)
            assert id_ == 0 or type(answer["error"]["code"]) is int


@requirement("messages.error-code-integer")
@pytest.mark.parametrize("code", ["1", 1.5, None, True])
async def test_a_non_integer_code_fails_the_call(revision: str, code: Any) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        call = asyncio.create_task(server.client.list_tools())
        server.tell(id=(await server.asked("tools/list"))["id"], error={"code": code, "message": "m"})
        with pytest.raises(RemoteProtocolError, match='integer "code"'):
            await call


@requirement("modern.extensions")
async def test_extensions_of_only_one_side_are_refused(revision: str) -> None:
    extensions: dict[str, Any] = {"extensions": {"com.example/slow": {}}}
    async with raw(make_server(revision)) as line:
        assert "extensions" not in (await line.shake_hands(revision, **extensions))["capabilities"]
        assert (await line.ask("com.example/slow/begin"))["error"]["code"] == -32601
    async with answering(revision, capabilities={"tools": {}, **extensions}) as server:
        call = asyncio.create_task(server.client.call_tool(name="x"))
        result: dict[str, Any] = {"resultType": "com.example/slow", "content": []}
        server.tell(id=(await server.asked("tools/call"))["id"], result=result)
        with pytest.raises(RemoteProtocolError, match=r"/resultType: the result is 'com.example/slow'"):
            await call


@requirement("modern.error-codes-unassumed")
@pytest.mark.parametrize("code", [-32000, -32001, -32002, -32019])
async def test_unknown_codes_reach_the_caller_unchanged(revision: str, code: int) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        call = asyncio.create_task(server.client.list_tools())
        server.tell(id=(await server.asked("tools/list"))["id"], error={"code": code, "message": "m", "data": [1]})
        with pytest.raises(PeerError, match="m") as caught:
            await call
        assert (caught.value.code, caught.value.data, type(caught.value)) == (code, [1], PeerError)
        again = asyncio.create_task(server.client.call_tool(name="x"))
        server.tell(id=(await server.asked("tools/call"))["id"], result={"content": []})
        assert (await again).content == []


@requirement("messages.error-members")
async def test_an_incomplete_error_fails_the_call(revision: str) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        call = asyncio.create_task(server.client.list_tools())
        server.tell(id=(await server.asked("tools/list"))["id"], error={"code": 1})
        with pytest.raises(RemoteProtocolError, match='"message"'):
            await call


@requirement("messages.error-members", "messages.error-message-short")
async def test_our_errors_are_short_and_complete(revision: str) -> None:
    async with raw(make_server(revision, list_tools=raises(KeyError("x" * 9000)), get_prompt=returns("x"))) as line:
        await line.shake_hands(revision)
        await line.ask("tools/list", id_=1)
        await line.ask("no/such" * 999, id_=2)
        await line.ask("prompts/get", {"arguments": 1}, id_=3)
        line.send(b"{")
        errors = [answer["error"] for answer in line.got if "error" in answer]
        assert len(errors) == 4
        for error in errors:
            assert type(error["code"]) is int and "\n" not in error["message"] and 5 < len(error["message"]) < 200


@requirement("messages.error-message-short")
async def test_our_errors_are_short_in_the_oldest_revision_too(revision: str) -> None:
    async with raw(make_server(revision, list_tools=raises(KeyError("x" * 9000)))) as line:
        await line.shake_hands(revision)
        error = (await line.ask("tools/list"))["error"]
        assert error == {"code": -32603, "message": "internal error"}


@requirement("messages.unread-id")
async def test_an_error_names_its_request_if_it_can(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        line.send(b'{"jsonrpc":"2.0","id":"a","method":7}')
        line.send(b'{"jsonrpc":"2.0","id":"b')
        assert [answer.get("id") for answer in line.got[-2:]] == ["a", None]


@requirement("messages.notification-no-answer")
async def test_no_notification_is_answered(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        for method in ("notifications/initialized", "notifications/roots/list_changed", "tools/list"):
            line.tell(method=method)  # before the handshake
        assert line.got == []
        await line.shake_hands(revision)
        before = len(line.got)
        line.tell(method="notifications/no/such")
        line.tell(method="notifications/cancelled", params={"requestId": [1]})
        line.tell(method="notifications/progress", params={})
        line.tell(method="notifications/roots/list_changed", params={"_meta": 1})
        line.tell(method="tools/list")
        await line.ask(idle(revision), id_=9)
        assert [message["id"] for message in line.got[before:]] == [9]


@requirement("messages.notification-no-id")
async def test_a_notification_with_an_id_is_a_request(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        assert (await line.ask("notifications/roots/list_changed", id_=5))["error"]["code"] == -32601


@requirement("messages.meta-values")
@pytest.mark.parametrize("value", [None, 1.5, [], {"taskId": 7}, "text"])
async def test_reserved_names_may_have_any_value(revision: str, value: Any) -> None:
    seen: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(dict(ctx.meta))
        return await returns("CallToolResult", content=[TEXT], _meta={"io.modelcontextprotocol/x": value})(
            self, params, ctx
        )

    meta = {"io.modelcontextprotocol/related-task": value, "dev.mcp/x": value, "modelcontextprotocol.io/x": value}
    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision)
        answer = await line.ask("tools/call", {"name": "t", "_meta": meta})
        assert answer["result"]["_meta"][f"{PREFIX}x"] == value
        assert seen == [{**line.meta, **meta}]


NAME = re.compile(
    r"([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?"
)


@requirement("messages.meta-names")
async def test_names_that_the_runtime_itself_writes_follow_the_grammar(revision: str) -> None:
    def progress(progress: float, total: float | None, message: str | None) -> None:
        pass

    server = (
        Worker() if revision == "2025-11-25" else make_server(revision, call_tool=returns("CallToolResult", content=[]))
    )
    async with talk(server) as both:
        more: dict[str, Any] = {"task": {}} if revision == "2025-11-25" else {}
        await both.client.call_tool(name="work", options=CallOptions(progress=progress), **_typed(both.client, more))
        found = {
            name
            for message in (*both.sent, *both.received)
            for part in ("params", "result")
            for name in message.get(part, {}).get("_meta", {})
        }
        assert "progressToken" in found and (RELATED in found) is bool(more)
        assert (found == {"progressToken", RELATED} - ({RELATED} if not more else set())) is (revision != MODERN)
        assert all(NAME.fullmatch(name) for name in found)


def _typed(client: Any, more: dict[str, Any]) -> dict[str, Any]:
    from mcp_bindings.v2025_11_25 import TaskMetadata

    return {"task": TaskMetadata()} if more else {}


def _validating(revision: str, schema: dict[str, Any]) -> Any:
    return make_server(
        revision,
        ServerOptions(middleware=(Validate(),)),
        list_tools=returns("ListToolsResult", tools=[{"name": "t", "inputSchema": {"type": "object", **schema}}]),
        call_tool=returns("CallToolResult", content=[TEXT]),
    )


@requirement("messages.schema-default-dialect")
async def test_a_schema_without_a_dialect_is_2020_12(revision: str) -> None:
    """`prefixItems` came with 2020-12; older dialects ignore it."""
    pair = {"properties": {"pair": {"prefixItems": [{"type": "string"}]}}}
    async with raw(_validating(revision, pair)) as line:
        await line.shake_hands(revision)
        for id_, (value, wrong) in enumerate((("a", None), (1, True))):
            answer = await line.ask("tools/call", {"name": "t", "arguments": {"pair": [value]}}, id_=id_)
            assert answer["result"].get("isError") == wrong


@requirement("messages.schema-own-dialect")
async def test_a_schema_is_read_in_the_dialect_that_it_names(revision: str) -> None:
    """An array in `items` is a list of positions up to draft 7."""
    draft = "http://json-schema.org/draft-07/schema#"
    pair = {"$schema": draft, "properties": {"pair": {"items": [{"type": "string"}]}}}
    async with raw(_validating(revision, pair)) as line:
        await line.shake_hands(revision)
        for id_, (value, wrong) in enumerate((("a", None), (1, True))):
            answer = await line.ask("tools/call", {"name": "t", "arguments": {"pair": [value]}}, id_=id_)
            assert answer["result"].get("isError") == wrong


@requirement("messages.schema-unknown-dialect")
async def test_a_dialect_that_is_not_known_is_an_error_that_names_it(revision: str) -> None:
    async with raw(_validating(revision, {"$schema": "https://example.org/dialect"})) as line:
        await line.shake_hands(revision)
        error = (await line.ask("tools/call", {"name": "t"}))["error"]
        assert error["code"] == -32603 and "https://example.org/dialect" in error["message"]


@requirement("messages.schema-valid")
async def test_a_schema_that_is_not_valid_is_not_used(revision: str) -> None:
    async with raw(_validating(revision, {"properties": {"a": {"type": "nonsense"}}})) as line:
        await line.shake_hands(revision)
        assert "cannot be used" in (await line.ask("tools/call", {"name": "t"}))["error"]["message"]
