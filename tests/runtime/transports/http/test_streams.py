"""Which messages are sent on which stream, how a stream ends, and how a client resumes one."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.transports.http import HttpLimits, MemoryEventStore, asgi_app
from support.http import RawClient, call, events_of, messages_of, raw_client, request
from support.http_server import chatty
from support.stdio_peers import eventually

NEWEST = "2025-11-25"
HTTP_REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
QUICK = HttpLimits(stream_after=0.02, retry=0.01)


def text_of(message: Any) -> str:
    return str(message["result"]["content"][0]["text"])


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement("http.post-answer")
async def test_what_leaves_first_decides_the_form_of_the_answer(revision: str) -> None:
    async with raw_client(asgi_app(chatty(revision), limits=QUICK)) as client:
        await client.shake_hands(revision)
        assert (await client.post(call("echo", text="a"))).headers["content-type"] == "application/json"
        logged = await client.post(call("log"))
        assert logged.headers["content-type"] == "text/event-stream"
        assert [message.get("method", "answer") for message in messages_of(logged.text)] == [
            "notifications/message",
            "answer",
        ]
        late = await client.post(call("echo", text="late", delay=0.1))
        assert late.headers["content-type"] == "text/event-stream"
        assert text_of(messages_of(late.text)[0]) == "late"
        for answer in (logged, late):
            first = events_of(answer.text)[0]
            assert ("retry" in first and first["data"] == "") == (revision == NEWEST)
        assert all("id" in event for event in events_of(late.text))


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement("http.stream-completes", "http.get-no-answers", "http.get-unrelated")
async def test_what_belongs_to_a_request_leaves_on_its_stream(revision: str) -> None:
    server = chatty(revision)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(revision, sampling={})
        async with client.stream() as common, client.stream(call("ask", "a")) as asking:
            question = await asking.message()
            assert question["method"] == "sampling/createMessage"
            result = {"role": "assistant", "content": {"type": "text", "text": "tea"}, "model": "m"}
            answered = await client.post({"jsonrpc": "2.0", "id": question["id"], "result": result})
            assert (answered.status_code, answered.content) == (202, b"")
            assert text_of(await asking.message()) == "tea"
            assert await asking.message() is None, "a stream ends with its response"
            timed = await client.post(call("timer"))
            assert [m.get("method", "answer") for m in messages_of(timed.text)] == ["notifications/message", "answer"]
            await list_changed(server, "tools")
            assert (await common.message())["method"] == "notifications/tools/list_changed"


@pytest.mark.requirement("http.log-stream", "http.log-no-broadcast")
async def test_a_log_message_leaves_on_the_stream_of_its_request_only() -> None:
    server = chatty(NEWEST)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(NEWEST)
        async with client.stream() as common:
            logged = messages_of((await client.post(call("log", count=3))).text)
            assert [message["params"]["data"] for message in logged[:-1]] == ["0:x", "1:x", "2:x"]
            await list_changed(server, "tools")
            assert (await common.message())["method"] == "notifications/tools/list_changed", "nothing came before it"


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement("http.event-ids")
async def test_ids_of_events_are_unique_in_a_session(revision: str) -> None:
    server = chatty(revision)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(revision)
        answers = [await client.post(call("log", count=5)) for _ in range(5)]
        await list_changed(server, "tools")
        async with client.stream() as common:
            event = await common.event()
            assert event is not None
        found = [one["id"] for answer in answers for one in events_of(answer.text)]
        assert len({*found, event.id}) == len(found) + 1


@pytest.mark.requirement("http.event-ids-name-stream")
async def test_ids_of_events_name_their_stream() -> None:
    async with raw_client(asgi_app(chatty(NEWEST), limits=QUICK)) as client:
        await client.shake_hands(NEWEST)
        answers = [await client.post(call("log", count=5)) for _ in range(2)]
        streams = [{one["id"].partition("-")[0] for one in events_of(answer.text)} for answer in answers]
        assert [len(names) for names in streams] == [1, 1] and streams[0] != streams[1]


async def test_what_nobody_listens_to_waits_for_the_next_get() -> None:
    server = chatty(NEWEST)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(NEWEST)
        await list_changed(server, "tools")
        async with client.stream() as common:
            first = await common.event()
            assert first is not None and first.data == "" and first.retry == 10
            event = await common.event()
            assert event is not None and "list_changed" in event.data
        await list_changed(server, "tools")
        async with client.stream(last_event_id=event.id) as again:
            following = await again.event()
            assert following is not None and following.id == "0-2"


@pytest.mark.requirement("http.no-broadcast")
async def test_the_newest_get_takes_over() -> None:
    server = chatty(NEWEST)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(NEWEST)
        async with client.stream() as first, client.stream() as second:
            assert await second.event() is not None
            await list_changed(server, "tools")
            assert (await second.message())["method"] == "notifications/tools/list_changed"
            assert await first.message() is None, "a message is sent on one stream only"


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement("http.disconnect-no-cancel", "http.replay", "http.resume")
async def test_a_lost_stream_is_resumed_and_no_request_is_cancelled(revision: str) -> None:
    server = chatty(revision)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(revision, sampling={})
        async with client.stream(call("ask", "a")) as asking:
            event = await asking.event()
            while event is not None and not event.data:
                event = await asking.event()
            assert event is not None
            question = json.loads(event.data)
        result = {"role": "assistant", "content": {"type": "text", "text": "tea"}, "model": "m"}
        assert (await client.post({"jsonrpc": "2.0", "id": question["id"], "result": result})).status_code == 202
        async with client.stream(last_event_id=event.id) as again:
            assert text_of(await again.message()) == "tea"
            assert await again.message() is None
        # It has ended, but its messages can still be replayed.
        async with client.stream(last_event_id=event.id) as again:
            assert text_of(await again.message()) == "tea"
            assert await again.message() is None
        assert server.ended == []


@pytest.mark.requirement("http.replay")
async def test_a_stream_resumes_in_its_own_session_only() -> None:
    async with raw_client(asgi_app(chatty(NEWEST), limits=QUICK)) as client:
        other = RawClient(client.http)
        for one in (client, other):
            await one.shake_hands(NEWEST)
        logged = events_of((await client.post(call("log"))).text)
        assert (await client.http.get("/mcp", headers=_resuming(client, logged[0]["id"]))).status_code == 200
        for id_ in (logged[0]["id"], "0-1", "99-1", "x", "-", "1-" + "9" * 50, "0-99"):
            answer = await client.http.get("/mcp", headers=_resuming(other, id_))
            assert answer.status_code == 400, id_


def _resuming(client: RawClient, id_: str) -> dict[str, str]:
    return {**client.session, "accept": "text/event-stream", "last-event-id": id_}


@pytest.mark.requirement("http.stream-primed")
async def test_a_handler_closes_its_stream_early() -> None:
    server, limits = chatty(NEWEST), HttpLimits(stream_after=600, retry=0.01)
    async with raw_client(asgi_app(server, limits=limits)) as client:
        await client.shake_hands(NEWEST)
        async with asyncio.timeout(30):
            closed = await client.post(call("close"))
        (primed,) = events_of(closed.text)
        assert primed["data"] == "" and primed["retry"] == "10"
        server.gate.set()
        async with client.stream(last_event_id=primed["id"]) as again:
            assert text_of(await again.message()) == "closed"


@pytest.mark.parametrize(("revision", "resumable"), [("2025-06-18", True), ("2025-03-26", True), (NEWEST, False)])
async def test_a_stream_that_nobody_can_come_back_to_stays_open(revision: str, resumable: bool) -> None:
    server = chatty(revision)
    failures: list[Exception] = []

    async def close(ctx: Any) -> str:
        try:
            ctx.close_stream()
        except LocalProtocolError as error:
            failures.append(error)
        return "open"

    server.tool_close = close
    events = MemoryEventStore() if resumable else None
    async with raw_client(asgi_app(server, limits=QUICK, events=events)) as client:
        await client.shake_hands(revision)
        assert text_of((await client.post(call("close"))).json()) == "open"
    assert len(failures) == 1


async def test_without_a_store_events_have_no_ids() -> None:
    async with raw_client(asgi_app(chatty(NEWEST), limits=QUICK, events=None)) as client:
        await client.shake_hands(NEWEST)
        events = events_of((await client.post(call("log"))).text)
        assert len(events) == 2 and not any("id" in event for event in events)


async def test_the_stream_of_a_cancelled_call_can_be_resumed_and_ends() -> None:
    server = chatty(NEWEST)
    async with raw_client(asgi_app(server, limits=QUICK)) as client:
        await client.shake_hands(NEWEST)
        async with client.stream(call("wait", "w")) as waiting:
            primed = await waiting.event()
            assert primed is not None
            await server.begun.wait()
            await client.tell("notifications/cancelled", {"requestId": "w"})
            assert await waiting.message() is None
        for _ in range(2):
            answer = await client.http.get("/mcp", headers=_resuming(client, primed.id))
            assert (answer.status_code, messages_of(answer.text)) == (200, [])
        # Nothing follows an answer that the client has, either.
        [*_, answered] = events_of((await client.post(call("log"))).text)
        again = await client.http.get("/mcp", headers=_resuming(client, answered["id"]))
        assert (again.status_code, messages_of(again.text)) == (200, [])


async def test_a_stream_that_is_not_read_is_cut_and_can_be_resumed() -> None:
    limits = HttpLimits(stream_after=0.02, max_unread=300_000, write_timeout=1.5)
    events = MemoryEventStore(max_session_bytes=64 << 20)
    app = asgi_app(chatty(NEWEST), limits=limits, events=events)
    async with raw_client(app) as client:
        await client.shake_hands(NEWEST)
        async with client.stream(call("log", count=300, size=100_000)) as stream:
            await eventually(lambda: len(events) > 300)
            got: list[str] = []
            with pytest.raises(httpx2.RemoteProtocolError):
                while (event := await stream.event()) is not None:
                    got.append(event.id)
            assert 0 < len(got) < 300
        stored = await client.http.get("/mcp", headers=_resuming(client, got[-1]))
        assert stored.status_code == 200, stored.text[:200]
        assert (stored.status_code, len(got) - 1 + len(messages_of(stored.text))) == (200, 301)
        assert (await client.post(request("ping"))).status_code == 200


class SlowStore(MemoryEventStore):
    """An external store."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        found = await super().after(session, stream, number)
        self.asked.set()
        await asyncio.sleep(0.1)
        return found

    async def forget(self, session: str) -> None:
        await asyncio.sleep(0.01)
        await super().forget(session)


