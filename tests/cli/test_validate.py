"""`mcp-bindgen validate`: messages and logs, validated against every revision."""

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.live.recording.logs import MAX_LINE, Logged, read_log
from support.command import Cli
from support.programs import quick_python

PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PARAMS = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
RESULT = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
LOG = (
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": PARAMS},
    {"jsonrpc": "2.0", "id": 0, "result": RESULT},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}},
    {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text"}]}},
    {"jsonrpc": "2.0", "id": 2, "method": "tasks/list"},
)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("session.log")
    path.write_text("".join(f"{json.dumps(message)}\n" for message in LOG))
    return path


def test_it_prints_which_revisions_accept_a_message_and_why_others_refuse_it(log: Path, cli: Cli) -> None:
    assert cli("validate", log, expect=1).out == """\
session.log:1: request initialize with id 0, in a session of 2025-06-18
  accepted by 2024-11-05 to 2025-11-25 as InitializeRequest
  refused by 2026-07-28: /method: no such method: initialize
session.log:2: result of initialize with id 0 to line 1, in a session of 2025-06-18
  accepted by 2024-11-05 to 2025-11-25 as InitializeResult
  refused by 2026-07-28: /method: no such method: initialize
session.log:3: request tools/call with id 1, in a session of 2025-06-18
  accepted by 2024-11-05 to 2025-11-25 as CallToolRequest
  refused by 2026-07-28: /params/_meta: Field required
session.log:4: INVALID result of tools/call with id 1 to line 3, in a session of 2025-06-18
  refused by 2024-11-05 to 2025-11-25: /result/content/0/text: Field required
  refused by 2026-07-28: /result/resultType: Field required
    /result/content/0/text: Field required
session.log:5: INVALID request tasks/list with id 2, in a session of 2025-06-18
  accepted by 2025-11-25 as ListTasksRequest
  refused by 2024-11-05, 2025-03-26, 2025-06-18, 2026-07-28: /method: no such method: tasks/list

5 messages, 2 invalid
"""


def test_quiet_prints_only_invalid_messages(log: Path, cli: Cli) -> None:
    printed = cli("validate", "--quiet", log, expect=1).out
    assert [line.partition(":")[2][:1] for line in printed.splitlines() if line.startswith("session")] == ["4", "5"]


def test_a_revision_can_be_pinned(log: Path, cli: Cli) -> None:
    assert "5 messages, 1 invalid" in cli("validate", "--revision", "2025-11-25", log, expect=1).out
    facts = [json.loads(line) for line in cli("validate", "--format", "json", log, expect=1).out.splitlines()]
    assert [fact["valid"] for fact in facts] == [True, True, True, False, False]
    assert facts[3]["asked_on"] == 3
    assert facts[3]["refused"]["2025-06-18"] == [{"pointer": "/result/content/0/text", "reason": "Field required"}]
    assert facts[0]["accepted"]["2024-11-05"] == "InitializeRequest"
    pinned = cli("validate", "--format", "json", "--revision", "2025-11-25", log, expect=1).out.splitlines()
    assert [json.loads(line)["valid"] for line in pinned] == [True, True, True, False, True]


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(PING),
        f"2026-01-01T00:00 [info] [srv] sent: {json.dumps(PING)} {{ metadata: undefined }}",
        json.dumps({"level": 30, "msg": PING}),
        json.dumps({"level": 30, "data": {"raw": json.dumps(PING)}}),
        json.dumps(PING, indent=2),
        f"{{not json}} {json.dumps(PING)}",
    ],
    ids=["alone", "prefix", "object", "text in an object", "several lines", "after a bracket"],
)
def test_messages_are_found_in_logs_of_other_tools(line: str) -> None:
    (logged,) = read_log(io.BytesIO(line.encode()))
    (message,) = logged.messages
    assert json.loads(message) == PING


@pytest.mark.parametrize(
    "line", ["", "listening on 8080", '{"level": "info"}', '{"id": 1, "error": "x", "at": 2}', "[1]"]
)
def test_other_lines_contain_no_message(line: str) -> None:
    assert not any(logged.messages for logged in read_log(io.BytesIO(f"x\n{line}\n".encode())))


