"""Constructs of JSON Schema and of TypeScript against jsonschema: what the bindings accept, on many values.

Where a type is complete, both accept the same values. Where something is opaque, the bindings accept at least what
jsonschema does.
"""

import ast
import json
import random
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from functional.generated import REVISION, emitted, generate_definitions
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.spell import opaque_facts
from mcp_bindgen.load.protocol import load_sources
from mcp_runtime.core.json.values import EXACT_CONSTANTS
from support.mutations import is_list, is_object
from support.samples import HANDSHAKE, HANDSHAKE_TS, json_source, typescript_source

TEXT: Any = {"type": "string"}
A: Any = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
KINDS: list[Any] = [
    {"type": "object", "properties": {"kind": {"const": kind}, kind: TEXT}, "required": ["kind", kind]} for kind in "xy"
]
NUMBERED: list[Any] = [
    {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]} for kind in (0, 1, True)
]
REF_A: Any = {"$ref": "#/$defs/A"}

KEYWORDS: Mapping[str, Any] = {
    "all of objects": {"allOf": [REF_A, {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}]},
    "all of an object and a union": {"allOf": [REF_A, {"oneOf": KINDS}]},
    "all of scalars": {"allOf": [{"type": "string", "minLength": 1}, {"maxLength": 2}]},
    "all of numbers": {"allOf": [{"type": "number", "minimum": 1}, {"type": "integer"}]},
    "constants": {"allOf": [{"enum": ["a", "b", 1]}, {"enum": ["b", 1, None]}, {"type": ["string", "null"]}]},
    "beside a reference": {"$ref": "#/$defs/Text", "maxLength": 1},
    "tagged one of": {"oneOf": KINDS},
    "overlapping one of": {"oneOf": [TEXT, {"type": "string", "minLength": 1}]},
    "one of kinds": {"oneOf": [TEXT, {"type": "array", "items": TEXT}]},
    "any of": {"anyOf": [{"type": "integer"}, {"type": "null"}, REF_A]},
    "property names": {"type": "object", "propertyNames": {"maxLength": 1}},
    "any property names": {"type": "object", "propertyNames": TEXT, "additionalProperties": TEXT},
    "pattern properties": {"type": "object", "patternProperties": {"^a": TEXT}, "additionalProperties": False},
    "not": {"type": "string", "not": {"const": "a"}},
    "never": {"type": "object", "properties": {"a": {"not": {}}}},
    "if": {"if": TEXT, "then": {"minLength": 1}},
    "tuple": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "minItems": 1},
    "contains": {"type": "array", "contains": TEXT},
    "untyped assertion": {"minLength": 1},
    "untyped properties": {"properties": {"a": TEXT}, "required": ["a"]},
    "min properties": {"type": "object", "properties": {"a": TEXT}, "minProperties": 1},
    "dependent required": {"type": "object", "properties": {"a": TEXT}, "dependentRequired": {"a": ["b"]}},
    "unevaluated": {"type": "object", "properties": {"a": TEXT}, "unevaluatedProperties": False},
    "constant object": {"const": {"a": "a"}},
    "enum of anything": {"enum": ["a", ["a"], {"a": "a"}, None]},
    "numbers and booleans": {"enum": ["a", 1, False, None]},
    "one": {"const": 1},
    "zero": {"const": 0},
    "true": {"const": True},
    "false": {"const": False},
    "constants in a list": {"type": "array", "items": {"enum": [0, True]}},
    "constants in a map": {"type": "object", "additionalProperties": {"const": 1}},
    "tagged by numbers": {"oneOf": NUMBERED},
    "vendor word": {"type": "string", "x-order": 1},
    "nested definitions": {"$defs": {"In": TEXT}, "type": "array", "items": {"$ref": "#/$defs/T/$defs/In"}},
}
EXPRESSIONS: Mapping[str, tuple[str, Any]] = {
    "record of literals": (
        'Record<"a" | "b", string>',
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
    ),
    "open record": ('Record<"a" | string, string>', {"type": "object", "additionalProperties": TEXT}),
    "partial": ("Partial<A>", {"type": "object", "properties": {"a": TEXT}}),
    "required": ("Required<Partial<A>>", A),
    "omit": ('Omit<A, "a">', {"type": "object"}),
    "pick": ('Pick<A & { b: number }, "a">', A),
    "readonly": ("Readonly<A>", A),
    "exclude": ('Exclude<"a" | "b" | "c", "c">', {"enum": ["a", "b"]}),
    "non-nullable": ("NonNullable<string | null>", TEXT),
    "keyof": ("keyof A", {"const": "a"}),
    "indexed": ('A["a"]', TEXT),
    "mapped": ('{ [K in "a" | "b"]?: K }', {"type": "object", "properties": {k: {"const": k} for k in "ab"}}),
    "generic": (
        "Page<A>",
        {"type": "object", "properties": {"items": {"type": "array", "items": A}}, "required": ["items"]},
    ),
    "union in an intersection": (
        'A & ({ kind: "x"; x: string } | { kind: "y"; y: string })',
        {"allOf": [A, {"anyOf": KINDS}]},
    ),
    "open literals": ('"a" | (string & {})', TEXT),
    "branded": ("string & { __brand: 1 }", TEXT),
    "date": ("Date", TEXT),
    "template": ("`a${string}`", {"type": "string", "pattern": "^a"}),
    "tuple": ("[string, string]", {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}),
    "undefined": ("string | undefined", TEXT),
    "enum": ("E", {"enum": ["a", "b"]}),
    "open enum": ("Open", True),
    "big integer": ("10n | string", TEXT),
    "accessor": ("Accessor", A),
    "interface and namespace": ("Merged", A),
    "extract": ('Extract<"a" | "b", "b" | "c">', {"const": "b"}),
    "record of keys": (
        "Record<keyof Partial<A & { b: number }>, string>",
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
    ),
    "keyof an intersection": ("keyof (A & { b: number })", {"enum": ["a", "b"]}),
    "optional rest": ("[string, string?, ...string[]]", {"type": "array", "items": TEXT, "minItems": 1}),
    "unique symbol": ("unique symbol", True),
    "conditional": ("string extends A ? A : string", True),
}
SEEDS: list[Any] = json.loads("""
[null, true, 0, 1, 2.5, -1, "", "a", "b", "ab", "long", [], ["a"], ["a", 1], ["a", "b"], [1], [["a"]], {}, {"a":
"a"}, {"a": 1}, {"a": "a", "b": "b"}, {"b": "b"}, {"bb": 1}, {"items": [{"a": "a"}]}, {"items": [{}]}, {"a": "a",
"kind": "x", "x": "x"}, {"a": "a", "kind": "y", "x": "x"}, {"kind": "y", "y": "y"}, {"ab": "a"}]
""")


