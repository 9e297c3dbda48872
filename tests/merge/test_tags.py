"""Assertions in documentation comments mean what the official converter makes of them."""

from itertools import product
from typing import Any

import pytest

from mcp_bindgen.ingest.json_schema import read_schema
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import document_from_facts, facts_from_document
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import ANY, Alias, Definition
from mcp_bindgen.ir.spell import opaque_text
from mcp_bindgen.merge.build import build
from mcp_bindgen.merge.lower import lower
from support.samples import lines

STRING, LIST, MAP = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "object"}
LONG = {**STRING, "maxLength": 5}
OBJECT = {**MAP, "properties": {"x": STRING}, "additionalProperties": True}
CASES: list[tuple[str, str, Any]] = [
    ("minimum 0", "number", {"type": "integer", "minimum": 0}),
    ("maximum 1.5", "number", {"type": "integer", "maximum": 1.5}),
    ("exclusiveMinimum 0", "number", {"type": "integer", "exclusiveMinimum": 0}),
    ("exclusiveMaximum 9", "number", {"type": "integer", "exclusiveMaximum": 9}),
    ("multipleOf 1000", "number", {"type": "integer", "multipleOf": 1000}),
    ("minLength 2", "string", {**STRING, "minLength": 2}),
    ("maxLength 8", "string", {**STRING, "maxLength": 8}),
    ("pattern ^[a-z]+$", "string", {**STRING, "pattern": "^[a-z]+$"}),
    ("minItems 1", "string[]", {**LIST, "minItems": 1}),
    ("maxItems 9", "string[]", {**LIST, "maxItems": 9}),
    ("uniqueItems true", "string[]", {**LIST, "uniqueItems": True}),
    ("uniqueItems", "string[]", {**LIST, "uniqueItems": True}),
    ("contains {\"const\": \"a\"}", "string[]", {**LIST, "contains": {"const": "a"}}),
    ("items.maxLength 5", "string[]", {**LIST, "items": {**STRING, "maxLength": 5}}),
    ("items maxLength 5", "string[]", {**LIST, "items": {**STRING, "maxLength": 5}}),
    ("minProperties 1", "object", {**MAP, "minProperties": 1}),
    ("maxProperties 5", "{ [key: string]: string }", {**MAP, "additionalProperties": STRING, "maxProperties": 5}),
    ("minProperties 1", "{ x?: string }", {**OBJECT, "minProperties": 1}),
    ("additionalProperties false", "{ x?: string }", {**OBJECT, "additionalProperties": False}),
    ("additionalProperties false", "object", {**MAP, "additionalProperties": False}),
    ("additionalProperties.maxLength 5", "Record<string, string>", {**MAP, "additionalProperties": LONG}),
    ("nullable", "string", {"type": ["string", "null"]}),
    ("type integer", "number", {"type": "integer"}),
    ("enum [\"a\", \"b\"]", "string", {"allOf": [STRING, {"enum": ["a", "b"]}]}),
    ("minLength 2", "string | number", {"type": ["string", "integer"], "minLength": 2}),
    ("minLength 2", "Named", {"$ref": "#/$defs/Named", "minLength": 2}),
    ("minProperties 2", "Thing", {"$ref": "#/$defs/Thing", "minProperties": 2}),
    ("maxItems 2", "Named[]", {"type": "array", "items": {"$ref": "#/$defs/Named"}, "maxItems": 2}),
]  # fmt: skip
"""An assertion, the type that it is on, and what typescript-json-schema 0.68 makes of both."""
NAMED = "type Named = string; interface Thing { x?: string }"
OTHERS = {"Named": STRING, "Thing": {**MAP, "properties": {"x": STRING}}}


def types(definitions: dict[str, Definition]) -> dict[str, object]:
    """Return what definitions admit, without their names for inline objects."""
    found: dict[str, object] = {}
    for name, definition in definitions.items():
        if isinstance(definition, Alias):
            found[name] = definition.type, opaque_text(definition.type)
        else:
            rows = {f.wire_name: (f.type, f.required, opaque_text(f.type)) for f in definition.fields}
            found[name] = rows, definition.extra or "closed", definition.opaque and definition.opaque.text
    return found


def typed(document: TypeScriptDocument) -> dict[str, object]:
    diagnostics = Diagnostics()
    found = types(build(lower(document, {}), "schema.ts", diagnostics))
    assert lines(diagnostics) == []
    return found


