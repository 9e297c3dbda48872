"""Hostile types that are computed from other types: deep, huge, cyclic, or named like code."""

import ast
from typing import Any

import pytest

from functional.generated import emitted
from mcp_bindgen.diff.compare import compare
from mcp_bindgen.ingest.sources import SourceText
from mcp_bindgen.ir.diagnostics import InputError
from support.samples import HANDSHAKE, HANDSHAKE_TS, json_source, load, typescript_source

CODE = '"];import builtins;builtins.hacked=1#'
DEEP = 300
WIDE = 1000


def nested(opening: str, inner: str, closing: str, depth: int) -> str:
    return f"{opening * depth}{inner}{closing * depth}"


def pyramid(count: int) -> str:
    """Interfaces whose properties would be doubled at each step if they were written out."""
    steps = "".join(f"type P{n} = {{ a: P{n + 1}; b: P{n + 1} }};" for n in range(count))
    return f"{steps} type P{count} = string;"


TYPESCRIPT: dict[str, str] = {
    "deep partial": f"interface A {{ a: string }} type T = {nested('Partial<', 'A', '>', DEEP)};",
    "deep omit": "interface A { a: string } type T = " + nested("Omit<", "A", ', "b">', 30) + ";",
    "deep generic": f"type G<I> = {{ v: I }}; type T = {nested('G<', 'string', '>', DEEP)};",
    "endless generic": "type G<I> = { v: I; n: G<I[]> }; type T = G<string>;",
    "doubling generic": "type G<I> = { a: G<{ x: I; y: I }>; b: I }; type T = G<string>;",
    "generic of itself": "type G<I> = G<I>; type T = G<string>;",
    "generic in a cycle": "type G<I> = H<I>; type H<I> = G<I>; type T = G<string>;",
    "property of itself": 'interface A { x: A["x"] } type T = A["x"];',
    "properties in a cycle": 'interface A { x: B["x"] } interface B { x: A["x"] }',
    "keys of itself": "type K = { [P in keyof K]: K[P] };",
    "keys in a cycle": "type K = Record<keyof L, string>; type L = Record<keyof K, string>;",
    "exclude of itself": 'type K = Exclude<K, "a">;',
    "extends what is computed of itself": 'interface A extends Omit<A, "x"> { x: string }',
    "extends in a cycle": "interface A extends Partial<B> {} interface B extends Partial<A> {}",
    "many keys": "type T = Record<" + " | ".join(f"'k{n}'" for n in range(WIDE)) + ", string>;",
    "many instances": "type G<I> = { v: I }; interface T { " + "".join(f"p{n}: G<'{n}'>; " for n in range(WIDE)) + "}",
    "product of unions": "".join(
        f"type U{n} = " + " | ".join(f"{{ m{n}_{m}: string }}" for m in range(9)) + ";" for n in range(9)
    )
    + "type T = "
    + " & ".join(f"U{n}" for n in range(9))
    + ";",
    "wide intersection": "type T = " + " & ".join(f"{{ m{n}: string }}" for n in range(WIDE)) + ";",
    "intersection of itself": "type T = A & (T | B); interface A { a: string } interface B { b: string }",
    "pyramid": f"{pyramid(60)} type T = Partial<P0>; type R = Required<P0>;",
    "enum of code": f"enum E {{ a = {CODE!r} }} type T = Record<E, string>;",
    "keys of code": f"type T = Record<{CODE!r} | '__class__' | '', string>; type K = keyof T;",
    "template of code": f"type T = `{CODE}${{string}}`;",
    "long text": "type T = string extends string ? " + " | ".join(["string"] * 20_000) + " : 1;",
}
REF: Any = {"$ref": "#/$defs/T"}


def chain(word: str, depth: int) -> Any:
    node: Any = {"type": "string"}
    for _ in range(depth):
        node = {word: [node]} if word.endswith("Of") else {word: node}
    return node


JSON: dict[str, dict[str, Any]] = {
    "deep allOf": {"T": chain("allOf", DEEP)},
    "deep not": {"T": chain("not", DEEP)},
    "allOf of itself": {"T": {"allOf": [REF, {"type": "object"}]}},
    "oneOf of itself": {"T": {"oneOf": [REF, {"type": "string"}]}},
    "beside itself": {"T": {**REF, "minLength": 1}},
    "place in itself": {"T": {"type": "object", "properties": {"a": {"$ref": "#/$defs/T/properties/a"}}}},
    "places in a cycle": {
        "T": {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/T/properties/b"}, "b": {"$ref": "#/$defs/T/properties/a"}},
        }
    },
    "many places": {
        "T": {
            "type": "object",
            "properties": {f"p{n}": {"$ref": f"#/$defs/T/properties/p{n + 1}"} for n in range(2000)} | {"p2000": {}},
        }
    },
    "product of unions": {
        "T": {
            "allOf": [
                {"anyOf": [{"type": "object", "properties": {f"m{n}_{m}": {}}} for m in range(9)]} for n in range(9)
            ]
        }
    },
    "huge enum": {"T": {"allOf": [{"enum": list(range(20_000))}, {"enum": list(range(10_000, 30_000))}]}},
    "pattern that takes forever": {"T": {"type": "string", "pattern": "(a+)+$"}},
    "words of code": {"T": {"type": "string", CODE: 1, "patternProperties": {CODE: True}}},
    "definition without a name": {"": {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}},
    "definition of code": {CODE: {"type": "string"}, "T": {"$ref": f"#/$defs/{CODE.replace('#', '%23')}"}},
}
SOURCES = {f"typescript: {name}": typescript_source(HANDSHAKE_TS + text) for name, text in TYPESCRIPT.items()} | {
    f"json: {name}": json_source({**HANDSHAKE, **nodes}) for name, nodes in JSON.items()
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_hostile_type_gives_bindings_or_a_diagnostic(source: SourceText) -> None:
    """Exponential work would exceed the timeout of the test."""
    try:
        protocol, _ = load(source)
    except InputError as error:
        assert str(error)
    else:
        for text in emitted(protocol, is_formatted=False).values():
            named = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
            assert "hacked" not in named
        base, _ = load(typescript_source(HANDSHAKE_TS))
        assert compare(base, protocol) and compare(protocol, base)
