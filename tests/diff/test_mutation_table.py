"""Every change in a table is found completely, and jsonschema confirms each message that proves a break."""

import json
from functools import cache
from typing import Any

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.nodes import Protocol
from support.judging import Judge
from support.mutation_table import Expected, Mutation, mutations
from support.official import official_schema
from support.oracle import Side
from support.samples import REVISIONS, load
from support.verdict_cases import is_confirmed

ALL = list(mutations())
MIN_MUTATIONS = 120


@cache
def text(revision: str) -> str:
    return official_schema(revision).read_text("utf-8")


def read(tree: Any) -> Protocol:
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load(source, revision=UNNAMED)[0]


@cache
def untouched(revision: str) -> Protocol:
    return read(json.loads(text(revision)))


def container(tree: Any) -> str:
    return "$defs" if "$defs" in tree else "definitions"


def test_the_table_is_large_enough() -> None:
    assert len(ALL) >= MIN_MUTATIONS
    assert len({(m.revision, m.name) for m in ALL}) == len(ALL)


def tiered(mutation: Mutation) -> Any:
    """Return the parameter of a change: the quick tests make each change in one revision."""
    names = list(dict.fromkeys(m.name for m in ALL))
    is_quick = REVISIONS[names.index(mutation.name) % len(REVISIONS)] == mutation.revision
    id_ = f"{mutation.revision} {mutation.name}"
    return pytest.param(mutation, id=id_, marks=[] if is_quick else [pytest.mark.slow])


@pytest.mark.parametrize("mutation", [tiered(mutation) for mutation in ALL])
def test_everything_is_found_and_nothing_else(mutation: Mutation) -> None:
    before, after = json.loads(text(mutation.revision)), json.loads(text(mutation.revision))
    mutation.edit(after[container(after)])
    findings = compare(untouched(mutation.revision), read(after))
    found = [Expected(f.rule.id, f.place, f.severity.value, f.proven) for f in findings]
    assert sorted(found, key=str) == sorted(mutation.expected, key=str)
    for finding in findings:
        for pair in finding.proven:
            assert is_confirmed(Judge(Side(before), Side(after)), finding, pair)
