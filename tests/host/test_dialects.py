"""What a model is shown of a tool: by each provider's rules, and never more than the tool accepts without a report."""

import json
import random
import time
from typing import Any, Final

import pytest

from host import rules
from host.drawing import arguments, validator, value, without
from mcp_runtime.host import View
from mcp_runtime.host.catalogue import tool_of
from mcp_runtime.host.dialects import anthropic, gemini, openai
from mcp_runtime.host.dialects.dialect import Dialect, Lowered
from mcp_runtime.host.dialects.lowering import lower
from mcp_runtime.host.dialects.reading import Inexpressible, modern
from mcp_runtime.host.dialects.restoring import restore

DIALECTS = (openai.STRICT, openai.LOOSE, anthropic.RULES, gemini.RULES)


def view_of(*schemas: Any) -> View:
    tools = [tool_of("s", {"name": f"t{number}", "inputSchema": one}) for number, one in enumerate(schemas)]
    return View(tools={tool.name: tool for tool in tools}, host=None)


def lowered(schema: Any, dialect: Dialect) -> Lowered:
    return view_of(schema).converted("s__t0", dialect)


@pytest.mark.slow
def test_what_a_lowered_schema_accepts_is_valid_for_the_tool(cases: int) -> None:
    checked = 0
    for seed in (*range(cases // 3), 6738):  # the last one has alternatives that only validation tells apart
        dice = random.Random(seed)
        schema = arguments(dice)
        for dialect in DIALECTS:
            try:
                found = lower(schema, dialect)
            except Inexpressible:
                continue
            losses = {(loss.pointer, loss.keyword) for loss in found.losses}
            accepts, keeps = validator(found.schema), validator(without(modern(schema), losses))
            for _ in range(10):
                drawn = value(dice, found.schema, found.schema)
                if accepts(drawn):
                    checked += 1
                    assert keeps(restore(schema, drawn)), (seed, dialect.name, schema, found, drawn)
    assert checked > cases * 2


@pytest.mark.slow
def test_every_tool_keeps_the_rules_of_every_provider(cases: int) -> None:
    strict = 0
    for seed in range(cases // 3):
        view = view_of(arguments(random.Random(seed)))
        tools = view.for_openai()
        strict += sum(tool["strict"] for tool in tools)
        faults = [*map(rules.faults_of_openai, tools), *map(rules.faults_of_anthropic, view.for_anthropic())]
        faults += [*map(rules.faults_of_openai, view.for_openai(strict=False))]
        faults += map(rules.faults_of_gemini, view.for_gemini())
        assert not [fault for some in faults for fault in some], (seed, tools, view.for_gemini())
    assert strict > cases / 9


ITEM: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"a": {"type": "string", "minLength": 2}}, {"a": {"type": ["string", "null"]}}),
        ({"a": {"const": "x"}}, {"a": {"type": ["string", "null"], "enum": ["x", None]}}),
        ({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, {"a": {"type": ["string", "null"]}}),
        ({"a": {"allOf": [{"type": "integer", "minimum": 1}, {"maximum": 9, "minimum": 3}]}},
         {"a": {"type": ["integer", "null"], "minimum": 3, "maximum": 9}}),
        ({"a": {"$ref": "#/$defs/Item"}}, {"a": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]}}),
        ({"größe": {"type": "boolean"}}, {"gr_e_d353a267": {"type": ["boolean", "null"]}}),
    ],
)  # fmt: skip
def test_strict_mode_says_the_same_in_fewer_words(schema: Any, expected: Any) -> None:
    found = lowered({"type": "object", "properties": schema, "$defs": {"Item": ITEM}}, openai.STRICT)
    assert found.schema["properties"] == expected
    assert found.schema["required"] == list(expected)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"a": {}}, "any value"),
        ({"a": {"type": "object"}}, "an object with any properties"),
        ({"a": {"type": "object", "additionalProperties": {"type": "string"}}}, "an object with any properties"),
    ],
)
def test_what_strict_mode_cannot_say_is_sent_without_it_and_reported(schema: Any, reason: str) -> None:
    whole = {"type": "object", "properties": schema}
    found = lowered(whole, openai.STRICT)
    assert (found.is_strict, found.because) == (False, f"OpenAI strict has no schema for {reason}")
    assert found.schema == whole


