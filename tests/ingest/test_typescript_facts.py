"""The facts of a schema.ts: written as they are shipped, read back the same, and refused with a pointer when bad."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.ingest.typescript import TypeScriptDocument, read_typescript
from mcp_bindgen.ingest.typescript_facts import (
    document_from_facts,
    facts_from_document,
    render_typescript,
)
from mcp_bindgen.ingest.typescript_types import TsObject
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


def _replaced(facts: Any, path: tuple[str | int, ...], value: object) -> object:
    """Return a copy of JSON data with one value replaced."""
    if not path:
        return value
    changed = copy.deepcopy(facts)
    place = changed
    for token in path[:-1]:
        place = place[token]
    place[path[-1]] = value
    return changed


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    keys: Any = value if hasattr(value, "keys") else range(len(value)) if hasattr(value, "append") else ()
    for key in keys:
        yield from _paths(value[key], (*path, key))


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
        assert isinstance(request.body, TsObject)
        assert request.body.members[0].where.pointer == f"/declarations/{position}/members/0"

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
        ("path", "value", "pointer"),
        [
            ((), None, ""),
            ((), [], ""),
            (("revision",), 1, "/revision"),
            (("revision",), "2000-01-01", "/revision"),
            (("more",), 1, "/more"),
            (("constants",), [], "/constants"),
            (("constants", "LIMIT"), None, "/constants/LIMIT"),
            (("constants", "LIMIT"), 10**400, "/constants/LIMIT"),
            (("constants", "LIMIT"), float("nan"), "/constants"),
            (("constants", "a b"), 1, "/constants/a b"),
            (("declarations",), {}, "/declarations"),
            (("declarations", 0), 1, "/declarations/0"),
            (("declarations", 0, "kind"), "enum", "/declarations/0"),
            (("declarations", 0, "kind"), [], "/declarations/0"),
            (("declarations", 0, "name"), "A B", "/declarations/0/name"),
            (("declarations", 0, "extends"), "B", "/declarations/0/extends"),
            (("declarations", 0, "extends", 0), "Missing", "/declarations/0/extends/0"),
            (("declarations", 0, "extends", 0), "B, B", "/declarations/0"),
            (("declarations", 0, "members"), None, "/declarations/0/members"),
            (("declarations", 0, "members", 0), None, "/declarations/0/members/0"),
            (("declarations", 0, "members", 0, "more"), 1, "/declarations/0/members/0/more"),
            (("declarations", 0, "members", 0, "optional"), 0, "/declarations/0/members/0"),
            (("declarations", 0, "members", 0, "name"), "\ud800", "/declarations/0/members/0"),
            (("declarations", 0, "members", 0, "type"), "Missing", "/declarations/0/members/0"),
            (("declarations", 0, "members", 0, "type"), "string; x: string", "/declarations/0"),
            (("declarations", 0, "members", 0, "type"), "string } interface X { y: string", "/declarations/0"),
            (("declarations", 0, "members", 0, "type"), "string // x", "/declarations/0"),
            (("declarations", 0, "members", 0, "type"), "string\n", "/declarations/0/members/0/type"),
            (("declarations", 0, "members", 0, "type"), "'\ud800'", "/declarations/0/members/0/type"),
            (("declarations", 0, "members", 0, "tags"), {}, "/declarations/0/members/0/tags"),
            (("declarations", 0, "members", 0, "tags", "format"), 1, "/declarations/0/members/0/tags/format"),
            (("declarations", 0, "members", 0, "tags", "format"), "*/ x", "/declarations/0/members/0/tags/format"),
            (("declarations", 0, "members", 0, "tags", "format"), "{@link B}", "/declarations/0"),
            (("declarations", 0, "members", 0, "tags", "example"), "x", "/declarations/0/members/0/tags/example"),
            (("declarations", 0, "members", 1, "index"), "a: string", "/declarations/0"),
            (("declarations", 1, "value"), "string | ", "/declarations/1/value"),
            (("declarations", 1, "value"), "string; const X = 1", "/declarations/1"),
            (("declarations", 1, "tags"), {"internal": False}, "/declarations/1/tags/internal"),
        ],
    )
    def test_bad_facts_are_located(self, path: tuple[str | int, ...], value: object, pointer: str) -> None:
        diagnostics = Diagnostics()
        document = document_from_facts(_replaced(SMALL, path, value), "facts.json", diagnostics)
        assert pointer in [d.where.pointer for d in diagnostics.errors]
        assert {d.where.source for d in diagnostics} == {"facts.json"}
        assert all(d.where.line is None for d in diagnostics)
        assert document.declarations == ()

    def test_small_facts_are_good(self) -> None:
        diagnostics = Diagnostics()
        assert len(document_from_facts(SMALL, "facts.json", diagnostics).declarations) == 3
        assert list(diagnostics) == []

    def test_no_replacement_raises(self) -> None:
        junk: tuple[object, ...] = (None, True, 1, 1.5, "", "{", "}", "*/", "`", "'", "a\nb", [], {}, {"index": 1})
        for path in _paths(SMALL):
            for value in junk:
                document_from_facts(_replaced(SMALL, path, value), "facts.json", Diagnostics())

    def test_errors_are_capped(self) -> None:
        diagnostics = Diagnostics()
        document_from_facts(SMALL | {"declarations": [None] * 1000}, "facts.json", diagnostics)
        assert len(diagnostics.errors) == 201

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
