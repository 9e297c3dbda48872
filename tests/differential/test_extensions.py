"""The models of the shipped extensions against their official schema.json: they differ only where a rule says why.

The official files are changed before the comparison:

- Copies of named types become references to them: those of the revision have the errata of its own schema.json, or are
  of another revision.
- The converter of Apps closes objects that TypeScript leaves open. It writes `T | undefined` as any value, and the keys
  of a `Record` as a closed set. Three references lead to nothing.
- The converter of tasks bounds integers to those that are exact in JavaScript.
- Inline params have the `_meta` that the revision requires of every message.
"""

import json
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from differential.instances import Instances
from differential.subjects import SEED, Judge
from differential.values import Json, is_list, is_map
from mcp_bindgen.emit.json_schema import json_schema
from mcp_bindgen.ir.extensions import Extension
from mcp_bindgen.ir.names import references
from mcp_bindgen.ir.nodes import Ref, Struct
from mcp_bindgen.load.extension import load_extension
from mcp_bindgen.load.protocol import load_released
from mcp_runtime.core.method import WireType
from support.extensions import CARDS, TASKS, UI, official

pytestmark = pytest.mark.differential
CARD = WireType[Any]("mcp_bindings.extensions.server_card", "ServerCard")


@pytest.mark.parametrize("id", [TASKS, UI])
def test_models_and_the_official_schema_agree(id: str, cases: int) -> None:
    extension, judge = load_extension(id), _judge(id)
    names = sorted(name for name in extension.own if judge.has_definition(name))
    assert len(names) >= len(extension.own) / 2
    found: list[str] = []
    accepted = 0
    types = {name: WireType[Any](f"mcp_bindings.extensions.{extension.module}", name) for name in names}
    for case in Instances(extension.protocol, Random(f"{SEED} {id}")).random(cases, *names):
        theirs, ours = judge.accepts(case.definition, case.value), _accepts(types[case.definition], case.value)
        accepted += ours
        if theirs != ours or (case.valid and not ours):
            verdict = "accepts" if theirs else "refuses"
            found.append(f"{case.definition}: the official schema {verdict} {json.dumps(case.value)[:600]}")
    assert cases // 3 <= accepted < cases * 0.95
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:10])


def test_mutated_cards_get_the_verdict_of_the_official_schema(cases: int) -> None:
    """Compare verdicts on mutations of the official examples, and of cards made here: the file is as published."""
    protocol, rng = load_extension(CARDS).protocol, Random(f"{SEED} {CARDS}")
    judge = Judge(json.loads(official("server-card", "schema.json").read_bytes()))
    examples = [json.loads(path.read_bytes()) for path in sorted(official("server-card", "examples/valid").iterdir())]
    makes = Instances(protocol, rng)
    accepted = 0
    for _ in range(cases):
        example = rng.choice(examples)
        # Values that fit a pattern are those of an example.
        made = makes.valid(Ref(name="ServerCard")) | {name: example[name] for name in ("$schema", "name", "version")}
        card = makes.mutated(rng.choice((example, made)))
        verdict = _accepts(CARD, card)
        assert verdict == judge.accepts("ServerCard", card), card
        accepted += verdict
    assert cases // 10 < accepted < cases * 0.9


@pytest.mark.parametrize("verdict", ["valid", "invalid"])
def test_the_official_examples_of_cards_are_judged_as_their_folders_say(verdict: str) -> None:
    cards = sorted(official("server-card", f"examples/{verdict}").iterdir())
    assert len(cards) > 1
    assert [_accepts(CARD, json.loads(card.read_bytes())) for card in cards] == [verdict == "valid"] * len(cards)


def _accepts(type_: WireType[Any], value: Json) -> bool:
    try:
        type_.decode(json.dumps(value).encode())
    except ValidationError:
        return False
    return True


@cache
def _judge(id: str) -> Judge:
    """Return the official schema, changed as the rules above say."""
    extension = load_extension(id)
    document: dict[str, Any] = json.loads(official(extension.module, "schema.json").read_text("utf-8"))
    ours = json_schema(extension.protocol)["$defs"]
    definitions: dict[str, Any] = {name: _plain(node) for name, node in document["$defs"].items()}
    shared = {name: ours[name] for name in load_released(extension.protocol.revision).definitions}
    for name in extension.own & definitions.keys():
        _correct(extension, name, definitions[name], ours)
    own = {name: ours[name] for name in extension.own}
    return Judge({"$schema": document["$schema"], "$defs": {**own, **definitions, **shared, "__schema0": {}}})


def _plain(node: Any) -> Any:
    """Undo what the converters add."""
    if is_list(node):
        return [_plain(each) for each in node]
    if not is_map(node):
        return node
    found: dict[str, Any] = {key: _plain(value) for key, value in node.items() if key != "$schema"}
    if found.get("additionalProperties") is False:
        del found["additionalProperties"]
    if found.get("type") == "integer":
        found.pop("minimum", None)
        found.pop("maximum", None)
    if isinstance(found.get("anyOf"), list):
        found["anyOf"] = [each for each in found["anyOf"] if each != {}]
    keys = found.get("propertyNames", {}).get("anyOf") if isinstance(found.get("propertyNames"), dict) else None
    if keys:
        return {"type": "object", "properties": {key["const"]: found["additionalProperties"] for key in keys}}
    return found


def _correct(extension: Extension, name: str, node: dict[str, Any], ours: Mapping[str, Any]) -> None:
    """Refer to named types where the official schema has copies, and require the metadata that a message has."""
    struct = extension.protocol.definitions[name]
    if not isinstance(struct, Struct):
        return
    for field in struct.fields:
        schema, named = ours[name]["properties"][field.wire_name], list(references(field.type))
        target = extension.protocol.definitions[named[0]] if isinstance(field.type, Ref) else None
        places = _places(node, field.wire_name)
        for place in places:
            if isinstance(target, Struct) and target.holder:
                _correct(extension, target.name, place[field.wire_name], ours)
            elif named:
                place[field.wire_name] = schema
        if not places and field.wire_name == "_meta" and struct.holder.endswith(".params"):
            node.setdefault("properties", {})["_meta"] = schema
            node["required"] = [*node.get("required", []), *(["_meta"] if field.required else [])]


def _places(node: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the `properties` of a schema that declare a property, through `allOf`."""
    own = [node["properties"]] if name in node.get("properties", {}) else []
    return own + [place for part in node.get("allOf", []) for place in _places(part, name)]
