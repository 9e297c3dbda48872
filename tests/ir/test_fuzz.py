"""Loading a mutated schema gives a protocol or diagnostics, and never any other error."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

import pytest

from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ingest.typescript_facts import render_typescript
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_sources
from support.official import official_schema
from support.samples import REVISIONS, typescript_source

Place: TypeAlias = tuple[Any, Any]
"""A container in a JSON document, and the key or index of one of its values."""

pytestmark = pytest.mark.differential

_STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e300, 10**400, "", "x", "\ud800", "\u202e", [], {}, [{}], {"type": "string"}),
    *({"$ref": "#"}, {"$ref": "#/$defs/Tool"}, {"$ref": "#/definitions/Tool"}, {"not": {}}, {"const": "tools/call"}),
    *({"type": "object", "properties": {"params": {"type": "object", "properties": {"a": {}}}}}, {"enum": [True, 1]}),
)
_WORDS = (
    "type properties required items $ref anyOf oneOf allOf const enum additionalProperties minimum maxLength pattern"
    " not method params _meta cursor task result x"
).split()


def outcome(*sources: SourceText, revision: str) -> Protocol | None:
    """Load sources: a protocol, or None when they were refused with a diagnostic."""
    diagnostics = Diagnostics()
    try:
        return load_sources(sources, revision, diagnostics)
    except InputError as error:
        assert error.diagnostics.errors
        assert str(error).isprintable() or "\n" in str(error)
        return None


def places(root: object) -> list[Place]:
    """Return the place of every value in a document except the root."""
    found: list[Place] = []
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            node = cast("dict[str, object]", value)
            found += [(node, key) for key in node]
            pending += node.values()
        elif isinstance(value, list):
            items = cast("list[object]", value)
            found += [(items, index) for index in range(len(items))]
            pending += items
    return found


def mutate(root: object, rng: random.Random) -> None:
    """Change a document at one random place: another value, none, one more, or two values exchanged."""
    everywhere = places(root)
    if not everywhere:
        return
    container, key = rng.choice(everywhere)
    other, other_key = rng.choice(everywhere)
    copied = json.loads(json.dumps(other[other_key]))
    keyed = isinstance(container, dict)
    match rng.randrange(6):
        case 0:
            container[key] = json.loads(json.dumps(rng.choice(_STRANGE)))
        case 1:
            del container[key]
        case 2 if keyed:
            container[rng.choice(_WORDS)] = copied
        case 3 if keyed:
            container[rng.choice([str(other_key), key + "2", "\ud800"])] = copied
            del container[key]
        case 4:
            container[key] = copied
        case _:
            container[key], other[other_key] = copied, json.loads(json.dumps(container[key]))


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["alone", "with-typescript"])
def test_mutated_json_is_loaded_or_refused(revision: str, both: bool, cases: int) -> None:
    rng = random.Random(f"{revision} {both}")
    text = official_schema(revision).read_text("utf-8")
    other = [shipped_source(revision, SourceKind.TYPESCRIPT)] if both else []
    accepted = 0
    number = max(cases // (200 if both else 20), 20)
    for _ in range(number):
        document = json.loads(text)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            mutate(document, rng)
        source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(document).encode())
        accepted += outcome(source, *other, revision="fuzz") is not None
    assert 0 < accepted < number, "the mutations are neither all harmless nor all fatal"


_TOKEN = re.compile(r"\s+|\w+|\"[^\"\n]*\"|/\*.*?\*/|.", re.DOTALL)


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def scramble(parts: list[str], rng: random.Random) -> Iterator[str]:
    """Delete, repeat, exchange or replace a few of the tokens."""
    changed = list(parts)
    for _ in range(rng.choice([1, 1, 2, 4])):
        one, two = rng.randrange(len(changed)), rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                del changed[one]
            case 1:
                changed.insert(one, changed[one])
            case 2:
                changed[one], changed[two] = changed[two], changed[one]
            case 3:
                changed[one] = changed[two]
            case _:
                changed.insert(
                    one, rng.choice(["null", "|", "&", "Tool", "{", "}", "[]", "?", "\x00", "\ufeff", '"', "/*"])
                )
    return iter(changed)


@pytest.mark.parametrize("revision", REVISIONS)
def test_mutated_typescript_is_loaded_or_refused(revision: str, cases: int) -> None:
    rng = random.Random(revision)
    facts = json.loads(shipped_source(revision, SourceKind.TYPESCRIPT).data)
    parts = tokens(render_typescript(facts))
    accepted = 0
    number = max(cases // 30, 20)
    for _ in range(number):
        accepted += outcome(typescript_source("".join(scramble(parts, rng))), revision="fuzz") is not None
    assert 0 < accepted < number, "the mutations are neither all harmless nor all fatal"
