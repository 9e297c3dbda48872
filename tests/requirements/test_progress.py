"""Progress (basic/utilities/progress): how far a request has come."""

import asyncio
from typing import Any

import pytest

from mcp_bindings.v2025_11_25 import CallToolRequestParams, methods
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.extensions.tasks import start_task
from support.roles import Hold, answering, make_server, returns
from support.talk import raw, talk
from support.tasking import Worker

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
PROGRESS = "notifications/progress"
Reports = list[tuple[float, float | None]]


def listening() -> tuple[Reports, CallOptions]:
    """Return the list of reports, and the options that ask for them."""
    seen: Reports = []

    def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    return seen, CallOptions(progress=note)


@requirement("progress.token-type", "progress.token-unique")
async def test_our_tokens_are_unique_integers(revision: str) -> None:
    async with answering(revision, capabilities={"tools": {}}) as server:
        calls = [asyncio.create_task(server.client.list_tools(options=listening()[1])) for _ in range(5)]
        await asyncio.sleep(0.01)
        asked = [message for message in server.got if message.get("method") == "tools/list"]
        tokens = [message["params"]["_meta"]["progressToken"] for message in asked]
        assert len(set(tokens)) == 5 and all(type(token) is int for token in tokens)
        for message in asked:
            server.tell(id=message["id"], result={"tools": []})
        await asyncio.gather(*calls)


@requirement("progress.token-type")
@pytest.mark.parametrize("token", ["t", "", 0, 7])
async def test_a_peers_token_is_used_unchanged(revision: str, token: Any) -> None:
    hold = Hold()
    async with raw(make_server(revision, call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x", "_meta": {"progressToken": token}})
        await hold.begun.wait()
        await hold.contexts[0].report_progress(0.5, 1)
        assert line.got[-1]["method"] == PROGRESS
        assert line.got[-1]["params"] == {"progressToken": token, "progress": 0.5, "total": 1}


@requirement("progress.token-type")
@pytest.mark.parametrize("token", [None, 1.5, True, [1]])
async def test_an_invalid_token_counts_as_absent(revision: str, token: Any) -> None:
    async with raw(make_server(revision, call_tool=returns("CallToolResult", content=[]))) as line:
        await line.shake_hands(revision)
        answer = await line.ask("tools/call", {"name": "x", "_meta": {"progressToken": token}})
        # A lenient reader, like ours by default, treats null as absent.
        assert ("result" in answer) is (token is None)
        assert PROGRESS not in [message.get("method") for message in line.got]


@requirement("progress.grows")
async def test_non_increasing_reports_are_not_sent(revision: str) -> None:
    hold = Hold()
    async with raw(make_server(revision, ServerOptions(progress_rate=None), call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x", "_meta": {"progressToken": 1}})
        await hold.begun.wait()
        for progress in (-1.5, 0, 0.25, 2):
            await hold.contexts[0].report_progress(progress)
        for progress in (2, 1):
            await hold.contexts[0].report_progress(progress)
        sent = [message["params"]["progress"] for message in line.got if message.get("method") == PROGRESS]
        assert sent == [-1.5, 0, 0.25, 2]


@requirement("progress.grows", "progress.known-tokens", "progress.tracked")
async def test_non_increasing_or_unknown_reports_are_not_delivered(revision: str) -> None:
    seen, options = listening()
    async with answering(revision) as server:
        call = asyncio.create_task(server.client.ping(options=options))
        asked = await server.asked("ping")
        token = asked["params"]["_meta"]["progressToken"]
        for named, progress in ((token, 1), (token, 1), (token, 0.5), (token + 1, 2), (str(token), 2), (token, 2)):
            server.tell(method=PROGRESS, params={"progressToken": named, "progress": progress})
        assert [progress for progress, _ in seen] == [1, 2]
        assert len(server.errors) == 4
        server.tell(id=asked["id"], result={})
        await call


@requirement("progress.known-tokens")
async def test_no_progress_without_a_token(revision: str) -> None:
    hold = Hold()
    async with raw(make_server(revision, call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x"})
        await hold.begun.wait()
        await hold.contexts[0].report_progress(1)
        assert PROGRESS not in [message.get("method") for message in line.got]


@pytest.mark.parametrize("rate", [1, None], ids=["limited", "unlimited"])
@requirement("progress.stops", "progress.tracked")
async def test_nothing_is_reported_after_the_answer(revision: str, rate: float | None) -> None:
    hold = Hold()
    async with raw(make_server(revision, ServerOptions(progress_rate=rate), call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x", "_meta": {"progressToken": 1}})
        await hold.begun.wait()
        for progress in range(5):
            await hold.contexts[0].report_progress(progress)
        hold.gate.set()
        await line.answer(1)
        await hold.contexts[0].report_progress(9)
        await asyncio.sleep(0.01)
        received = [message.get("id") or message["params"]["progress"] for message in line.got[1:]]
        assert received[-1] == 1 and 9 not in received and received[-2] == 4


@requirement("progress.stops")
async def test_a_report_that_crosses_the_answer_is_not_delivered(revision: str) -> None:
    seen, options = listening()
    async with answering(revision) as server:
        call = asyncio.create_task(server.client.ping(options=options))
        asked = await server.asked("ping")
        server.tell(id=asked["id"], result={})
        server.tell(method=PROGRESS, params={"progressToken": asked["id"], "progress": 1})
        await call
        assert not seen and not server.errors


@requirement("progress.rate-limited")
async def test_a_flood_of_reports_is_held_back(revision: str) -> None:
    hold = Hold()
    async with raw(make_server(revision, call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x", "_meta": {"progressToken": 1}})
        await hold.begun.wait()
        for progress in range(1000):
            await hold.contexts[0].report_progress(progress)
        hold.gate.set()
        await line.answer(1)
        reports = [message["params"]["progress"] for message in line.got if message.get("method") == PROGRESS]
        assert len(reports) < 30 and reports[-1] == 999


@requirement("progress.task-token", "progress.task-ends")
async def test_a_task_reports_under_one_token_until_it_ends(revision: str) -> None:
    server = Worker()
    seen, options = listening()
    async with talk(server) as both:
        assert both.client.connection.revision == revision
        params = CallToolRequestParams(name="work", arguments={"do": "progress"})
        handle = await start_task(both.client, methods.TOOLS_CALL, params, options=options)
        async with asyncio.timeout(5):
            while not seen:
                await asyncio.sleep(0.01)
        assert seen == [(1, 2)]
        server.gate.set()
        await handle.result()
        assert server.context is not None
        await server.context.report_progress(3)
        await both.client.ping()
        assert seen == [(1, 2), (2, 2)] and not both.errors
        token = next(m for m in both.sent if m["method"] == "tools/call")["params"]["_meta"]["progressToken"]
        reports = [m["params"] for m in both.received if m.get("method") == PROGRESS]
        assert [report["progressToken"] for report in reports] == [token, token]
