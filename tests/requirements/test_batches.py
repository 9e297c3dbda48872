"""Batches (2025-03-26 only): several messages in one array."""

import asyncio
import json
from typing import Any

import pytest

from mcp_runtime.core.json.values import is_array
from mcp_runtime.core.stub import CallOptions
from support.roles import TEXT, answering, make_handlers, make_server, returns
from support.talk import raw, talk

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement


def batch(*messages: dict[str, Any]) -> bytes:
    return json.dumps([{"jsonrpc": "2.0", **message} for message in messages]).encode()


@requirement("batches.received")
async def test_a_server_answers_all_requests_of_a_batch_together(revision: str) -> None:
    async with raw(make_server(revision, list_tools=returns("ListToolsResult", tools=[]))) as line:
        await line.shake_hands(revision)
        before = len(line.got)
        line.send(
            batch(
                {"id": 1, "method": "ping"},
                {"method": "notifications/roots/list_changed"},
                {"id": 2, "method": "tools/list"},
                {"id": 3, "method": "no/such"},
            )
        )
        await line.ask("tools/list", id_=9)
        answers = next(message for message in line.got[before:] if is_array(message))
        assert {answer["id"]: "result" in answer for answer in answers} == {1: True, 2: True, 3: False}


@requirement("batches.received")
async def test_a_client_takes_batches_of_answers_and_of_calls(revision: str) -> None:
    handlers = make_handlers(revision, list_roots=returns("ListRootsResult", roots=[]))
    async with answering(revision, handlers=handlers) as server:
        calls = [asyncio.create_task(server.client.ping(options=CallOptions(timeout=5))) for _ in range(2)]
        await asyncio.sleep(0)
        ids = [message["id"] for message in server.got if message.get("method") == "ping"]
        nothing: dict[str, Any] = {}
        server.send(batch(*({"id": id_, "result": nothing} for id_ in ids)))
        await asyncio.gather(*calls)
        server.send(batch({"id": "a", "method": "ping"}, {"id": "b", "method": "roots/list"}))
        await asyncio.sleep(0.01)
        [answers] = [message for message in server.got if is_array(message)]
        assert {answer["id"] for answer in answers} == {"a", "b"}


@requirement("batches.received")
async def test_a_batch_without_requests_is_not_answered(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        before = len(line.got)
        line.send(batch({"method": "notifications/roots/list_changed"}, {"method": "notifications/x"}))
        await line.ask("ping", id_=9)
        assert [message["id"] for message in line.got[before:]] == [9]


@requirement("batches.initialize-alone")
async def test_initialize_in_a_batch_is_refused_and_our_client_sends_it_alone(revision: str) -> None:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    async with raw(make_server(revision)) as line:
        line.send(batch({"id": 1, "method": "initialize", "params": params}))
        assert line.got[0]["error"]["code"] == -32600
        assert (await line.shake_hands(revision))["protocolVersion"] == revision
    async with answering(revision) as server:
        assert server.got[0]["method"] == "initialize"


@requirement("batches.calls-or-answers")
async def test_sent_batches_contain_only_answers(revision: str) -> None:
    server = make_server(revision, call_tool=returns("CallToolResult", content=[TEXT]))
    async with raw(server) as line:
        await line.shake_hands(revision, roots={})
        line.send(batch({"id": 1, "method": "ping"}, {"id": 2, "method": "tools/call", "params": {"name": "x"}}))
        await line.ask("tools/call", {"name": "x"}, id_=9)
        [answers] = [message for message in line.got if is_array(message)]
        assert all("method" not in answer for answer in answers) and len(answers) == 2


@requirement("batches.calls-or-answers")
async def test_our_client_sends_no_batches(revision: str) -> None:
    async with talk(make_server(revision, call_tool=returns("CallToolResult", content=[TEXT]))) as both:
        await both.client.call_tool(name="x")
        await both.client.ping()
        assert all(isinstance(message, dict) for message in both.sent)


@requirement("batches.removed")
async def test_arrays_are_refused_without_batches(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        line.send(batch({"id": 1, "method": "ping"}))
        error = line.got[-1]["error"]
        assert error["code"] == -32600 and "no batches" in error["message"]
        assert (await line.ask("ping", id_=2))["result"] == {}
