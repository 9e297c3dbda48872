"""The exported JSON Schema says what the models say, and what every definition and property means."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from differential.subjects import Judge, subject
from mcp_bindgen.emit.json_schema import json_schema
from mcp_bindgen.ir.json_values import is_list, is_object
from support.command import Cli
from support.samples import REVISIONS, json_source

ANNOTATIONS = frozenset(("title", "description", "deprecated", "default"))
CORPUS = Path(__file__).parents[1] / "corpus"


def structure(schema: Any, *, of_names: bool = False) -> Any:
    """Return a schema without its annotations; below some keywords, keys are names."""
    if is_list(schema):
        return [structure(each) for each in schema]
    if not is_object(schema):
        return schema
    return {
        key: structure(value, of_names=key in ("$defs", "properties") and not of_names)
        for key, value in schema.items()
        if of_names or key not in ANNOTATIONS
    }


@pytest.mark.parametrize("revision", REVISIONS)
class TestRevision:
    def test_it_is_valid_and_accepts_what_the_models_accept(self, revision: str) -> None:
        """The differential tests compare the undocumented schema with the models."""
        found = json_schema(subject(revision).protocol, documented=True)
        Draft202012Validator.check_schema(found)
        assert structure(found) == subject(revision).schema

    def test_everything_is_described(self, revision: str) -> None:
        found = json_schema(subject(revision).protocol, documented=True)["$defs"]
        assert [name for name, schema in found.items() if not schema.get("description")] == []
        properties = [(name, key, p) for name, s in found.items() for key, p in s.get("properties", {}).items()]
        assert [(name, key) for name, key, schema in properties if not schema.get("description")] == []

    def test_it_judges_the_messages_of_the_corpus(self, revision: str) -> None:
        protocol = subject(revision).protocol
        judge = Judge(json_schema(protocol, documented=True))
        judged = 0
        written = set[str]()
        for path in sorted(CORPUS.glob("*.json")):
            for case in json.loads(path.read_text("utf-8")):
                written |= {*case["accepted"]}
                method = next((m for m in protocol.methods if m.name == case["method"]), None)
                part = "params" if case["kind"] in ("request", "notification") else case["kind"]
                if method is None or revision not in case["accepted"] or part not in case["message"]:
                    continue
                names = [method.params] if part == "params" else [method.result, *method.alternatives]
                if part in ("params", "result"):
                    judged += 1
                    assert any(judge.accepts(name, case["message"][part]) for name in names if name), case["name"]
        assert judged > 30 or revision not in written


def test_the_result_of_a_method_and_nothing_else(cli: Cli) -> None:
    found = cli("export", "json-schema", "--method", "tools/call", "--part", "result").json
    assert found["anyOf"] == [{"$ref": "#/$defs/CallToolResult"}, {"$ref": "#/$defs/InputRequiredResult"}]
    assert "CallToolResult" in found["$defs"] and "CallToolRequestParams" not in found["$defs"]
    validator: Any = Draft202012Validator(found)
    assert validator.is_valid({"resultType": "complete", "content": [{"type": "text", "text": "Sunny"}]})
    assert not validator.is_valid({"content": [{"type": "text"}]})


def test_a_file_of_the_whole_revision(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "mcp.json"
    cli("export", "json-schema", "2025-11-25", "--output", str(out))
    text = out.read_text("ascii")
    assert text == cli("export", "json-schema", "2025-11-25").out
    assert json.loads(text)["title"] == "Model Context Protocol 2025-11-25"


def test_a_revision_of_the_user(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    ping = {
        "type": "object",
        "description": "<script>alert(1)</script>\u202e",
        "properties": {"method": {"const": "ping"}, "params": {"$ref": "#/$defs/Value"}},
        "required": ["method"],
    }
    value = {"type": "object", "properties": {"v": {"$ref": "#/$defs/Value"}}}
    union = {"anyOf": [{"$ref": "#/$defs/PingRequest"}]}
    definitions = {"PingRequest": ping, "PingResult": {"type": "object"}, "Value": value, "ClientRequest": union}
    path.write_bytes(json_source(definitions).data)
    found = cli("export", "json-schema", "2099-01-01", "--schema", str(path), "--method", "ping").json
    assert "Value" in found["$defs"]
    assert cli("export", "openrpc", "2099-01-01", "--schema", str(path)).json["x-mcp-recursive"] == ["Value"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "tool/call"), "tool/call: 2026-07-28 has no such method; did you mean tools/call"),
        (("--method", "x"), "x: 2026-07-28 has no such method; `mcp-bindgen show`"),
        (("--method", "tools/call", "--part", "resul"), "resul: no such part of a method; did you mean result?"),
        (("--method", "tools/call", "--part", "x"), "x: no such part of a method; the parts are params and result"),
        (("--part", "params"), "--part: names a part of a method; give --method, too"),
        (("--method", "notifications/cancelled", "--part", "result"), "has no result in 2026-07-28"),
    ],
)
def test_an_unknown_method_or_part_is_one_line(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli("export", "json-schema", "2026-07-28", *arguments, expect=2)
    assert (done.out, done.err.count("\n")) == ("", 1)
    assert message in done.err
