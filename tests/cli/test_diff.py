"""`mcp-bindgen diff` as a user runs it."""

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcp_bindgen.emit.json_schema import json_schema, reference
from mcp_bindgen.ir.nodes import Direction, Era, Protocol
from mcp_bindgen.load.protocol import load_released
from support.command import Cli
from support.official import official_schema, seed_typescript
from support.samples import OLDEST_IS_QUICK, REVISIONS

ROOT = Path(__file__).resolve().parents[2]
PAIRS = list(pairwise(REVISIONS))


def test_the_report_is_short_and_names_the_peers_that_break(cli: Cli) -> None:
    out = cli("diff", "2025-11-25", "2026-07-28", expect=1).out
    assert len(out.splitlines()) <= 100
    assert max(len(line) for line in out.splitlines()) <= 120
    assert re.search(r"a client written for 2025-11-25 against a 2026-07-28 server: \d+ breaks", out)
    assert re.search(r"a server written for 2025-11-25 against a 2026-07-28 client: \d+ breaks", out)
    assert "\n  version: peers that negotiate a common revision are not affected" in out
    assert re.search(r"\n  schema author: \w+", out)
    assert "server: resultType: ResultType, in CallToolResult, CompleteResult" in out
    assert "\ndefinitions and Python source (--view source shows them)\n" in out
    assert "definition-removed:" not in out
    assert re.search(r"\nby method .*\n  tools/\w+ \d+\+\d+, ", out)


def test_all_prints_the_messages(cli: Cli) -> None:
    out = cli("diff", "2024-11-05", "2025-03-26", "--all", expect=1).out
    assert '{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "audio"' in out
    assert "Tool.annotations" in out


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_every_break_is_proven_by_a_message(cli: Cli, old: str, new: str) -> None:
    """The witness is valid for its sender and refused by its receiver: checked again with separate validators."""
    found = cli("diff", old, new, "--format", "json", "--fail-on", "never").json
    sides = {"old": load_released(old), "new": load_released(new)}
    proven = 0
    for finding in found["findings"]:
        assert bool(finding["breaks"]) == (finding["severity"] == "error")
        assert all(finding["unproven"].values()), "a break that no message shows says why"
        assert finding["witnesses"].keys() == set(finding["breaks"])
        for pair, message in finding["witnesses"].items():
            proven += 1
            client, server = ("old", "new") if pair.startswith("old client") else ("new", "old")
            verdicts = {
                (sender, receiver)
                for sender, receiver, receiving in ((client, server, "server"), (server, client, "client"))
                if accepts(sides[sender], message, finding, receiving, sent=True)
                and not accepts(sides[receiver], message, finding, receiving, sent=False)
            }
            assert verdicts, (finding["rule"], finding["place"], message)
    assert proven == sum(peers["breaks"] for peers in found["verdict"]["peers"]) > 0


def accepts(protocol: Protocol, message: Any, finding: dict[str, Any], to: str, *, sent: bool) -> bool:
    """Whether one side may send, or accepts, a message in one direction."""
    if not finding["methods"]:  # a frame, regardless of its content
        frame: Any = jsonschema.Draft202012Validator({**json_schema(protocol), "$ref": reference("JSONRPCMessage")})
        return bool(frame.is_valid(message))
    assert "jsonrpc" in message, "a whole frame"
    part = "result" if "result" in message else "params"
    for inner in ("inputRequests", "inputResponses"):
        if inner in message.get(part, {}):
            return accepts_inner(protocol, message, finding, inner)
    asks = {"server": Direction.CLIENT_TO_SERVER, "client": Direction.SERVER_TO_CLIENT}
    answers = {"server": Direction.SERVER_TO_CLIENT, "client": Direction.CLIENT_TO_SERVER}
    directions = {(asks if part == "params" else answers)[to], Direction.BOTH}
    names = [message["method"]] if "method" in message else finding["methods"]
    for method in protocol.methods:
        if method.name not in names or (method.direction not in directions and sent):
            continue
        if method.direction is Direction.EMBEDDED and finding["rule"].startswith("request-method"):
            continue
        if part not in message:
            if not method.params_required:
                return True
            continue
        types = [method.params] if part == "params" else [method.result, *method.alternatives]
        if protocol.era is Era.MODERN and message[part].get("resultType") == "complete":
            types = [method.result]  # The modern era tells the forms of a result by this property.
        schema = {**json_schema(protocol), "anyOf": [{"$ref": reference(name)} for name in types if name]}
        validator: Any = jsonschema.Draft202012Validator(schema)
        if validator.is_valid(message[part]):
            return True
    return False


