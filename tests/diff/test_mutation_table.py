"""Every change in a table is found completely, and jsonschema confirms each message that proves a break."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import jsonschema
import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Finding, Pair, Travel
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.nodes import Protocol
from support.mutation_table import Expected, Mutation, mutations
from support.official import official_schema
from support.samples import REVISIONS, load

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
            judge(finding, pair, before, after)


def judge(finding: Finding, pair: Pair, before: Any, after: Any) -> None:
    """Check with jsonschema and the original files: the sender may send the message, the receiver refuses it."""
    message = finding.witnesses[pair]
    travels = {carrier.travel for carrier in finding.carriers}
    verdicts: list[tuple[bool, bool]] = []
    for travel in travels:
        from_old = (pair is Pair.OLD_CLIENT) == (travel is Travel.TO_SERVER)
        sender, receiver = (before, after) if from_old else (after, before)
        methods = [carrier.method for carrier in finding.carriers]
        verdicts.append((accepts(sender, message, methods), accepts(receiver, message, methods)))
    assert (True, False) in verdicts, (finding.rule.id, pair, message)


def accepts(tree: Any, message: Any, methods: Sequence[str]) -> bool:
    """Whether a file accepts a message as one of its definitions."""
    definitions = tree[container(tree)]
    for name, definition in definitions.items():
        method = definition.get("properties", {}).get("method", {}).get("const")
        if not name.endswith(("Request", "Notification")) or name.startswith(("Client", "Server")) or method is None:
            continue
        if "method" in message:
            target, payload = name, message
        else:
            target, payload = name.removesuffix("Request") + "Result", message["result"]
        if method not in ([message["method"]] if "method" in message else methods) or target not in definitions:
            continue
        # In draft-07, a reference hides its sibling keywords.
        schema = {container(tree): definitions, "allOf": [{"$ref": f"#/{container(tree)}/{target}"}]}
        dialect = jsonschema.Draft7Validator if container(tree) == "definitions" else jsonschema.Draft202012Validator
        validator: Any = dialect(schema)
        if validator.is_valid(payload):
            return True
    return False
