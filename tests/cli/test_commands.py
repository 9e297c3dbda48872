"""The commands that answer questions: list, show, verify, errata."""

import json
import sys
from pathlib import Path

import pytest

from mcp_bindgen.ingest.revisions import released
from support.at_terminal import at_terminal
from support.command import Cli
from support.official import official_schema, seed_typescript
from support.samples import HANDSHAKE, HANDSHAKE_TS, REVISIONS, json_source

PINS = json.loads((Path(__file__).resolve().parents[2] / "schema" / "revisions.json").read_text("utf-8"))


class TestList:
    def test_the_list_as_json(self, cli: Cli) -> None:
        found = cli("list", "--format", "json").json
        assert [row["revision"] for row in found] == list(REVISIONS)
        assert [row["era"] for row in found] == [row.era for row in released().values()]
        assert [row["schema_ts_sha256"] for row in found] == [pin["schema_ts_sha256"] for pin in PINS]
        assert all(row["definitions"] > 80 and row["requests"] > 10 and row["notifications"] > 5 for row in found)

    def test_for_people(self, cli: Cli) -> None:
        out = cli("list").out
        for pin in PINS:
            assert pin["revision"] in out
            assert pin["schema_json_sha256"] in out
        assert cli("list", "--quiet").out == ""

    @pytest.mark.slow
    def test_a_terminal_shows_the_table_as_plain_text(self) -> None:
        command = str(Path(sys.executable).with_name("mcp-bindgen"))
        shown = at_terminal(command, "show", "PingRequest", "--revision", "2025-11-25", answers=[], COLUMNS="80")
        assert "\nproperty  type" in shown
        assert "\\x1b" not in shown


class TestShow:
    def test_a_method(self, cli: Cli) -> None:
        found = cli("show", "tools/call", "--revision", "2025-11-25", "--format", "json").json
        assert (found["kind"], found["direction"], found["revision"]) == ("method", "client_to_server", "2025-11-25")
        assert (found["params"], found["result"]) == ("CallToolRequestParams", "CallToolResult")
        assert (found["alternatives"], found["flags"]) == (["CreateTaskResult"], ["task_augmentable"])
        out = cli("show", "tools/call", "--revision", "2025-11-25").out
        assert "CallToolResult | CreateTaskResult" in out
        assert "arguments" in out

    def test_a_struct(self, cli: Cli) -> None:
        found = cli("show", "Tool", "--format", "json").json
        assert (found["kind"], found["revision"]) == ("struct", REVISIONS[-1])
        properties = {each["name"]: each for each in found["properties"]}
        assert (properties["name"]["type"], properties["name"]["required"]) == ("string", True)
        assert properties["name"]["inherited"] is True
        assert properties["inputSchema"]["doc"]
        assert "inputSchema" in cli("show", "Tool").out

    def test_an_alias(self, cli: Cli) -> None:
        assert cli("show", "RequestId", "--format", "json").json["type"] == "string | integer"
        assert "RequestId = string | integer" in cli("show", "RequestId").out

    @pytest.mark.parametrize("name", ["ping", "notifications/initialized", "LoggingLevel", "JSONRPCError", "Role"])
    def test_all_kinds_can_be_shown(self, cli: Cli, name: str) -> None:
        assert cli("show", name, "--revision", "2024-11-05").out.startswith(name)

    def test_it_says_which_revision_it_shows_and_where_else_the_name_is(self, cli: Cli) -> None:
        assert cli("show", "Task", "--revision", "2025-11-25").out.endswith(
            "\nrevision 2025-11-25; in no other revision\n"
        )
        assert f"revision {REVISIONS[-1]}; also in 2024-11-05, 2025-03-26" in cli("show", "Tool").out
        assert cli("show", "Icon", "--format", "json").json["revisions"] == [
            revision for revision in REVISIONS if revision >= "2025-11-25"
        ]
        assert f"Task: {REVISIONS[-1]} has no method or definition of that name; it exists in 2025-11-25" in (
            cli("show", "Task", expect=2).err
        )

    def test_the_revision_of_a_project(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "pyproject.toml").write_text('[tool.mcp-bindgen]\nrevisions = ["2025-03-26"]\n')
        assert "revision 2025-03-26; also in" in cli("show", "Tool").out

    def test_an_unknown_name_is_answered_with_close_ones(self, cli: Cli) -> None:
        done = cli("show", "tool/call", expect=2)
        assert "tools/call" in done.err
        assert "no method or definition" in cli("show", "[red]\x1b\nx", expect=2).err

    def test_a_schema(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "schema.ts").write_text(f"{HANDSHAKE_TS}export interface Box {{ side: string }}", "utf-8")
        place = ("--schema", tmp_path / "schema.ts", "--revision", "draft")
        shown = cli("show", "Box", *place).out
        assert "side      string  yes" in shown and shown.endswith("revision draft; in no other revision\n")
        assert cli("show", "InitializeResult", *place, "--format", "json").json["revisions"][-1] == "draft"
        (tmp_path / "schema.json").write_bytes(json_source(HANDSHAKE).data)
        shown = cli("show", "initialize", "--schema", tmp_path / "schema.json").out
        assert "revision unreleased; also in 2024-11-05" in shown

    def test_a_schema_excludes_an_extension(self, cli: Cli) -> None:
        both = ("--schema", "schema.ts", "--extension", "io.modelcontextprotocol/tasks")
        assert "leave out --extension" in cli("show", "Tool", *both, expect=2).err

    def test_an_unknown_revision(self, cli: Cli) -> None:
        assert "no such revision" in cli("show", "Tool", "--revision", "1999", expect=2).err


