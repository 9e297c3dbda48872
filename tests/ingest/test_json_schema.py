"""The JSON Schema front end: every keyword is understood or refused, and property names are never keywords."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

import pytest

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.ingest.json_schema import DIALECTS, MAX_DEPTH, read_schema
from mcp_bindgen.ingest.json_text import parse_json
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.shapes import AllOf, AnyOf, Array, Object, Property, Record, Shape
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.leaves import ANY, NULL, STRING, Bounds, Kind, Literal, Primitive, Ref
from support.samples import REVISIONS, lines, read_json

INTEGER, NUMBER, BOOLEAN = (Primitive(kind=kind) for kind in (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN))
DRAFT_07 = ("draft7/metaschema.json",)
DRAFT_2020_12 = tuple(
    f"draft202012/vocabularies/{name}"
    for name in "core applicator unevaluated validation meta-data format-annotation content".split()
)


def meta_keywords(*addresses: str) -> set[str]:
    """Return the keywords that meta-schemas of the JSON Schema project define."""
    folder = files("jsonschema_specifications") / "schemas"
    texts = [folder.joinpath(address).read_text("utf-8") for address in addresses]
    return {word for text in texts for word in cast("dict[str, Any]", json.loads(text))["properties"]}


def type_of(node: object, **others: object) -> Shape:
    """Read a schema that is without diagnostics."""
    declarations, found = read_json({"A": node, **others})
    assert found == []
    return declarations["A"].type


def complaints(node: object) -> list[str]:
    """Return the diagnostics of a definition called A, their pointers relative to it."""
    return [line.replace(": #/$defs/A", ": ", 1) for line in read_json({"A": node})[1]]


def struct(*fields: Property, extra: Shape | None = ANY) -> Object:
    return Object(properties=fields, extra=extra)


def optional(name: str, type_: Shape = STRING) -> Property:
    return Property(wire_name=name, type=type_, required=False)


ANNOTATIONS: Mapping[str, object] = {
    "$comment": "c",
    "$anchor": "a",
    "title": "t",
    "description": "d",
    "default": {"if": 1},
    "examples": [{"not": 1}],
    "deprecated": True,
    "readOnly": True,
    "writeOnly": False,
    "contentEncoding": "base64",
    "contentMediaType": "text/plain",
    "contentSchema": {"if": {}},
}
ASSERTIONS = (
    ("integer", "minimum", -1, Bounds(minimum=-1)),
    ("number", "minimum", 0.5, Bounds(minimum=0.5)),
    ("number", "maximum", 1, Bounds(maximum=1)),
    ("number", "exclusiveMinimum", 0, Bounds(exclusive_minimum=0)),
    ("integer", "exclusiveMaximum", 10, Bounds(exclusive_maximum=10)),
    ("number", "multipleOf", 0.25, Bounds(multiple_of=0.25)),
    ("string", "minLength", 1, Bounds(min_length=1)),
    ("string", "maxLength", 3.0, Bounds(max_length=3)),
    ("string", "pattern", "^a", Bounds(pattern="^a")),
    ("array", "minItems", 0, Bounds(min_items=0)),
    ("array", "maxItems", 2, Bounds(max_items=2)),
    ("array", "uniqueItems", True, Bounds(unique_items=True)),
    ("object", "minProperties", 1, Bounds(min_properties=1)),
    ("object", "maxProperties", 5, Bounds(max_properties=5)),
)
APPLICATORS: Mapping[str, Any] = {
    "if": {},
    "then": {},
    "else": {},
    "not": {},
    "patternProperties": {},
    "propertyNames": {},
    "contains": {},
    "minContains": 1,
    "maxContains": 1,
    "prefixItems": [{}],
    "additionalItems": False,
    "dependencies": {},
    "dependentRequired": {},
    "dependentSchemas": {},
    "unevaluatedItems": False,
    "unevaluatedProperties": False,
    "$dynamicRef": "#a",
    "$dynamicAnchor": "a",
    "$recursiveRef": "#",
    "$recursiveAnchor": True,
    "$defs": {},
    "definitions": {},
    "$id": "https://example.org/other",
    "$schema": "https://example.org/dialect",
    "$vocabulary": {},
}
"""What cannot be typed, and what would give the words below it another meaning."""


class TestKeywords:
    @pytest.mark.parametrize(("word", "value"), ANNOTATIONS.items())
    def test_annotations_change_no_type(self, word: str, value: object) -> None:
        assert type_of({"type": "string", word: value}) == STRING

    def test_format_is_kept_on_strings(self) -> None:
        assert type_of({"type": "string", "format": "uri"}) == Primitive(kind=Kind.STRING, format="uri")
        assert type_of({"type": "integer", "format": "int64"}) == INTEGER

    def test_description_and_deprecated_are_kept(self) -> None:
        member = {"type": "string", "description": "Of b.", "deprecated": True}
        declarations, found = read_json({"A": {"type": "object", "properties": {"b": member}, "description": "Of A."}})
        assert not found
        assert declarations["A"].doc == "Of A."
        type_ = declarations["A"].type
        assert isinstance(type_, Object)
        assert (type_.properties[0].doc, type_.properties[0].deprecated) == ("Of b.", True)

    @pytest.mark.parametrize(("kind", "word", "value", "bounds"), ASSERTIONS)
    def test_assertions_become_bounds(self, kind: str, word: str, value: object, bounds: Bounds) -> None:
        type_ = type_of({"type": kind, word: value})
        assert isinstance(type_, Primitive | Array | Record)
        assert type_.bounds == bounds

    @pytest.mark.parametrize(("kind", "word", "value", "bounds"), ASSERTIONS)
    def test_an_assertion_without_its_type_is_told(self, kind: str, word: str, value: object, bounds: Bounds) -> None:
        del bounds
        (alone,) = complaints({word: value})
        assert alone.startswith("error: :")
        assert f"'{word}'" in alone
        (idle,) = complaints({"type": "null", word: value})
        assert idle == f"warning: /{word}: '{word}' has no effect on null"
        assert complaints({"type": [kind, "null"], word: value}) == []

    @pytest.mark.parametrize(
        ("kind", "word", "value"),
        [
            ("integer", "minimum", "0"),
            ("integer", "minimum", True),
            ("number", "maximum", None),
            ("number", "multipleOf", 0),
            ("number", "multipleOf", -0.5),
            ("string", "minLength", -1),
            ("string", "minLength", 1.5),
            ("string", "minLength", True),
            ("string", "pattern", 5),
            ("string", "pattern", "("),
            ("array", "maxItems", [1]),
            ("array", "uniqueItems", 1),
            ("object", "minProperties", "1"),
        ],
    )
    def test_an_assertion_of_the_wrong_kind_is_an_error(self, kind: str, word: str, value: object) -> None:
        assert complaints({"type": kind, word: value}) == [
            f"error: /{word}: {json.dumps(value)} is not a value for {word}"
        ]

    @pytest.mark.parametrize(("word", "value"), APPLICATORS.items())
    @pytest.mark.parametrize(
        ("node", "pointer"),
        [
            ({"type": "object", "properties": {"x/~y": "HERE"}}, "/properties/x~1~0y"),
            ({"type": "array", "items": "HERE"}, "/items"),
            ({"anyOf": [{"type": "null"}, "HERE"]}, "/anyOf/1"),
            ({"allOf": ["HERE"]}, "/allOf/0"),
            ({"type": "object", "additionalProperties": "HERE"}, "/additionalProperties"),
            ("HERE", ""),
        ],
    )
    def test_an_applicator_without_a_type_is_an_error(
        self, word: str, value: object, node: object, pointer: str
    ) -> None:
        inner = {"type": "string", word: value}
        whole = json.loads(json.dumps(node).replace('"HERE"', json.dumps(inner)))
        assert complaints(whole) == [f"error: {pointer}/{word}: '{word}' has no type in Python; rewrite or remove it"]

    @pytest.mark.parametrize("word", ["nullable", "discriminator", "tyep", "x-order", "id", "extends", ""])
    def test_an_unknown_word_is_an_error(self, word: str) -> None:
        assert complaints({"type": "string", word: 1}) == [
            f"error: /{word}: '{word}' is not a keyword of draft-07 or 2020-12; rewrite or remove it"
        ]

    @pytest.mark.parametrize("word", sorted(meta_keywords(*DRAFT_07, *DRAFT_2020_12)))
    def test_every_keyword_of_both_dialects_has_a_place(self, word: str) -> None:
        """No word of the dialects is taken for a misspelling; either it is understood or it has no type."""
        found = complaints({"type": "object", word: {}})
        assert not any("is not a keyword" in line for line in found)
        refused = any("has no type in Python" in line for line in found)
        assert refused == (word in APPLICATORS)

    def test_several_errors_are_all_told_in_a_fixed_order(self) -> None:
        words = ["not", "if", "zzz", "aaa", "then"]
        found = complaints({"type": "string", **dict.fromkeys(words, 1)})
        assert [line.split(":")[1].strip() for line in found] == [f"/{word}" for word in sorted(words)]

    def test_a_list_of_items_is_a_tuple(self) -> None:
        assert complaints({"type": "array", "items": [True, True]}) == [
            "error: /items: a list of items schemas (a tuple) has no type here; use one schema"
        ]


class TestTypes:
    @pytest.mark.parametrize(
        ("node", "expected"),
        [
            (True, ANY),
            ({}, ANY),
            ({"description": "anything"}, ANY),
            ({"type": "string"}, STRING),
            ({"type": "integer"}, INTEGER),
            ({"type": "number"}, NUMBER),
            ({"type": "boolean"}, BOOLEAN),
            ({"type": "null"}, NULL),
            ({"type": ["string"]}, STRING),
            ({"type": ["string", "integer"]}, AnyOf(members=(STRING, INTEGER))),
            ({"type": "array"}, Array(item=ANY)),
            ({"type": "array", "items": True}, Array(item=ANY)),
            ({"type": "array", "items": {"type": "string"}}, Array(item=STRING)),
            ({"type": "object"}, Record(value=ANY)),
            ({"type": "object", "properties": {}}, Record(value=ANY)),
            ({"type": "object", "additionalProperties": True}, Record(value=ANY)),
            ({"type": "object", "additionalProperties": {"type": "string"}}, Record(value=STRING)),
            ({"type": "object", "additionalProperties": False}, struct(extra=None)),
            (
                {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
                struct(optional("a"), extra=None),
            ),
            (
                {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "null"}},
                struct(optional("a"), extra=NULL),
            ),
            ({"type": "object", "properties": {"a": True}}, struct(optional("a", ANY))),
            ({"const": "x"}, Literal(values=("x",))),
            ({"const": None}, Literal(values=(None,))),
            ({"type": "string", "const": "x"}, Literal(values=("x",))),
            ({"enum": ["b", "a", 1, 1.5, False, None]}, Literal(values=("b", "a", 1, 1.5, False, None))),
            ({"type": "string", "enum": ["b", "a"]}, Literal(values=("b", "a"))),
            ({"type": ["integer", "null"], "enum": [1, 2.0, None]}, Literal(values=(1, 2.0, None))),
            ({"type": "number", "enum": [1, 1.5]}, Literal(values=(1, 1.5))),
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, AnyOf(members=(STRING, NULL))),
            ({"anyOf": [{"type": "string"}, {"type": "string"}]}, STRING),
            ({"anyOf": [{"type": "string"}, {"anyOf": [{"type": "null"}, {}]}]}, AnyOf(members=(STRING, NULL, ANY))),
            ({"allOf": [{"type": "string"}]}, STRING),
            ({"allOf": [{"type": "object"}, {"type": "object"}]}, AllOf(members=(Record(value=ANY),) * 2)),
        ],
    )
    def test_reads(self, node: object, expected: Shape) -> None:
        assert type_of(node) == expected

    def test_literals_that_python_calls_equal_stay_apart(self) -> None:
        """In JSON, true is not 1; `Literal.__eq__` of Python says it is."""
        type_ = type_of({"anyOf": [{"const": 1}, {"const": True}]})
        assert isinstance(type_, AnyOf)
        assert [type(member.values[0]) for member in type_.members if isinstance(member, Literal)] == [int, bool]

    def test_references(self) -> None:
        assert type_of({"$ref": "#/$defs/B", "description": "A B."}, B=True) == Ref(name="B")
        assert type_of({"$ref": "#/$defs/a~1b~0c"}, **{"a/b~c": True}) == Ref(name="a/b~c")
        assert type_of({"type": "array", "items": {"$ref": "#/$defs/A"}}) == Array(item=Ref(name="A"))

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("#/$defs/B", "no definition is called 'B'"),
            ("#/$defs/A/properties/b", "no definition is called 'A/properties/b'"),
            ("#/definitions/A", 'a reference stays in this file, below #/$defs/; this is "#/definitions/A"'),
            ("#", 'a reference stays in this file, below #/$defs/; this is "#"'),
            ("other.json#/$defs/A", 'a reference stays in this file, below #/$defs/; this is "other.json#/$defs/A"'),
            ("https://x.org/s", 'a reference stays in this file, below #/$defs/; this is "https://x.org/s"'),
            (7, "a reference stays in this file, below #/$defs/; this is 7"),
            (["#/$defs/A"], 'a reference stays in this file, below #/$defs/; this is ["#/$defs/A"]'),
        ],
    )
    def test_a_reference_that_leads_nowhere_is_an_error(self, target: object, message: str) -> None:
        assert complaints({"$ref": target}) == [f"error: /$ref: {message}"]

    @pytest.mark.parametrize(
        ("node", "word"),
        [
            ({"$ref": "#/$defs/A"}, "$ref"),
            ({"anyOf": [{"type": "string"}]}, "anyOf"),
            ({"oneOf": [{"type": "string"}]}, "oneOf"),
            ({"allOf": [{"type": "string"}]}, "allOf"),
            ({"const": 1}, "const"),
            ({"enum": [1]}, "enum"),
        ],
    )
    def test_assertions_beside_an_applicator_are_errors(self, node: dict[str, object], word: str) -> None:
        """Draft-07 ignores what stands beside $ref, 2020-12 does not: so neither is guessed."""
        assert complaints({**node, "title": "fine", "default": 1}) == []
        assert complaints({**node, "minLength": 1}) == [
            f"error: /minLength: 'minLength' beside {word} is not understood; use allOf"
        ]

    @pytest.mark.parametrize(
        "branches",
        [
            [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
            [{"type": "string"}, {"type": "array"}, {"type": "object"}],
            [{"const": "a"}, {"const": "b"}, {"enum": ["c", 1]}],
            [{"type": "boolean"}, {"type": "object", "properties": {"a": True}}],
        ],
    )
    def test_exclusive_one_of_is_a_union(self, branches: list[object]) -> None:
        assert type_of({"oneOf": branches}) == type_of({"anyOf": branches})

    @pytest.mark.parametrize(
        "branches",
        [
            [{"type": "integer"}, {"type": "number"}],
            [{"type": "string"}, {"type": "string", "minLength": 1}],
            [{"type": "object"}, {"type": "object", "properties": {"a": True}}],
            [{"const": "a"}, {"enum": ["a", "b"]}],
            [{"const": "a"}, {"type": "string"}],
            [{"type": "string"}, {}],
            [{"$ref": "#/$defs/A"}, {"type": "string"}],
        ],
    )
    def test_overlapping_one_of_is_an_error(self, branches: list[object]) -> None:
        assert complaints({"oneOf": branches}) == [
            "error: /oneOf: oneOf has no type in Python where its branches may overlap; use anyOf"
        ]

    @pytest.mark.parametrize(
        ("node", "found"),
        [
            (False, ["error: : a schema is an object or true, not false"]),
            ([], ["error: : a schema is an object or true, not []"]),
            ("string", ['error: : a schema is an object or true, not "string"']),
            ({"type": "text"}, ['error: /type: "text" is not a type of JSON Schema']),
            ({"type": []}, ["error: /type: [] is not a type of JSON Schema"]),
            ({"type": ["string", 1]}, ['error: /type: ["string", 1] is not a type of JSON Schema']),
            ({"type": None}, ["error: /type: null is not a type of JSON Schema"]),
            ({"anyOf": []}, ["error: /anyOf: anyOf is a list of at least one schema"]),
            ({"allOf": {}}, ["error: /allOf: allOf is a list of at least one schema"]),
            ({"enum": []}, ["error: /enum: an enum is a list of at least one value"]),
            ({"enum": "a"}, ["error: /enum: an enum is a list of at least one value"]),
            ({"const": {}}, ["error: /const: {} cannot be a literal in Python; use a scalar"]),
            ({"enum": ["a", ["b"]]}, ['error: /enum: ["b"] cannot be a literal in Python; use a scalar']),
            (
                {"type": "string", "enum": ["a", 1]},
                ["error: /enum: 1 is not of the type that stands beside it"],
            ),
            ({"type": "integer", "const": True}, ["error: /const: true is not of the type that stands beside it"]),
            ({"type": "integer", "const": 1.5}, ["error: /const: 1.5 is not of the type that stands beside it"]),
            ({"type": "object", "properties": []}, ["error: /properties: properties is an object"]),
            ({"type": "object", "required": "a"}, ["error: /required: required is a list of property names"]),
            ({"type": "object", "required": [1]}, ["error: /required: required is a list of property names"]),
            (
                {"type": "object", "properties": {"a": False}},
                ["error: /properties/a: a schema is an object or true, not false"],
            ),
            (
                {"type": "object", "properties": {"a": {}}, "minProperties": 2},
                ["error: /minProperties: 'minProperties' beside properties has no type in Python; remove it"],
            ),
        ],
    )
    def test_refuses(self, node: object, found: list[str]) -> None:
        assert complaints(node) == found

    def test_required_but_undeclared_members_are_members(self) -> None:
        anything = type_of({"type": "object", "required": ["a"]})
        assert anything == struct(Property(wire_name="a", type=ANY, required=True))
        typed = type_of({"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}})
        assert typed == struct(Property(wire_name="a", type=STRING, required=True), extra=STRING)
        closed = {"type": "object", "required": ["a"], "additionalProperties": False}
        assert complaints(closed) == ["error: /required: requires a property that additionalProperties refuses"]

    def test_a_message_does_not_repeat_a_long_value(self) -> None:
        (line,) = complaints({"type": "x" * 10_000})
        assert len(line) < 200


class TestPropertyNames:
    @pytest.mark.parametrize(
        "name",
        sorted(meta_keywords(*DRAFT_07, *DRAFT_2020_12) | {"", "/", "~", "é", "a b", "__class__", "$ref"}),
    )
    def test_a_property_named_like_a_keyword_is_a_property(self, name: str) -> None:
        schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
        assert type_of(schema) == struct(Property(wire_name=name, type=STRING, required=True))
        nested = {"type": "object", "properties": {name: schema}}
        assert type_of(nested) == struct(optional(name, type_of(schema)))

    def test_a_definition_named_like_a_keyword_is_a_definition(self) -> None:
        assert type_of({"$ref": "#/$defs/not"}, **{"not": {"type": "string"}}) == Ref(name="not")

    def test_literal_values_are_no_schemas(self) -> None:
        assert type_of({"enum": ["not", "$ref", "properties"]}) == Literal(values=("not", "$ref", "properties"))


class TestFiles:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_both_dialects_say_the_same(self, revision: str) -> None:
        text = shipped_source(revision, SourceKind.JSON_SCHEMA).data.decode()
        old, new = (
            text.replace('"$defs"', '"definitions"').replace("#/$defs/", "#/definitions/"),
            text.replace('"definitions"', '"$defs"').replace("#/definitions/", "#/$defs/"),
        )
        assert old != new
        read: list[Mapping[str, Shape]] = []
        for one in (old, new):
            diagnostics = Diagnostics()
            document = read_schema(parse_json(one, "schema.json", diagnostics), "schema.json", diagnostics)
            assert not lines(diagnostics)
            read.append({name: declaration.type for name, declaration in document.declarations.items()})
        assert read[0] == read[1]

    def test_declarations_know_their_place(self) -> None:
        declarations, _ = read_json({"a/b": True, "C": True})
        assert {name: d.pointer for name, d in declarations.items()} == {"a/b": "/$defs/a~1b", "C": "/$defs/C"}
        document = read_schema({"definitions": {"A": {}}}, "schema.json", Diagnostics())
        assert str(document.location("A")) == "schema.json#/definitions/A"
        assert str(document.location()) == "schema.json#/definitions"

    @pytest.mark.parametrize(
        ("root", "found"),
        [
            ([], ["error: : a schema is a JSON object"]),
            (None, ["error: : a schema is a JSON object"]),
            ({}, ["error: : definitions belong under one of $defs and definitions; this file has neither"]),
            ({"$defs": []}, ["error: : definitions belong under one of $defs and definitions; this file has neither"]),
            (
                {"$defs": {}, "definitions": {}},
                ["error: : definitions belong under one of $defs and definitions; this file has both"],
            ),
            (
                {"$defs": {}, "type": "object", "properties": {}, "$schema": DIALECTS[1], "$id": "y", "title": "z"},
                [
                    "error: #/properties: 'properties' beside the definitions is not understood; remove it",
                    "error: #/type: 'type' beside the definitions is not understood; remove it",
                ],
            ),
            (
                {"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {}},
                [
                    'error: #/$schema: "http://json-schema.org/draft-04/schema#" is not understood;'
                    f" use one of {', '.join(DIALECTS)}"
                ],
            ),
        ],
    )
    def test_the_root(self, root: object, found: list[str]) -> None:
        diagnostics = Diagnostics()
        read_schema(root, "schema.json", diagnostics)
        assert lines(diagnostics) == found

    @pytest.mark.parametrize(
        ("data", "found"),
        [
            (b"", ["error: :1:1: not valid JSON: Expecting value"]),
            (b'{"a": }', ["error: :1:7: not valid JSON: Expecting value"]),
            (b'{"a":\n  1 2}', ["error: :2:5: not valid JSON: Expecting ',' delimiter"]),
            (b"{} x", ["error: :1:4: not valid JSON: Extra data"]),
            (b"{'a': 1}", ["error: :1:2: not valid JSON: Expecting property name enclosed in double quotes"]),
            (b'{"a": "\x01"}', ["error: :1:8: not valid JSON: Invalid control character at"]),
            (b'{"a": 1, "b": 2, "a": 3}', ["error: : the key 'a' stands twice in one object; keep one"]),
            (b'{"a": NaN}', ["error: : NaN is not JSON"]),
            (b"[Infinity, -Infinity]", ["error: : Infinity is not JSON", "error: : -Infinity is not JSON"]),
            (b'{"a": "\xff"}', ["error: : not UTF-8: invalid start byte at byte 7"]),
            (b'{"a": "\xed\xa0\x80"}', ["error: : not UTF-8: invalid continuation byte at byte 7"]),
            (b'{"a": ["\\ud800"]}', ["error: : a lone surrogate is not valid Unicode"]),
            (b'{"\\udc00": 1}', ["error: : a lone surrogate is not valid Unicode"]),
            (b"[1e400]", ["error: : 1e400 is too large for a number"]),
            (b"[-1" + b"0" * 400 + b"]", ["error: : -" + "1" + "0" * 18 + "... is too large for a number"]),
            (b"[" * 100_000, ["error: : cannot be read as JSON: nested too deeply"]),
            (b'{"a":' * 100_000, ["error: : cannot be read as JSON: nested too deeply"]),
        ],
    )
    def test_bad_json(self, data: bytes, found: list[str]) -> None:
        diagnostics = Diagnostics()
        parse_json(data, "schema.json", diagnostics)
        assert lines(diagnostics) == found

    def test_good_json(self) -> None:
        diagnostics = Diagnostics()
        assert parse_json(b'\xef\xbb\xbf{"a": "\\ud83d\\ude00"}', "schema.json", diagnostics) == {"a": "\U0001f600"}
        assert parse_json('{"a": [1, 1.5, 12345678901234567890]}', "x", diagnostics) == {
            "a": [1, 1.5, 12345678901234567890]
        }
        assert lines(diagnostics) == []

    def test_depth(self) -> None:
        def nested(depth: int) -> object:
            node: object = {"type": "string"}
            for _ in range(depth):
                node = {"type": "array", "items": node}
            return node

        assert complaints(nested(MAX_DEPTH)) == []
        (line,) = complaints(nested(MAX_DEPTH + 1))
        assert line == f"error: {'/items' * (MAX_DEPTH + 1)}: nested more than {MAX_DEPTH} levels deep"

    def test_a_wide_file_is_read_in_time(self) -> None:
        """100,000 members and branches: the work grows with the size of the file and not faster."""
        wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(50_000)}}
        declarations, found = read_json({"A": wide, "B": {"anyOf": [{"const": n} for n in range(50_000)]}})
        assert not found
        type_ = declarations["A"].type
        assert isinstance(type_, Object)
        assert len(type_.properties) == 50_000
