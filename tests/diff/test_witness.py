"""A witness proves its own finding: it has a value of the changed form, and nothing else in it is refused."""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rule import View
from support.judging import Judge
from support.oracle import Side
from support.rule_cases import read
from support.samples import HANDSHAKE
from support.verdict_cases import is_confirmed, official
from support.verdict_cases import read as read_tree

FORMS: dict[str, Any] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "list": {"type": "array", "items": {"type": "string"}},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "constants": {"enum": [2.5, "one"]},
}
"""Forms without a name, by what they are."""


def params(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def proven(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[Finding, Any]]:
    """Iterate over the findings that break an old client, and the params of their witnesses."""
    old, new = ({**HANDSHAKE, "InitializeRequestParams": side} for side in (old, new))
    for finding in compare(read(old), read(new)):
        if finding.rule.view is View.WIRE and Pair.OLD_CLIENT in finding.breaks:
            assert Pair.OLD_CLIENT in finding.witnesses, (finding.rule.id, finding.old, finding.new)
            yield finding, finding.witnesses[Pair.OLD_CLIENT]["params"]


def errors_of(schema: dict[str, Any], value: Any) -> list[jsonschema.ValidationError]:
    validator: Any = jsonschema.Draft202012Validator(schema)
    return list(validator.iter_errors(value))


def is_valid(schema: dict[str, Any], value: Any) -> bool:
    return not errors_of(schema, value)


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations([name for name in FORMS if name != "string"], 2)])
def test_the_witness_of_a_form_has_a_value_of_it(one: str, other: str) -> None:
    kept = [FORMS["string"], {"type": "array", "items": {"type": "object"}}][: 1 if "list" in (one, other) else 2]
    forms = {spelled: FORMS[spelled] for spelled in (one, other)}
    many = params({"a": {"anyOf": [*kept, *forms.values()]}}, ["a"])
    few = params({"a": {"anyOf": kept}}, ["a"])
    seen = [(finding, value["a"]) for finding, value in proven(many, few)]
    assert len(seen) >= 2
    assert all(any(is_valid(form, value) for form in forms.values()) for _, value in seen)
    assert len({json.dumps(value) for _, value in seen}) == len(seen), "each has a form of its own"


def drawn(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw two objects with several breaks between them; other properties stay."""
    rng = random.Random(seed)
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    required: tuple[list[str], list[str]] = [], []
    for name in "abcdef":
        change = rng.choice(["same", "required", "type", "added", "closed", "inside"])
        first, second = rng.sample(["string", "integer", "boolean", "list"], 2)
        if change != "added":
            old[name] = FORMS[first]
        new[name] = FORMS[second if change == "type" else first]
        if change == "inside":
            old[name] = params({"x": FORMS[first]}, ["x"])
            new[name] = params({"x": FORMS[second], "y": FORMS[first]}, ["x", "y"])
        if change == "closed":
            new[name] = {"enum": ["one"]}
            old[name] = {"enum": ["one", "two"]}
        required[0].extend([name] if change in ("type", "closed", "inside") else [])
        required[1].extend([name] if change not in ("same",) else [])
    return params(old, required[0]), params(new, required[1])


TAGS: dict[str, dict[str, Any]] = {
    "closed set": {"enum": ["complete", "input_required"]},
    "one constant": {"const": "complete"},
    "pattern": {"type": "string", "pattern": "^[a-z_]{8,}$"},
    "length": {"type": "string", "minLength": 8},
}


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_of_results_that_is_opened_or_closed_has_a_witness(tag: str, back: bool) -> None:
    closed = json.loads(json.dumps(official("2026-07-28")))
    closed["$defs"]["CallToolResult"]["properties"]["resultType"] = TAGS[tag]
    sides = (closed, official("2026-07-28"))
    old, new = reversed(sides) if back else sides
    judge = Judge(Side(old), Side(new))
    (found,) = [each for each in compare(read_tree(old), read_tree(new)) if each.rule.view is View.WIRE]
    pair = Pair.NEW_CLIENT if back else Pair.OLD_CLIENT
    assert found.breaks == {pair}
    assert is_confirmed(judge, found, pair)
    assert found.witnesses[pair]["result"].keys() == {"content", "resultType"}


NUMBERS: list[dict[str, Any]] = [
    {"type": "number", "exclusiveMinimum": 0},
    {"type": "number", "exclusiveMaximum": 0},
    {"type": "integer", "exclusiveMinimum": 3},
    {"type": "integer", "exclusiveMaximum": -3},
    {"type": "integer", "minimum": 2},
    {"type": "number", "maximum": -2},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
]


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_bounds_of_another_number_do_not_hide_a_break(number: dict[str, Any]) -> None:
    old, new = (params({"a": number, "b": FORMS[kind]}, ["a", "b"]) for kind in ("string", "integer"))
    ((_, value),) = proven(old, new)
    assert is_valid(number, value["a"])


def can_agree(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a value is valid for both, among those that these schemas can tell apart."""
    values: tuple[Any, ...] = ("one", "two", 1, True, [], {"x": "one", "y": 1})
    return any(is_valid(old, value) and is_valid(new, value) for value in values)


@pytest.mark.parametrize("seed", range(40))
def test_a_witness_is_refused_because_of_its_place_alone(seed: int) -> None:
    old, new = drawn(seed)
    for finding, value in proven(old, new):
        assert is_valid(old, value)
        assert not is_valid(new, value)
        name = next(way[0].name for way in finding.carriers.values())
        errors = errors_of(new, value)
        wrong = {error.path[0] if error.path else error.message.split("'")[1] for error in errors}
        unavoidable = {
            each for each in old["required"] if not can_agree(old["properties"][each], new["properties"][each])
        }
        assert name in wrong
        assert wrong - {name} <= unavoidable, (finding.rule.id, finding.place, [error.message for error in errors])