def expected(node: Any, *, nested: bool) -> dict[str, object]:
    """Return what a schema.json says in which a property, perhaps of an inline object, is of a type."""
    whole = {**MAP, "properties": {"a": node}, "required": ["a"]}
    whole = {**MAP, "properties": {"inner": whole}, "required": ["inner"]} if nested else whole
    diagnostics = Diagnostics()
    document = read_schema({"$defs": {"A": whole, **OTHERS}}, "schema.json", diagnostics)
    found = types(build(document.declarations, "schema.json", diagnostics))
    assert lines(diagnostics) == []
    return found


@pytest.mark.parametrize(
    "comment", ["/** @{} */", "/** Text. @{} */", "/**\n * @{}\n * More text. */", "/** @TJS-{} */"]
)
@pytest.mark.parametrize("nested", [False, True])
def test_an_assertion_is_read(comment: str, nested: bool) -> None:
    """In each spelling, in inline objects too, and again from the facts that keep the structure."""
    for tag, type_, node in CASES:
        if ("Text" in comment and tag in ("nullable", "type integer")) or ("TJS" in comment and " " not in tag):
            continue
        member = f"{comment.format(tag)} a: {type_};"
        text = f"interface A {{ {f'inner: {{ {member} }};' if nested else member} }} {NAMED}"
        diagnostics = Diagnostics()
        document = read_typescript(text, "schema.ts", diagnostics)
        assert lines(diagnostics) == []
        assert typed(document) == expected(node, nested=nested), (tag, type_)
        facts = facts_from_document(document, text)
        again = document_from_facts(facts, "typescript.json", diagnostics)
        assert lines(diagnostics) == []
        assert (typed(again), facts_from_document(again, text)["revision"]) == (typed(document), None), (tag, type_)


def test_an_assertion_on_a_definition_is_read() -> None:
    document = read_typescript(
        "/** @minLength 2 */ type A = string; /** @additionalProperties false */ interface B { x?: string }",
        "schema.ts",
        Diagnostics(),
    )
    diagnostics = Diagnostics()
    nodes = {"A": {**STRING, "minLength": 2}, "B": {**OBJECT, "additionalProperties": False}}
    theirs = read_schema({"$defs": nodes}, "schema.json", diagnostics)
    assert typed(document) == types(build(theirs.declarations, "schema.json", diagnostics))


def test_several_tags_on_one_line_are_read() -> None:
    document = read_typescript(
        "interface A { /** @minimum 0 @maximum 9 @deprecated */ a: number }" + NAMED, "s", Diagnostics()
    )
    assert typed(document) == expected({"type": "integer", "minimum": 0, "maximum": 9}, nested=False)


def test_a_comment_behind_a_member_is_not_of_the_next() -> None:
    text = "interface A { inner: {\n b: string; /** @maxLength 5 */\n a: string; } }"
    document = read_typescript(text, "schema.ts", Diagnostics())
    facts: Any = facts_from_document(document, text)
    assert facts["declarations"][0]["members"][0]["type"] == "{ b: string; a: string; }"


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        ("frobnicate 3", "'@frobnicate' is not a known tag, so it is not read"),
        ("minimum", "'@minimum' is not read: \"\" is not a value for minimum"),
        ("maxLength few", "'@maxLength' is not read: \"few\" is not a value for maxLength"),
        ("minLength -1", "'@minLength' is not read: -1 is not a value for minLength"),
        ("items.frobnicate 3", "'@items.frobnicate' is not a known tag, so it is not read"),
        ("enum a", "'@enum' is not read: \"a\" is not a value for enum"),
        ("contains 3", "'@contains' is not read: 3 is not a value for contains"),
    ],
)
def test_a_tag_that_is_not_read_is_one_warning(tag: str, problem: str) -> None:
    diagnostics = Diagnostics()
    text = f"interface A {{\n/** @{tag} */\na: unknown;\n/** @{tag} */\nb: unknown; }}"
    document = read_typescript(text, "schema.ts", diagnostics)
    assert lines(diagnostics) == [f"warning: :3: {problem}"]
    assert typed(document)["A"] == (dict.fromkeys("ab", (ANY, True, "")), ANY, None)


def test_documentation_tags_cause_no_warning() -> None:
    diagnostics = Diagnostics()
    tags = product(("category x", "see A", "internal", "example b", "remarks c", "default 5"), ("string", "number"))
    text = "".join(f"/** @{tag} */ {name}{n}: {name};" for n, (tag, name) in enumerate(tags))
    read_typescript(f"interface A {{ {text} }}", "schema.ts", diagnostics)
    assert lines(diagnostics) == []