def test_a_message_that_cannot_be_read_is_invalid(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "x"
    path.write_text('{"jsonrpc": "2.0", "id": 1\n')
    assert "refused by every revision: /: not JSON" in cli("validate", path, expect=1).out


def test_batches_are_valid_only_in_2025_03_26(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps([PING, {**PING, "id": 2, "method": 5}]))
    (fact,) = cli("validate", "--format", "json", path, expect=1).out.splitlines()
    assert json.loads(fact)["refused"]["2025-03-26"][0]["pointer"] == "/1"
    path.write_text(json.dumps([PING]))
    assert list(json.loads(cli("validate", "--format", "json", path).out)["accepted"]) == ["2025-03-26"]


def test_a_result_without_its_request_is_identified_by_its_properties(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}))
    found = json.loads(cli("validate", "--format", "json", path).out)
    assert found["accepted"]["2025-11-25"] == "ListToolsResult"
    assert found["refused"]["2026-07-28"] == [{"pointer": "/result/resultType", "reason": "Field required"}]


def test_standard_input_is_read(tmp_path: Path) -> None:
    command = [quick_python(), "-m", "mcp_bindgen", "validate", "-"]
    done = subprocess.run(command, input=json.dumps(PING), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("-:1: request ping with id 1\n")


class TestBadInput:
    def test_a_file_without_messages(self, tmp_path: Path, cli: Cli) -> None:
        path = tmp_path / "x"
        path.write_text("hello\n")
        assert cli("validate", path, expect=2).err == f"error: {path}: contains no protocol message\n"

    def test_a_file_that_is_not_there(self, cli: Cli) -> None:
        assert cli("validate", "nowhere", expect=2).err == "error: nowhere: cannot be read: No such file or directory\n"

    def test_a_revision_that_is_not_there(self, cli: Cli) -> None:
        assert list(released())[-1] in cli("validate", "--revision", "2020-01-01", "-", expect=2).err


class TestHostileLogs:
    def test_nothing_is_printed_raw(self, tmp_path: Path, cli: Cli) -> None:
        path = tmp_path / "x"
        path.write_text(
            json.dumps({**PING, "id": "\x1b]0;x\x07", "method": "\x1b[2J\u202e" * 1000}, ensure_ascii=False)
        )
        for format_ in ("text", "json"):
            printed = cli("validate", "--format", format_, path, expect=1).out
            assert printed.replace("\n", "").isprintable()
            assert len(printed) < 20_000

    def test_an_overlong_line_is_skipped(self) -> None:
        long = b'{"jsonrpc": "2.0", "x": "' + b"x" * (MAX_LINE + 5)
        text = long + b"\n" + json.dumps(PING).encode() + b"\n" + long
        first, second, third = read_log(io.BytesIO(text))
        assert first == Logged(line=1, is_too_long=True)
        assert json.loads(second.messages[0]) == PING
        assert third == Logged(line=3, is_too_long=True)

    @pytest.mark.parametrize(
        "line", [b"{" * 1_000_000, b"[" * 1_000_000, b'{"a":' * 200_000, b"[" + b"{}," * 4_000_000]
    )
    def test_deep_and_broad_lines_contain_no_message(self, line: bytes) -> None:
        (logged,) = read_log(io.BytesIO(line + b"\n"))
        assert not logged.messages

    def test_a_log_is_read_as_it_arrives(self) -> None:
        command = [quick_python(), "-m", "mcp_bindgen", "validate", "--format", "json", "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            for id_ in range(3):
                process.stdin.write(json.dumps({**PING, "id": id_}).encode() + b"\n")
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["id"] == id_
            process.stdin.close()
            assert process.wait() == 0


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_boolean_schemas_are_a_warning(member: str, value: bool, revision: str, cli: Cli, tmp_path: Path) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, member: {"type": "object", "properties": {"x": value}}}
    page = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    (tmp_path / "log").write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": page}))
    is_legacy = revision < "2026"
    done = cli("validate", "--revision", revision, tmp_path / "log", "--format", "json")
    found = json.loads(done.out.splitlines()[-1])
    assert found["valid"]
    assert [one["pointer"] for one in found["warnings"]] == [f"/result/tools/0/{member}/properties/x"] * is_legacy
    printed = cli("validate", "--revision", revision, tmp_path / "log").out
    assert ("  warning: /result/tools/0/" in printed) is is_legacy
