"""A conversation, as observed between its two sides."""

import asyncio
import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.check.requirements import rows
from mcp_bindgen.live.bindings import package_of, packages_of
from mcp_bindgen.live.bindings import revisions as released
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.memory import connect_memory
from mcp_runtime.observe.observer import MAX_JUDGED, Finding, Observer
from observe.faults import CLIENT, FAULTS, SERVER, Fault, Said, call, hello, note, result

SIDES = {CLIENT: Side.CLIENT, SERVER: Side.SERVER}
LIST = (CLIENT, call(1, "tools/list"))
CALL = (CLIENT, call(1, "tools/call", {"name": "x", "_meta": {"progressToken": "t"}}))
PROGRESS = (SERVER, note("notifications/progress", {"progressToken": "t", "progress": 2}))
UNSEEN: list[str] = [
    name
    for group in tomllib.loads(Path(__file__).with_name("unseen.toml").read_text("utf-8"))["unseen"]
    for name in group["rows"]
]
WAYS = {"sent": Side.CLIENT, "received": Side.SERVER}


def observer() -> Observer:
    return Observer(package.BINDING for package in packages_of(released()))


def watch(*lines: Said, by: Observer | None = None) -> list[list[Finding]]:
    watching = by or observer()
    return [watching.take(SIDES[who], line) for who, line in lines]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_finds_a_fault_and_nothing_before_it(fault: Fault) -> None:
    *before, last = watch(*fault.lines)
    assert not any(before), before
    (found,) = [finding for finding in last if finding.pointer == fault.pointer]
    assert found.sender is SIDES[fault.lines[-1][0]]
    assert fault.reason in found.reason


def test_each_fault_breaks_an_existing_requirement() -> None:
    assert {fault.requirement for fault in FAULTS} <= rows().keys()
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_each_requirement_is_broken_by_a_fault_or_cannot_be_checked() -> None:
    """Each MUST has a fault or exactly one reason; each reason is about a requirement without a fault."""
    broken = {fault.requirement for fault in FAULTS}
    reasons = {row.id: [name for name in UNSEEN if fnmatchcase(row.id, name)] for row in rows().values() if row.must}
    assert not {id_: names for id_, names in reasons.items() if len(names) != (id_ not in broken)}
    assert set(UNSEEN) <= {name for names in reasons.values() for name in names}, "stale: no requirement has this id"


def test_a_line_that_is_not_utf_8() -> None:
    *before, (found,) = watch(*hello(), (CLIENT, b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}'))
    assert not any(before) and "invalid unicode" in found.reason


@pytest.mark.parametrize("revision", released())
async def test_the_client_and_server_of_the_runtime_have_no_faults(revision: str) -> None:
    package = package_of(revision)

    async def list_tools(self: Any, params: Any, ctx: Any) -> Any:
        page = {"ttlMs": 0, "cacheScope": "private"} if package.BINDING.era == "modern" else {}
        return package.ListToolsResult.model_validate(
            {"tools": [{"name": "x", "inputSchema": {"type": "object"}}], "resultType": "complete", **page}
        )

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        await ctx.report_progress(1)
        await ctx.log("info", "halfway")
        await ctx.report_progress(2)
        if params.arguments:
            await asyncio.sleep(60)
        return package.CallToolResult(content=[])

    handlers = {"list_tools": list_tools, "call_tool": call_tool, "options": ServerOptions(logging=True)}
    server = type("Served", (package.Server,), handlers)()
    seen: list[tuple[Side, bytes]] = []
    options = ClientOptions(trace=lambda way, message: seen.append((WAYS[way], message)))
    async with connect_memory(server) as peer:
        client = await package.Client.open(peer, options=options)
        assert len((await client.list_tools()).tools) == 1
        reported: list[float] = []
        progress = CallOptions(progress=lambda done, total, message: reported.append(done))
        await client.call_tool(name="x", options=progress)
        with pytest.raises(TimeoutError):
            await client.call_tool(name="x", arguments={"slow": 1}, options=CallOptions(timeout=0.05))
        await client.list_tools()
        assert reported == [1, 2]
    watching = observer()
    found = [finding for sender, text in seen for finding in watching.take(sender, text)]
    assert not found
    assert len(seen) > 8
    assert watching.revision == revision


class TestCrossing:
    """Messages that cross on their way are not faults of their senders."""

    def test_an_answer_to_a_request_that_was_cancelled(self) -> None:
        cancelled = (CLIENT, note("notifications/cancelled", {"requestId": 1}))
        findings = watch(*hello(), CALL, cancelled, PROGRESS, (SERVER, result(1, {"content": []})))
        assert not any(findings)

    def test_a_cancellation_of_what_was_answered(self) -> None:
        cancelled = (CLIENT, note("notifications/cancelled", {"requestId": 1}))
        assert not any(watch(*hello(), LIST, (SERVER, result(1, {"tools": []})), cancelled))

    def test_both_sides_use_the_same_ids(self) -> None:
        asks = (SERVER, call(1, "roots/list"))
        findings = watch(*hello(), LIST, asks, (CLIENT, result(1, {"roots": []})), (SERVER, result(1, {"tools": []})))
        assert not any(findings)


class TestAfterAFault:
    """A fault is reported once; its consequences are not."""

    def test_the_answer_to_a_request_that_came_too_early(self) -> None:
        assert [len(found) for found in watch(LIST, (SERVER, result(1, {"tools": []})))] == [1, 0]

    def test_the_rest_of_a_request_whose_answer_could_not_be_read(self) -> None:
        findings = watch(*hello(), LIST, (SERVER, b'{"id": 1, "result": {}, oops'), (SERVER, result(1, {"tools": []})))
        assert [len(found) for found in findings[-2:]] == [1, 1]
        assert findings[-2][0].method == "tools/list"
        assert "not an open request" in findings[-1][0].reason


class TestLimits:
    def test_a_message_that_is_too_long_is_not_checked_but_counts(self) -> None:
        watching = observer()
        watch(*hello(), LIST, by=watching)
        long: dict[str, Any] = {"tools": [], "more": "x" * MAX_JUDGED}
        assert watch((SERVER, result(1, long)), (SERVER, result(1, {"tools": []})), by=watching)[0] == []
        assert watching.unjudged == 1
        assert "not an open request" in watch((SERVER, result(1, {"tools": []})), by=watching)[0][0].reason

    def test_long_names_are_shortened_in_findings(self) -> None:
        name = "\x1b[31m" * 100_000
        for found in watch(*hello(), (CLIENT, call(name, name)), (SERVER, result(name + "x", {})))[-2:]:
            (finding,) = found
            assert len(json.dumps([finding.reason, finding.id, finding.method, finding.pointer])) < 1000
            assert "\x1b" not in f"{finding.reason}{finding.method}{finding.id}"

    @pytest.mark.slow
    def test_unanswered_requests_are_forgotten_eventually(self) -> None:
        watching = observer()
        watch(*hello(), by=watching)
        for id_ in range(20_001):
            assert watching.take(Side.CLIENT, call(id_, "ping")) == []
        assert watch((SERVER, result(20_000, {})), by=watching) == [[]]
        ends = watching._legacy.ends.values()  # pyright: ignore[reportPrivateUsage]
        assert all(len(end.incoming) + len(end.asked) <= 20_000 for end in ends)
