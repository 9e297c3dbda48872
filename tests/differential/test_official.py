"""The reconciled schema against the official schema.json: they differ only where an erratum says so."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pytest

from differential.instances import Case
from differential.subjects import Judge, Subject, container_of, subject
from mcp_bindgen.ir.names import lineage
from mcp_bindgen.ir.nodes import Ref, Struct
from support.official import official_schema
from support.samples import REVISIONS

pytestmark = [pytest.mark.differential, pytest.mark.parametrize("revision", REVISIONS)]

PER_ERRATUM = 100
MOVED = "reconciled"


def test_the_official_schema_with_its_errata_is_the_reconciled_one(revision: str, cases: int) -> None:
    tried = subject(revision)
    found = _disagreements(tried, _corrected(tried, _errata(tried)), tried.instances("official").random(cases))
    assert not found, f"{len(found)} disagreements\n" + "\n".join(found[:10])


def test_every_erratum_shows_in_a_message(revision: str) -> None:
    tried = subject(revision)
    errata = _errata(tried)
    for pointer in errata:
        without = _corrected(tried, errata - {pointer})
        holder = next(token for token in pointer.split("/") if token in tried.protocol.definitions)
        assert _disagreements(tried, without, _instances(tried, holder)), f"no message shows the erratum at {pointer}"


def _instances(tried: Subject, holder: str) -> Iterator[Case]:
    """Make instances of a definition, some of them with metadata of the wrong type."""
    maker = tried.instances(holder)
    yield from maker.random(PER_ERRATUM, holder)
    whole = maker.valid(Ref(name=holder), all_members=True)
    if isinstance(whole, dict) and "params" in whole:
        yield Case(definition=holder, value=whole | {"params": whole["params"] | {"_meta": 1}}, valid=False)


def _disagreements(tried: Subject, official: Judge, cases: Iterable[Case]) -> list[str]:
    found: list[str] = []
    for case in cases:
        if official.has_definition(case.definition):
            verdict = official.accepts(case.definition, case.value)
            if verdict != tried.judge.accepts(case.definition, case.value):
                word = "accepts" if verdict else "refuses"
                found.append(
                    f"{tried.revision} {case.definition}: the official schema {word} {json.dumps(case.value)[:1000]}"
                )
    return found


def _errata(tried: Subject) -> frozenset[str]:
    """Return the pointers of the errata by which the two schemas admit different messages."""
    errata = tried.protocol.errata
    return frozenset(e.pointer for e in errata if e.contradiction or e.rule == "params-meta")


def _corrected(tried: Subject, pointers: Collection[str]) -> Judge:
    """Return the official schema with some errata corrected as in the reconciled schema."""
    document = json.loads(official_schema(tried.revision).read_text("utf-8"))
    container = container_of(document)
    for pointer in pointers:
        tokens = pointer.split("/")[1:]
        if tokens[0] == container:
            _inside(document, tokens[:-1])[tokens[-1]] = _moved("$defs", *tokens[1:])
        else:
            for message in _heirs(tried, tokens[0]):
                params = _inside(document, [container, message, "properties", "params"])
                params["properties"]["_meta"] = _moved("$defs", _params(tried, message), "properties", "_meta")
    reconciled = json.loads(json.dumps(tried.schema).replace('"#/', f'"#/{MOVED}/'))
    return Judge(document | {MOVED: reconciled})


def _moved(*tokens: str) -> dict[str, str]:
    return {"$ref": "#/" + "/".join([MOVED, *tokens])}


def _heirs(tried: Subject, message: str) -> list[str]:
    """Return a message and those that extend it: schema.json repeats in each what schema.ts says once."""
    definitions = tried.protocol.definitions
    return [message, *(name for name in definitions if message in lineage(name, definitions))]


def _params(tried: Subject, message: str) -> str:
    struct = tried.protocol.definitions[message]
    field = struct.field("params") if isinstance(struct, Struct) else None
    assert field is not None and isinstance(field.type, Ref)
    return field.type.name


def _inside(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        document = document[token]
    return document