def values() -> list[Any]:
    """Return the seeds, and their combinations."""
    rng = random.Random(20261121)
    found = list(SEEDS)
    for _ in range(300):
        seed: Any = json.loads(json.dumps(rng.choice(SEEDS)))
        other: Any = rng.choice(SEEDS)
        if is_object(seed):
            seed[rng.choice(["a", "b", "kind", "x", "y", "items", "new"])] = other
        elif is_list(seed):
            seed.append(other)
        found.append(seed)
    return found


def accepts(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_json(json.dumps(value))
    except ValidationError:
        return False
    return True


def compare(module: Any, schema: Any, *, exact: bool) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, Annotated[module.T, EXACT_CONSTANTS]))
    validator: Any = Draft202012Validator(schema)
    verdicts = [(value, validator.is_valid(value), accepts(adapter, value)) for value in values()]
    assert [value for value, valid, accepted in verdicts if valid and not accepted] == []
    if exact:
        assert [value for value, valid, accepted in verdicts if accepted and not valid] == []


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords(name: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
    definitions = {"A": A, "Text": TEXT, "T": KEYWORDS[name]}
    protocol = load_sources([json_source({**HANDSHAKE, **definitions})], REVISION, Diagnostics())
    schema = {"$ref": "#/$defs/T", "$defs": definitions}
    compare(unique(emitted(protocol)), schema, exact=not list(opaque_facts(protocol)))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
    text, schema = EXPRESSIONS[name]
    declared = 'interface A { a: string } interface Page<I> { items: I[] } enum E { x = "a", y = "b" }'
    declared += ' enum Open { x = "a", y = x + "b" } interface Accessor { get a(): string; set a(value: string) }'
    declared += " interface Merged { a: string } namespace Merged { export const x = 1 }"
    source = typescript_source(f"{HANDSHAKE_TS} {declared} type T = {text};")
    protocol = load_sources([source], REVISION, Diagnostics())
    compare(unique(emitted(protocol)), schema, exact=not list(opaque_facts(protocol)))


MANY = 4_000
"""The length of a union that Python's parser could not read with operators: it bounds how deep they are nested."""
UNIONS: Mapping[str, Callable[[int], Any]] = {
    "lists": lambda n: {"type": "array", "items": {"const": f"a{n}"}},
    "bounded": lambda n: {"type": "string", "minLength": n, "maxLength": n},
    "constants": lambda n: {"const": f"a{n}"},
    "fractions": lambda n: {"const": n + 0.5},
}


@pytest.mark.parametrize(
    ("name", "first"), [("lists", ["a0"]), ("bounded", ""), ("constants", "a0"), ("fractions", 0.5)]
)
def test_long_unions_can_be_imported(name: str, first: Any, unique: Callable[[Mapping[str, str]], Any]) -> None:
    files = generate_definitions({"Choice": {"anyOf": [UNIONS[name](n) for n in range(MANY)]}})
    for text in files.values():
        ast.parse(text)
    choice: TypeAdapter[Any] = TypeAdapter(unique(files).Choice)
    assert accepts(choice, first) and not accepts(choice, ["b"])