def accepts_inner(protocol: Protocol, message: Any, finding: dict[str, Any], inner: str) -> bool:
    """Whether one side accepts an embedded request or its response."""
    (embedded,) = message["result" if inner == "inputRequests" else "params"][inner].values()
    names = [name for name in finding["methods"] if embedded.get("method", name) == name]
    methods = [method for method in protocol.methods if method.name in names]
    assert methods
    types = [
        name
        for method in methods
        for name in ([method.params] if inner == "inputRequests" else [method.result, *method.alternatives])
    ]
    schema = {**json_schema(protocol), "anyOf": [{"$ref": reference(name)} for name in types if name]}
    validator: Any = jsonschema.Draft202012Validator(schema)
    return bool(validator.is_valid(embedded["params"] if inner == "inputRequests" else embedded))


@pytest.mark.parametrize("revision", OLDEST_IS_QUICK)
def test_nothing_changes_between_a_revision_and_its_official_file(cli: Cli, revision: str) -> None:
    assert cli("diff", revision, revision, "--format", "json").json["findings"] == []
    assert cli("diff", revision, official_schema(revision), "--format", "json").json["findings"] == []


def test_the_first_schema_lacks_a_property_and_a_result(cli: Cli) -> None:
    sides = (seed_typescript(), official_schema("2024-11-05"))
    found = cli("diff", *sides, "--format", "json", "--view", "wire", expect=1).json["findings"]
    assert {(f["rule"], f["place"], f["new"]) for f in found} == {
        ("property-added-optional", "Resource.size", "integer"),
        ("request-method-added", "ListResourceTemplatesRequest", "resources/templates/list"),
        ("result-type-added", "ServerResult", "ListResourceTemplatesResult"),
    }


def test_a_file_is_compared_with_that_of_a_commit(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "2025-06-18"
    folder.mkdir()
    schema = json.loads((ROOT / "schema" / "2025-06-18" / "schema.json").read_bytes())
    (folder / "schema.json").write_text(json.dumps(schema))
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "before")):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    schema["definitions"]["Tool"]["required"].append("description")
    (folder / "schema.json").write_text(json.dumps(schema))
    monkeypatch.chdir(tmp_path)
    before = "HEAD:2025-06-18/schema.json"
    found = cli("diff", before, "2025-06-18/schema.json", "--format", "json", expect=1).json["findings"]
    (finding,) = [f for f in found if f["severity"] == "error"]
    assert (finding["rule"], finding["place"]) == ("property-now-required", "Tool.description")
    assert finding["breaks"] == ["new client, old server"]
    assert finding["location"]["file"] == "2025-06-18/schema.json"
    again = cli("diff", "2025-06-18/schema.json", before, "--format", "json", expect=1).json["findings"]
    (finding,) = [f for f in again if f["severity"] == "error"]
    assert finding["location"]["file"] == "2025-06-18/schema.json"


def test_the_exit_status_follows_fail_on(cli: Cli) -> None:
    cli("diff", "2024-11-05", "2025-03-26", "--fail-on", "never", expect=0)
    cli("diff", "2024-11-05", "2025-03-26", expect=1)
    cli("diff", "2024-11-05", "2024-11-05", "--fail-on", "info", expect=0)


@pytest.mark.parametrize(
    ("side", "reason"),
    [
        ("2019-01-01", "neither a released revision"),
        ("missing/schema.json", "no such file"),
        ("nowhere:schema.json", "git cannot show it"),
        ("--upload-pack=x:y", "No such option"),
    ],
)
def test_sides_that_are_not_schemas_are_refused(cli: Cli, side: str, reason: str) -> None:
    outcome = cli("diff", side, "2024-11-05", expect=2)
    assert reason in outcome.err
    assert outcome.out == ""