ARRAYS: tuple[Any, ...] = (
    {"type": "array"},
    {"type": ["array", "null"]},
    {"type": "array", "items": True},
    {"type": "array", "prefixItems": [{"type": "string"}]},
    {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    {"type": "array", "items": [{"type": "string"}, {"type": "array"}]},
    {"anyOf": [{"type": "array", "minItems": 1}, {"type": "string"}]},
    {"type": "array", "items": {"type": "array"}},
    {"type": "object", "additionalProperties": {"type": "array"}},
    {"not": {"type": "array"}},
)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("strict", [True, False])
def test_arrays_have_items_for_openai(array: Any, strict: bool) -> None:
    whole = {"type": "object", "properties": {"free": {"type": "object"}, "a": array}, "$defs": {"d": array}}
    for api in ("responses", "chat"):
        [tool] = view_of(whole).for_openai(strict=strict, api=api)
        written = tool if api == "responses" else {"type": "function", **tool["function"]}
        assert [*rules.faults_of_openai(written)] == []


@pytest.mark.parametrize(
    ("enum", "expected"), [(["", "a"], ["a"]), (["a", "", "b"], ["a", "b"]), ([""], None), (["", None], None)]
)
def test_gemini_gets_no_empty_text_to_choose(enum: list[Any], expected: Any) -> None:
    for schema in ({"enum": enum}, {"type": ["string", "null"], "enum": enum}):
        found = lowered({"type": "object", "properties": {"a": schema}}, gemini.RULES)
        assert found.schema["properties"]["a"].get("enum") == expected
        assert bool(found.losses) is (expected is None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"exclusiveMinimum": 0}, {"minimum": 1}),
        ({"exclusiveMinimum": -1.5}, {"minimum": -1}),
        ({"exclusiveMaximum": 10}, {"maximum": 9}),
        ({"exclusiveMaximum": 2.5}, {"maximum": 2}),
        ({"exclusiveMinimum": 0, "minimum": 5}, {"minimum": 5}),
        ({"minimum": 3, "exclusiveMinimum": True}, {"minimum": 4}),
    ],
)
def test_exclusive_limits_of_integers_are_inclusive_ones(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = lowered({"type": "object", "properties": {"a": {"type": "integer", **given}}}, gemini.RULES)
    assert found.schema["properties"]["a"] == {"type": "integer", **expected}
    assert found.losses == ()


@pytest.mark.parametrize("keyword", ["minLenght", "nullable", "discriminator", "enumNames", "strict", "minlength"])
@pytest.mark.parametrize("dialect", [openai.STRICT, gemini.RULES], ids=lambda dialect: dialect.name)
def test_a_keyword_that_no_table_has_is_reported(keyword: str, dialect: Dialect) -> None:
    found = lowered({"type": "object", "properties": {"a": {"type": "string", keyword: 3, "x-mine": 1}}}, dialect)
    assert [(loss.pointer, loss.keyword) for loss in found.losses] == [("/properties/a", keyword)]


@pytest.mark.parametrize("name", ["a/b", "a~b", "~1", "a~01/", "$"])
def test_a_reference_leads_to_a_definition_of_any_name(name: str) -> None:
    pointer = "#/$defs/" + name.replace("~", "~0").replace("/", "~1")
    tool = {"type": "object", "properties": {"a": {"$ref": pointer}}, "$defs": {name: {"type": "integer"}}}
    found = lowered(tool, gemini.RULES)
    assert (found.schema["properties"]["a"], found.losses) == ({"type": "integer"}, ())


def test_alternatives_at_the_top_become_one_object_and_are_reported() -> None:
    by_id = {"properties": {"id": {"type": "integer"}, "key": {"type": "string"}}, "required": ["id", "key"]}
    by_name = {"properties": {"name": {"type": "string"}, "key": {"type": "integer"}}, "required": ["name", "key"]}
    found = lowered({"type": "object", "anyOf": [by_id, by_name]}, anthropic.RULES)
    assert found.schema["required"] == ["key"]
    assert found.schema["properties"]["key"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert [(loss.pointer, loss.keyword) for loss in found.losses] == [("", "anyOf")]


def test_a_type_that_contains_itself_ends_for_a_model_without_references() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "label": {"type": "string"}}}
    schema = {"type": "object", "properties": {"top": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    found = lowered(schema, gemini.RULES)
    assert "$ref" in {loss.keyword for loss in found.losses}
    assert "$ref" not in json.dumps(found.schema)
    assert lowered(schema, openai.STRICT).is_strict


def recursive(kind: str) -> dict[str, Any]:
    """Return a schema with an array of itself, without a reference to a definition or with one."""
    match kind:
        case "items":
            return {"f": {"type": "array", "items": {"$ref": "#/properties/f"}}}
        case "alternative":
            return {"f": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/f"}]}}}
        case "properties":
            return {"f": {"type": "object", "properties": {"g": {"allOf": [{"$ref": "#/properties/f"}]}}}}
        case _:
            inner = {"type": "array", "items": {"oneOf": [{"type": "string"}, {"$ref": "#/properties/g"}]}}
            return {"f": {"$ref": "#/properties/g"}, "g": {"anyOf": [{"type": "null"}, inner]}}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("kind", ["items", "alternative", "properties", "mutual"])
def test_a_type_that_contains_itself_is_written_in_every_dialect(kind: str, dialect: Dialect) -> None:
    schema = {"type": "object", "properties": recursive(kind)}
    found = lower(schema, dialect)
    text = json.dumps(found.schema)
    assert found.is_strict == dialect.is_closed and len(text) < 2_000
    assert ("$ref" in text) == (dialect is not gemini.RULES)
    if kind != "properties":
        assert validator(found.schema)({name: [] for name in schema["properties"]})
    assert "$ref" not in {loss.keyword for loss in found.losses} or dialect is gemini.RULES


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"q": None, "n": 1}, {"n": 1}),
        ({"maybe": None, "n": 1}, {"maybe": None, "n": 1}),
        ({"n": None}, {"n": None}),
        ({"n": 1, "_top_81bf98e4": 5}, {"n": 1, "$top": 5}),
        ({"n": 1, "item": '{"id": 3, "note": null}'}, {"n": 1, "item": {"id": 3}}),
        ({"n": 1, "item": "not JSON"}, {"n": 1, "item": "not JSON"}),
        ({"n": 1, "q": "[1]"}, {"n": 1, "q": "[1]"}),
    ],
)
def test_arguments_of_a_model_are_mapped_back(given: Any, expected: Any) -> None:
    item = {**ITEM, "properties": {**ITEM["properties"], "note": {"type": "string"}}}
    properties: dict[str, Any] = {
        "q": {"type": "string"},
        "n": {"type": "integer"},
        "maybe": {"type": ["string", "null"]},
        "$top": {"type": "integer"},
        "item": {"anyOf": [item, {"type": "array", "items": item}]},
    }
    assert restore({"type": "object", "properties": properties, "required": ["n"]}, given) == expected


