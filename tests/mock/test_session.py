"""A recorded session is replayed byte for byte in its own revision, and bridged to every other one."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from mcp_bindgen.live.mask import message_mask
from mcp_bindgen.mock import server
from mcp_bindgen.mock.session import read_session
from mcp_bindings import Client, v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.core.errors import PeerError
from mcp_runtime.testing import connect
from mock.cafe import cafe, converse, heard, lines_of, record
from support.command import Cli
from support.programs import quick_python

PACKAGES = (v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28)
QUICK = ((v2025_11_25, v2026_07_28), (v2026_07_28, v2024_11_05))
BRIDGED = [
    pytest.param(recorded, spoken, marks=() if (recorded, spoken) in QUICK else pytest.mark.slow)
    for recorded in (v2025_11_25, v2026_07_28)
    for spoken in PACKAGES
]
ASKING = (v2025_06_18, v2025_11_25, v2026_07_28)


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> Path:
    """A session in the newest revision."""
    path = tmp_path / "session.jsonl"
    await record(cafe(), Client, path)
    return path


@pytest.mark.parametrize("package", ASKING, ids=lambda package: package.REVISION)
async def test_a_session_is_replayed_byte_for_byte(tmp_path: Path, package: Any) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    await record(cafe(), package.Client, first)
    await record(server(session=first), package.Client, second)
    for replayed, recorded in zip(lines_of(second), lines_of(first), strict=True):
        assert replayed == recorded
    assert len(lines_of(first)) > 30


@pytest.mark.parametrize(("recorded", "spoken"), BRIDGED, ids=lambda package: package.REVISION)
async def test_a_session_is_bridged_to_every_revision(tmp_path: Path, recorded: Any, spoken: Any) -> None:
    path = tmp_path / "session.jsonl"
    expected = await record(cafe(), recorded.Client, path)
    # The client checks that it is asked for the same input, where its revision has it.
    async with heard(server(session=path), spoken.Client) as client:
        found = await converse(client)
    masked = message_mask().mask(expected)
    assert [_said(each) for each in found] == [_said(each) for each in masked]


def _said(result: Any) -> Any:
    """Return what all revisions have of a result."""
    if isinstance(result, str):
        return result
    names = [each["name"] for area in ("tools", "resources", "prompts") for each in result.get(area, ())]
    return names, result.get("content"), result.get("contents"), result.get("messages"), result.get("isError")


async def test_equal_calls_are_answered_in_order_and_then_as_the_last_one(session: Path) -> None:
    async with heard(server(session=session), Client) as client:
        counts: list[Any] = []
        for tea in ("green", "green", "black", "green"):
            result = await client.call_tool(name="serve", arguments={"tea": tea})
            counts.append(result.structured_content["cups"])
        await client.call_tool(name="order")
    assert counts == [1, 3, 2, 3]


async def test_an_unrecorded_call_is_a_clear_error(session: Path) -> None:
    async with connect(server(session=session), Client) as client:
        with pytest.raises(PeerError) as caught:
            await client.call_tool(name="serve", arguments={"tea": "white"})
        assert '{"arguments":{"tea":"white"},"name":"serve"}; it has 6: ' in caught.value.message
        with pytest.raises(PeerError, match="it has none of this method"):
            await client.list_resource_templates()


async def test_metadata_and_secrets_do_not_tell_calls_apart(session: Path) -> None:
    async with connect(server(session=session), Client) as client:
        result = await client.call_tool(name="sign_in", arguments={"token": "another-secret"})
        assert result.structured_content == {"session_token": "***", "greeting": "hello"}


def test_secrets_are_masked_and_schemas_are_not(session: Path) -> None:
    text = session.read_text("utf-8")
    assert "tea-for-two-9" not in text
    assert '"token":{"type":"string"}' in text.replace(" ", "")
    assert session.stat().st_mode & 0o077 == 0


async def test_an_interrupted_call_is_an_error(session: Path, tmp_path: Path) -> None:
    lines = session.read_text("utf-8").splitlines(keepends=True)
    (last,) = [place for place, line in enumerate(lines) if '"tools/call"' in line and "burn" in line]
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[: last + 1]), "utf-8")
    async with connect(server(session=cut), Client) as client:
        with pytest.raises(PeerError, match=f"the session ends before the answer to line {last + 1}"):
            await client.call_tool(name="burn")


HEADER = '{"session": 1}\n'
START = '{"conversation": 1, "from": "client", "message": {"jsonrpc": "2.0", "id": 1, "method": "initialize"}}\n'
BAD = {
    "": "has no conversation in a released revision",
    "hello\n": "s.jsonl:1: is not a recorded session",
    '{"format": 1, "tools": []}\n': "s.jsonl:1: is not a recorded session",
    '{"session": 2}\n': "s.jsonl:1: is not a recorded session",
    HEADER: "has no conversation",
    HEADER + START: "has no conversation",
    HEADER + START[:50]: "s.jsonl:2: is cut off in the middle",
    HEADER + "[" * 100_000: "s.jsonl:2: is cut off in the middle",
    HEADER + "5\n": "s.jsonl:2: has no message of a conversation",
    HEADER + '{"conversation": [], "message": {}}\n': "s.jsonl:2: has no message of a conversation",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40])
def test_a_file_that_is_not_a_session_is_one_line(cli: Cli, tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text, "utf-8")
    (line,) = cli("mock", "--session", path, expect=2).err.splitlines()
    assert BAD[text] in line


LEFT_OUT = {
    '{"conversation": 1, "from": "cli': "is cut off in the middle",
    "[" * 100_000: "is cut off in the middle",
    "5": "has no message of a conversation",
    "null": "has no message of a conversation",
    '{"message": {}}': "has no message of a conversation",
    '{"conversation": "1", "message": {}}': "has no message of a conversation",
    '{"session": 1}': "has no message of a conversation",
}


async def test_lines_that_are_not_messages_are_left_out(session: Path, tmp_path: Path) -> None:
    lines = session.read_text("utf-8").splitlines()
    places = [3 * number + 2 for number in range(len(LEFT_OUT))]
    for place, text in zip(places, LEFT_OUT, strict=True):
        lines.insert(place - 1, text)
    damaged = tmp_path / "s.jsonl"
    damaged.write_text("\n".join(lines), "utf-8")
    found = read_session(damaged)
    assert [(each.where.line, each.message) for each in found.unreadable] == list(
        zip(places, LEFT_OUT.values(), strict=True)
    )
    async with connect(server(session=damaged), Client) as client:
        assert (await client.call_tool(name="serve", arguments={"tea": "green"})).is_error is not True


HOSTILE = [
    '{"conversation": 1, "from": "server"}',
    '{"conversation": 1, "from": "client", "message": {"id": {}, "method": "tools/call", "params": 5}}',
    '{"conversation": 1, "from": "client", "message": {"id": [], "method": ["a"]}}',
    '{"conversation": 1, "from": "client", "message": [{"id": 9, "method": "tools/call"}, 5]}',
    '{"conversation": 1, "from": "server", "message": {"id": 9, "result": {"resultType": "input_required"}}}',
    '{"conversation": 1, "from": "server", "message": {"id": 77, "result": 5, "error": 5}}',
    '{"conversation": 1, "from": "server", "message": {"method": "notifications/progress", "params": {}}}',
    '{"conversation": 1, "from": "server", "message": {"method": "notifications/message", "params": {"level": 5}}}',
    '{"conversation": 1, "from": "server", "message": {"id": 1, "method": "sampling/createMessage", "params": {}}}',
    '{"conversation": -5, "from": "nobody", "message": {"id": 1, "method": "tools/list"}}',
]


async def test_messages_that_make_no_sense_do_not_end_the_replay(session: Path, tmp_path: Path) -> None:
    header, *lines = session.read_text("utf-8").splitlines()
    odd = tmp_path / "odd.jsonl"
    mixed = [each for place, line in enumerate(lines) for each in (line, HOSTILE[place % len(HOSTILE)])]
    odd.write_text("\n".join([header, *mixed]), "utf-8")
    async with connect(server(session=odd), Client) as client:
        assert (await client.call_tool(name="serve", arguments={"tea": "black"})).structured_content == {"cups": 2}


async def of_two_revisions(folder: Path) -> Path:
    """Record two clients in one file."""
    path, other = folder / "session.jsonl", folder / "other.jsonl"
    await record(cafe(), Client, path)
    await record(cafe(), v2025_06_18.Client, other)
    lines = (json.loads(line) for line in other.read_text("utf-8").splitlines()[1:])
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({**line, "conversation": 1 + line["conversation"]}) + "\n" for line in lines)
    return path


async def test_a_session_of_two_revisions_is_replayed_in_one(tmp_path: Path, cli: Cli) -> None:
    path = await of_two_revisions(tmp_path)
    assert isinstance(server(session=path), v2026_07_28.Server)
    assert isinstance(server(session=path, revision="2025-06-18"), v2025_06_18.Server)
    told = cli("mock", "--session", path, "--revision", "2024-11-05", expect=2).err
    assert told.endswith("session.jsonl: has no conversation in 2024-11-05, but in 2025-06-18, 2026-07-28\n")


@pytest.mark.slow
async def test_what_is_not_replayed_is_told(tmp_path: Path) -> None:
    path = await of_two_revisions(tmp_path)
    words = (quick_python(), "-m", "mcp_bindgen", "mock", "--session", str(path))
    told = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stderr
    assert "messages of the client in 2025-06-18 left out; --revision 2025-06-18 replays them\n" in told
