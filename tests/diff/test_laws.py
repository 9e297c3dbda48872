"""Laws of every comparison: no findings between a revision and itself, or after an equivalent rewrite."""

import json
import os
import subprocess
import sys
from functools import cache
from itertools import pairwise, permutations
from typing import Any

import pytest

from mcp_bindgen.diff.compatibility import Verdict, compatibility
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released
from support.mutations import Json
from support.official import official_schema, seed_typescript
from support.rewrites import REWRITES
from support.samples import HANDSHAKE, REVISIONS, json_source, load

_FINGERPRINTS = """
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.load.protocol import load_released
for old, new in {pairs}:
    for finding in compare_messages(load_released(old), load_released(new)):
        print(finding.fingerprint, finding.place, [(str(c), str(w)) for c, w in finding.carriers.items()])
"""


def lines(findings: tuple[Finding, ...]) -> list[str]:
    return [f"{f.rule.id} {f.place}: {f.old} -> {f.new}" for f in findings]


@cache
def schema(revision: str) -> str:
    """Return the text of the shipped schema.json."""
    return shipped_source(revision, SourceKind.JSON_SCHEMA).data.decode()


def alone(tree: Json) -> Protocol:
    """Load a schema.json as an unreleased revision, so without the shipped schema.ts."""
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load(source, revision="2099-01-01")[0]


@cache
def untouched(revision: str) -> Protocol:
    return alone(json.loads(schema(revision)))


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_does_not_differ_from_itself(revision: str) -> None:
    protocol = load_released(revision)
    assert compare_messages(protocol, protocol) == ()


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_official_file_does_not_differ_from_the_shipped_one(revision: str) -> None:
    official, diagnostics = load(read_source(str(official_schema(revision))), revision=revision)
    assert not diagnostics
    assert lines(compare_messages(official, load_released(revision))) == []
    assert lines(compare_messages(load_released(revision), official)) == []


def test_the_first_published_file_lacks_a_property_and_a_result() -> None:
    """Its resources/templates/list is in no union, so nobody sends it, although bindings have the method."""
    revision = REVISIONS[0]
    seed, diagnostics = load(read_source(str(seed_typescript())), revision=revision)
    assert any("ListResourceTemplatesRequest" in line for line in diagnostics)
    official, _ = load(read_source(str(official_schema(revision))), revision=revision)
    assert lines(compare_messages(seed, official)) == [
        "property-added-optional Resource.size: - -> integer",
        "request-method-added ListResourceTemplatesRequest: - -> resources/templates/list",
        "result-type-added ServerResult: - -> ListResourceTemplatesResult",
    ]


@pytest.mark.slow
def test_findings_do_not_depend_on_the_hash_seed() -> None:
    program = _FINGERPRINTS.format(pairs=list(pairwise(REVISIONS)))
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0]
    assert outputs[0] == outputs[1]


# Equivalent rewrites


@pytest.mark.parametrize(
    ("rewrite", "revision"),
    [
        pytest.param(rewrite, revision, marks=[] if number % len(REVISIONS) == place else [pytest.mark.slow])
        for number, rewrite in enumerate(REWRITES)
        for place, revision in enumerate(REVISIONS)
    ],
)
def test_an_equivalent_rewrite_is_not_a_change(revision: str, rewrite: str) -> None:
    tree = json.loads(schema(revision))
    other = REWRITES[rewrite](json.loads(schema(revision)))
    before, after = untouched(revision), alone(other)
    of_type_lists = rewrite in ("types reversed", "types in branches")
    assert json.dumps(other) != json.dumps(tree) or (of_type_lists and '"type": [' not in schema(revision))
    for findings in (compare_messages(before, after), compare_messages(after, before)):
        assert lines(tuple(f for f in findings if f.severity is Severity.ERROR)) == []
        assert lines(findings) == []


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
LETTERS: dict[str, Any] = {"type": "string", "pattern": "^(?:a|b-c)$"}
SPELLINGS: list[tuple[dict[str, Any], ...]] = [
    ({"type": "string"}, {"type": "string", "pattern": ""}, {"type": "string", "pattern": ".*", "not": False}),
    ({"enum": ["a", "b-c"]}, LETTERS, {"type": "string", "pattern": "^(a|b-c)$"}),
    ({"const": "ab"}, {"type": "string", "pattern": "^ab$"}, {"enum": ["ab"], "pattern": "b"}),
    ({"enum": [1, 2, 3]}, {"type": "integer", "minimum": 1, "maximum": 3}),
    ({"enum": [1, 2]}, {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3}),
    ({"enum": [4, 6]}, {"type": "integer", "minimum": 3, "maximum": 7, "multipleOf": 2}),
    ({"type": "array", "items": TEXT}, {"type": "array", "prefixItems": [TEXT, TEXT], "items": TEXT}),
    (
        {"type": "array", "prefixItems": [TEXT, WHOLE], "items": False},
        {"type": "array", "prefixItems": [TEXT, WHOLE], "maxItems": 2},
    ),
    ({"type": "array", "prefixItems": [TEXT, TEXT], "items": False}, {"type": "array", "items": TEXT, "maxItems": 2}),
    ({"type": "array", "items": False}, {"type": "array", "maxItems": 0}),
    ({"type": "array", "items": TEXT, "minItems": 1}, {"type": "array", "items": TEXT, "contains": TEXT}),
    (
        {"type": "array", "items": TEXT, "minItems": 3},
        {"type": "array", "items": TEXT, "contains": {}, "minContains": 3},
        {"type": "array", "items": TEXT, "contains": TEXT, "minContains": 2, "minItems": 3},
    ),
    (
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": {"not": {}}},
        {"type": "object", "properties": {"a": TEXT}, "unevaluatedProperties": False},
    ),
]
UNLIKE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"enum": ["a", "b"]}, {"type": "string", "pattern": "^a|b$"}),
    ({"enum": [1, 2, 4]}, {"type": "integer", "minimum": 1, "maximum": 4}),
    ({"enum": [1, 2]}, {"type": "number", "minimum": 1, "maximum": 2}),
    ({"type": "array", "items": TEXT}, {"type": "array", "prefixItems": [TEXT, WHOLE], "items": TEXT}),
    ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "contains": {"const": "a"}}),
    ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "contains": {}, "minContains": 2}),
    (
        {"type": "object", "properties": {"a": TEXT}},
        {"type": "object", "properties": {"a": TEXT}, "unevaluatedProperties": TEXT},
    ),
]


def verdicts(old: dict[str, Any], new: dict[str, Any]) -> set[Verdict]:
    """Return what a change of a required property that both peers send means for them."""

    def side(spelling: dict[str, Any]) -> Protocol:
        params = {"type": "object", "properties": {"protocolVersion": TEXT, "x": spelling}, "required": ["x"]}
        return load(json_source({**HANDSHAKE, "InitializeRequestParams": params, "InitializeResult": params}))[0]

    return set(compatibility(compare_messages(side(old), side(new))).verdicts.values())


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda each: str(each[0]))
def test_equal_spellings_are_compatible(spellings: tuple[dict[str, Any], ...]) -> None:
    for old, new in permutations(spellings, 2):
        assert verdicts(old, new) == {Verdict.COMPATIBLE}, (old, new)


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_spellings_that_only_look_equal_are_not(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert verdicts(one, other) | verdicts(other, one) != {Verdict.COMPATIBLE}