class TestVerify:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_the_official_schema_agrees(self, cli: Cli, revision: str) -> None:
        found = cli("verify", revision, "--against", official_schema(revision), "--format", "json").json
        assert (found["pinned"], found["agrees"], found["differences"]) == (True, True, [])

    def test_an_older_typescript_differs(self, cli: Cli) -> None:
        found = cli("verify", "2024-11-05", "--against", seed_typescript(), "--format", "json", expect=1).json
        assert found["pinned"] is False
        places = [(difference["rule"], difference["pointer"].split("/")[2]) for difference in found["differences"]]
        assert places == [("member", "Resource"), ("union-member", "ClientRequest"), ("union-member", "ServerResult")]

    def test_differences_are_listed(self, cli: Cli) -> None:
        out = cli("verify", "2024-11-05", "--against", seed_typescript(), expect=1).out
        assert "is not the pinned file" in out
        assert "/definitions/Resource/properties/size" in out

    @pytest.mark.parametrize(
        ("old", "new", "rule"),
        [
            ('"minimum":0', '"minimum":1', "bound"),
            ('"required":["name"]', '"required":[]', "required"),
            ('"const":"tools/call"', '"const":"tools/called"', "literal"),
        ],
    )
    def test_an_edited_schema_differs(self, cli: Cli, old: str, new: str, rule: str) -> None:
        text = json.dumps(json.loads(official_schema("2025-06-18").read_text("utf-8")), separators=(",", ":"))
        assert old in text
        Path("edited.json").write_text(text.replace(old, new, 1), "utf-8")
        found = cli("verify", "2025-06-18", "--against", "edited.json", "--format", "json", expect=1).json
        assert [difference["rule"] for difference in found["differences"]] == [rule]

    def test_an_edited_description_is_not_a_difference(self, cli: Cli) -> None:
        text = official_schema("2025-06-18").read_text("utf-8")
        Path("edited.json").write_text(text.replace('"description": "', '"description": "Edited. '), "utf-8")
        assert "is equivalent" in cli("verify", "2025-06-18", "--against", "edited.json").out

    def test_another_revision_differs(self, cli: Cli) -> None:
        cli("verify", "2025-06-18", "--against", official_schema("2025-11-25"), "--quiet", expect=1)

    def test_bad_input(self, cli: Cli) -> None:
        assert "no such revision" in cli("verify", "1999", "--against", official_schema("2025-06-18"), expect=2).err
        assert "no such file" in cli("verify", "2025-06-18", "--against", "absent", expect=2).err


class TestErrata:
    def test_files(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "schema.ts").write_text(
            f"{HANDSHAKE_TS}export interface Box {{ /** @TJS-type number */ n: number }}", "utf-8"
        )
        box = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        (tmp_path / "schema.json").write_bytes(json_source({**HANDSHAKE, "Box": box}).data)
        files = ("--schema", tmp_path / "schema.ts", "--schema", tmp_path / "schema.json")
        shown = cli("errata", "draft", *files).out
        assert "number (contradiction, 1 place)" in shown and "/$defs/Box/properties/n" in shown

    def test_the_ledger_in_short(self, cli: Cli) -> None:
        out = cli("errata").out
        for revision in REVISIONS:
            assert f"{revision}: " in out
        assert "number-in-value-union (contradiction, 2 places): a number next to a boolean" in out
        assert "schema.json" not in out

    def test_every_place_of_one_revision(self, cli: Cli) -> None:
        lines = cli("errata", "2026-07-28").out.splitlines()
        assert "(contradiction, " in lines[1]
        assert "/$defs/JSONValue" in "\n".join(lines)
        assert "/$defs/JSONValue" in cli("errata", "--all").out

    def test_the_list_as_json(self, cli: Cli) -> None:
        (found,) = cli("errata", "2025-11-25", "--format", "json").json
        assert found["revision"] == "2025-11-25"
        keys = {"rule", "sentence", "contradiction", "pointer", "json", "typescript"}
        assert all(row.keys() == keys for row in found["errata"])
        assert [row["contradiction"] for row in found["errata"]] == sorted(
            (row["contradiction"] for row in found["errata"]), reverse=True
        )
