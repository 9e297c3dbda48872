"""The facts of a schema.ts: written as they are shipped, read back the same, and refused with a pointer when bad."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ingest.typescript import TypeScriptDocument, read_typescript
from mcp_bindgen.ingest.typescript_facts import (
    document_from_facts,
    facts_from_document,
    render_typescript,
)
from mcp_bindgen.ingest.typescript_types import Body
from mcp_bindgen.ir.diagnostics import Diagnostics
from support.official import seed_typescript

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

SMALL: dict[str, Any] = {
    "revision": None,
    "constants": {"LIMIT": 3},
    "declarations": [
        {
            "name": "A",
            "kind": "interface",
            "extends": ["B"],
            "members": [
                {"name": "a/b", "optional": True, "type": "string", "tags": {"format": "uri"}},
                {"index": "[key: string]: unknown"},
            ],
        },
        {"name": "C", "kind": "type", "value": "| A | typeof LIMIT", "tags": {"internal": True}},
        {"name": "B", "kind": "interface", "extends": [], "members": []},
    ],
}


def read(text: str) -> TypeScriptDocument:
    """Read a text that must be without errors."""
    diagnostics = Diagnostics()
    document = read_typescript(text, "schema.ts", diagnostics)
    assert [str(d) for d in diagnostics] == []
    return document


def spelled(facts: object) -> str:
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def shipped(revision: str) -> tuple[str, Any]:
    text = (SCHEMAS / revision / "typescript.json").read_text("utf-8")
    return text, json.loads(text)


def _replaced(facts: Any, path: tuple[str | int, ...], value: object) -> Any:
    """Return a copy of JSON data with one value replaced."""
    if not path:
        return value
    changed = copy.deepcopy(facts)
    place = changed
    for token in path[:-1]:
        place = place[token]
    place[path[-1]] = value
    return changed


class TestFacts:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_facts_survive_typescript(self, revision: str) -> None:
        text, facts = shipped(revision)
        rendered = render_typescript(facts)
        assert spelled(facts_from_document(read(rendered), rendered)) == text

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_shipped_facts_are_read(self, revision: str) -> None:
        diagnostics = Diagnostics()
        facts = shipped(revision)[1]
        document = document_from_facts(facts, "typescript.json", diagnostics)
        assert list(diagnostics) == []
        assert document == read_typescript(render_typescript(facts), "typescript.json", Diagnostics())
        assert document.revision == revision
        for position, (one, given) in enumerate(zip(document.declarations, facts["declarations"], strict=True)):
            assert (one.name, one.where.line) == (given["name"], None)
            assert str(one.where) == f"typescript.json#/declarations/{position}"

    def test_a_member_is_located_by_its_pointer(self) -> None:
        document = document_from_facts(shipped("2024-11-05")[1], "typescript.json", Diagnostics())
        position, request = next((n, d) for n, d in enumerate(document.declarations) if d.name == "Resource")
        assert isinstance(request.body, Body)
        assert request.body.properties[0].where.pointer == f"/declarations/{position}/members/0"

    def test_writes_what_only_structure_needs(self) -> None:
        text = """
            /** Prose.
             * @see elsewhere
             * @category `a/b` */
            export interface A extends Omit<
              B,
              "x" // gone
            > {
              [k: string] : unknown;
              "a-b"?: { /** gone */ c: "x  y"; }; // gone
              /** @example gone */
              d: | "/* kept */" // gone
                 | 'b';
            }
            interface B {}"""
        assert facts_from_document(read(text), text) == {
            "revision": None,
            "constants": {},
            "declarations": [
                {
                    "name": "A",
                    "kind": "interface",
                    "extends": ['Omit< B, "x" >'],
                    "members": [
                        {"index": "[k: string] : unknown"},
                        {"name": "a-b", "optional": True, "type": '{ c: "x  y"; }'},
                        {"name": "d", "optional": False, "type": "| \"/* kept */\" | 'b'"},
                    ],
                    "tags": {"category": "a/b"},
                },
                {"name": "B", "kind": "interface", "extends": [], "members": []},
            ],
        }

    @pytest.mark.parametrize(
        ("path", "pointer"),
        [
            (("declarations", 0, "extends", 0), "/declarations/0/extends/0"),
            (("declarations", 0, "members", 0, "type"), "/declarations/0/members/0"),
            (("declarations", 0, "members", 1, "index"), "/declarations/0/members/1"),
            (("declarations", 1, "value"), "/declarations/1/value"),
        ],
    )
    def test_an_unknown_name_is_located_in_the_facts(self, path: tuple[str | int, ...], pointer: str) -> None:
        diagnostics = Diagnostics()
        value = "[key: string]: Missing" if path[-1] == "index" else "Missing"
        document_from_facts(_replaced(SMALL, path, value), "facts.json", diagnostics)
        assert [str(each.where) for each in diagnostics.errors] == [f"facts.json#{pointer}"]

    def test_small_facts_are_good(self) -> None:
        diagnostics = Diagnostics()
        assert len(document_from_facts(SMALL, "facts.json", diagnostics).declarations) == 3
        assert list(diagnostics) == []

    def test_the_seed_says_what_the_facts_say(self) -> None:
        """The later snapshot has three things the seed lacks, and wrote two unions without the leading bar."""
        text = seed_typescript().read_text("utf-8")
        found: Any = facts_from_document(read(text), text)
        by_name: Any = {one["name"]: one for one in found["declarations"]}
        for name, neighbour, added in (
            ("ClientRequest", "| ListResourcesRequest ", "| ListResourceTemplatesRequest "),
            ("ServerResult", "| ListResourcesResult ", "| ListResourceTemplatesResult "),
        ):
            assert added not in by_name[name]["value"]
            by_name[name]["value"] = by_name[name]["value"].replace(neighbour, neighbour + added)
        by_name["Resource"]["members"].append({"name": "size", "optional": True, "type": "number"})
        for name in ("JSONRPCMessage", "ServerRequest"):
            assert by_name[name]["value"].startswith("| ")
            by_name[name]["value"] = by_name[name]["value"].removeprefix("| ")
        assert spelled(found) == shipped("2024-11-05")[0]
