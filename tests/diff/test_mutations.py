"""A single deliberate change is found at its place, by its rule, and for the right peer."""

import json
from functools import cache

import pytest

from mcp_bindgen.diff.finding import Travel
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.nodes import Protocol
from support.mutations import Json, Mutation, broken, choose, mutations, reached
from support.samples import REVISIONS, load

KINDS = {
    *("bound", "closed", "constant", "enum added", "enum removed", "form added", "form removed", "format", "freed"),
    *("item", "map value", "method renamed", "needed", "null", "number", "optional added", "optional dropped"),
    *("required added", "required dropped", "type"),
}


@cache
def schema(revision: str) -> str:
    return shipped_source(revision, SourceKind.JSON_SCHEMA).data.decode()


def alone(tree: Json) -> Protocol:
    """Load a schema.json as an unreleased revision, so without the shipped schema.ts."""
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load(source, revision="2099-01-01")[0]


def mismatch(mutation: Mutation, revision: str, untouched: Protocol) -> str:
    """Return unexpected and missing findings; empty if all is well."""
    tree = json.loads(schema(revision))
    ways = [travel for travel in Travel if mutation.definition in reached(revision, tree, travel)]
    findings = compare_messages(untouched, alone(mutation.made_in(schema(revision))))
    rules, places = {f.rule.id for f in findings}, {f.place for f in findings}
    pairs = {pair for f in findings for pair in f.breaks}
    expected = broken(mutation.change, ways)
    # Another member of the union of schemas admits what an enum schema does not.
    is_found = pairs <= expected if "EnumSchema" in mutation.definition else pairs == expected
    if rules and rules <= mutation.rules and places <= mutation.places and is_found:
        return ""
    found = [f"{f.rule.id} {f.place}: {f.old} -> {f.new} {sorted(f.breaks)}" for f in findings]
    return f"{mutation.kind} {sorted(mutation.places)}: {found}"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_single_change_is_found_exactly(revision: str, cases: int) -> None:
    """With 3,000 cases, 66 changes of each revision, one at a time; with few, each kind of change in one or two."""
    tree = json.loads(schema(revision))
    by_kind = mutations(revision, tree)
    assert by_kind.keys() <= KINDS
    untouched = alone(tree)
    chosen = list(choose(by_kind, 66, revision))
    chosen = chosen if cases >= 3000 else chosen[REVISIONS.index(revision) % 3 : len(KINDS) : 3]
    assert [text for m in chosen if (text := mismatch(m, revision, untouched))] == []


def test_every_kind_of_change_is_made() -> None:
    kinds = {kind for revision in REVISIONS for kind in mutations(revision, json.loads(schema(revision)))}
    assert kinds == KINDS