async def test_nothing_is_lost_while_a_slow_store_looks_for_what_was_missed() -> None:
    server, store = chatty(NEWEST), SlowStore()
    app = asgi_app(server, limits=QUICK, events=store)
    async with raw_client(app) as client:
        await client.shake_hands(NEWEST)
        async with client.stream() as common:
            first = await common.event()
            assert first is not None
        await list_changed(server, "tools")
        await asyncio.sleep(0.1)
        async with client.stream(last_event_id=first.id) as waiting:
            assert (await waiting.message())["method"] == "notifications/tools/list_changed"
        logged = events_of((await client.post(call("log", count=3))).text)
        resumed = asyncio.create_task(client.http.get("/mcp", headers=_resuming(client, logged[1]["id"])))
        await store.asked.wait()
        assert len(messages_of((await resumed).text)) == 3

        async def chatter(ctx: Any) -> str:
            await ctx.log("info", "before")
            await server.gate.wait()
            for number in range(5):
                await ctx.log("info", number)
                await asyncio.sleep(0.03)
            return "said"

        server.tool_chatter = chatter
        async with client.stream(call("chatter")) as talking:
            event = await talking.event()
        assert event is not None
        store.asked.clear()
        server.gate.set()
        await asyncio.sleep(0.05)
        async with client.stream(last_event_id=event.id) as again:
            said = [await again.message() for _ in range(7)]
        assert [one["params"]["data"] for one in said[:-1]] == ["before", 0, 1, 2, 3, 4]
        assert text_of(said[-1]) == "said"