def bomb(levels: int, word: str) -> dict[str, Any]:
    """Return a schema whose definitions multiply."""
    last = {"type": "string"}
    definitions: dict[str, Any] = {
        f"d{level}": {word: [{"$ref": f"#/$defs/d{level + 1}"}] * 2} if level < levels else last
        for level in range(levels + 1)
    }
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


HOSTILE: Final[list[Any]] = [
    bomb(40, "allOf"),
    pytest.param(bomb(40, "anyOf"), marks=pytest.mark.slow),
    {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    {"$ref": "#"},
    {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}, {"type": "string"}]}}},
    {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/properties/a"}], "type": "string"}}},
    pytest.param(
        {"type": "object", "properties": {str(number): {"type": "string"} for number in range(50_000)}},
        marks=pytest.mark.slow,
    ),
    {"type": "object", "properties": 5, "required": "a", "$defs": []},
    {"type": "object", "properties": {"a": {"type": "object", "required": [{}, "b"]}}, "required": [["a"], 1]},
    {"type": 7, "enum": 3, "anyOf": {"a": 1}},
    {"$ref": "https://example.com/schema.json"},
]


@pytest.mark.parametrize("schema", HOSTILE, ids=lambda schema: json.dumps(schema)[:40])
def test_a_hostile_schema_is_sent_in_some_form_and_costs_little(schema: Any) -> None:
    began = time.process_time()
    view = view_of(schema)
    assert view.for_openai() and view.for_anthropic() and view.for_gemini()
    restore(schema, {"a": {"b": ["x"]}, "c": "[]"})
    assert time.process_time() - began < 20  # a bound on growth, not on speed


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_each_table_names_its_page_and_when_it_was_read(dialect: Dialect) -> None:
    assert dialect.source.startswith("https://")
    assert dialect.date >= "2026-11"
