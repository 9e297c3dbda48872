"""The JSON Schema front end: every keyword is understood or kept as text, and property names are never keywords."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

import pytest

from mcp_bindgen.ingest.json_schema import DIALECTS, MAX_DEPTH, read_schema
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, parse_json
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    STRING,
    AllOf,
    Bounds,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Primitive,
    Ref,
    Shape,
    Union,
)
from mcp_bindgen.ir.spell import is_never
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
    """Read a schema that has no diagnostics."""
    declarations, found = read_json({"A": node, **others})
    assert found == []
    return declarations["A"].type


def opaque_of(node: object, **others: object) -> tuple[Shape, list[tuple[str, str]]]:
    """Read a schema that has no diagnostics; return its type, and the text and place of each opaque fact."""
    type_ = type_of(node, **others)
    pending: list[Shape] = [type_]
    found: list[tuple[str, str]] = []
    while pending:
        shape = pending.pop(0)
        if shape.opaque:
            found.append((shape.opaque.text, shape.opaque.where.pointer.removeprefix("/$defs/A")))
        match shape:
            case ListOf(item=inner) | MapOf(value=inner):
                pending.append(inner)
            case Union(members=members) | AllOf(members=members):
                pending += members
            case Object(properties=properties):
                pending += [property_.type for property_ in properties]
            case Primitive() | Literal() | Ref():
                pass
    return type_, found


def complaints(node: object) -> list[str]:
    """Return the diagnostics of a definition called A, their pointers relative to it."""
    return [line.replace(": #/$defs/A", ": ", 1) for line in read_json({"A": node})[1]]


def struct(*fields: Field[Shape], extra: Shape | None = ANY) -> Object:
    return Object(properties=fields, extra=extra)


def optional(name: str, type_: Shape = STRING) -> Field[Shape]:
    return Field(wire_name=name, type=type_, required=False)


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
    "$defs": {"B": {"if": {}}},
    "definitions": {},
    "$id": "https://example.org/other",
    "$schema": "https://example.org/dialect",
    "$vocabulary": {},
    "x-order": {"if": {}},
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
    "not": {"const": 1},
    "patternProperties": {"^a": {}},
    "propertyNames": {"maxLength": 3},
    "contains": {},
    "minContains": 2,
    "maxContains": 1,
    "prefixItems": [{}],
    "additionalItems": False,
    "dependencies": {},
    "dependentRequired": {"a": ["b"]},
    "dependentSchemas": {"a": {}},
    "unevaluatedItems": False,
    "unevaluatedProperties": False,
    "$dynamicRef": "#a",
    "$dynamicAnchor": "a",
    "$recursiveRef": "#",
    "$recursiveAnchor": True,
}
"""What no type expresses."""


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
        assert isinstance(type_, Primitive | ListOf | MapOf)
        assert type_.bounds == bounds

    @pytest.mark.parametrize(("kind", "word", "value", "bounds"), ASSERTIONS)
    def test_an_assertion_without_its_type_is_reported(
        self, kind: str, word: str, value: object, bounds: Bounds
    ) -> None:
        alone, found = opaque_of({word: value})
        assert alone == Primitive(kind=Kind.ANY, bounds=Bounds() if kind == "object" else bounds)
        assert found == [(json.dumps({word: value}), f"/{word}")]
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
    def test_an_applicator_is_kept_as_text(self, word: str, value: object, node: object, pointer: str) -> None:
        inner = {"type": "string", word: value}
        whole = json.loads(json.dumps(node).replace('"HERE"', json.dumps(inner)))
        assert opaque_of(whole)[1] == [(json.dumps({word: value}), f"{pointer}/{word}")]

    @pytest.mark.parametrize("word", ["nullable", "discriminator", "tyep", "id", "extends", ""])
    def test_an_unknown_word_is_kept_as_text(self, word: str) -> None:
        assert opaque_of({"type": "string", word: 1}) == (STRING, [(json.dumps({word: 1}), f"/{word}")])

    @pytest.mark.parametrize("word", sorted(meta_keywords(*DRAFT_07, *DRAFT_2020_12)))
    def test_every_keyword_of_both_dialects_has_a_place(self, word: str) -> None:
        """Each is an annotation, becomes part of a type, or is kept as text."""
        declarations, _ = read_json({"A": {"type": "object", word: {"type": []}}})
        type_ = declarations["A"].type
        is_kept = type_.opaque is not None and word in type_.opaque.text
        assert is_kept == (word in APPLICATORS)

    def test_several_words_are_one_text(self) -> None:
        _, found = opaque_of({"type": "string", "if": 1, "aaa": 2, "then": 3})
        assert found == [('{"if": 1, "aaa": 2, "then": 3}', "/if")]

    def test_a_list_of_items_is_a_tuple(self) -> None:
        assert opaque_of({"type": "array", "items": [True, True]}) == (
            ListOf(item=ANY),
            [('{"items": [true, true]}', "/items")],
        )

    def test_a_pattern_that_python_cannot_match_is_kept_as_text(self) -> None:
        assert opaque_of({"type": "string", "pattern": "("}) == (STRING, [('{"pattern": "("}', "/pattern")])

    def test_names_of_properties_that_match_a_pattern_open_the_object(self) -> None:
        node: Any = {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}
        assert opaque_of(node)[0] == MapOf(value=ANY)

    @pytest.mark.parametrize("node", [False, {"not": {}}, {"not": True}, {"type": "string", "enum": [1]}])
    def test_a_type_without_values(self, node: object) -> None:
        declarations, _ = read_json({"A": node})
        assert is_never(declarations["A"].type)


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
            ({"type": ["string", "integer"]}, Union(members=(STRING, INTEGER))),
            ({"type": "array"}, ListOf(item=ANY)),
            ({"type": "array", "items": True}, ListOf(item=ANY)),
            ({"type": "array", "items": {"type": "string"}}, ListOf(item=STRING)),
            ({"type": "object"}, MapOf(value=ANY)),
            ({"type": "object", "properties": {}}, MapOf(value=ANY)),
            ({"type": "object", "additionalProperties": True}, MapOf(value=ANY)),
            ({"type": "object", "additionalProperties": {"type": "string"}}, MapOf(value=STRING)),
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
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, Union(members=(STRING, NULL))),
            ({"anyOf": [{"type": "string"}, {"type": "string"}]}, STRING),
            ({"anyOf": [{"type": "string"}, {"anyOf": [{"type": "null"}, {}]}]}, Union(members=(STRING, NULL, ANY))),
            ({"allOf": [{"type": "string"}]}, STRING),
            ({"allOf": [{"type": "object"}, {"type": "object"}]}, AllOf(members=(MapOf(value=ANY),) * 2)),
        ],
    )
    def test_types_are_read(self, node: object, expected: Shape) -> None:
        assert type_of(node) == expected

    def test_literals_that_are_equal_in_python_stay_distinct(self) -> None:
        """In JSON, true is not 1; in Python, they are equal."""
        type_ = type_of({"anyOf": [{"const": 1}, {"const": True}]})
        assert isinstance(type_, Union)
        assert [type(member.values[0]) for member in type_.members if isinstance(member, Literal)] == [int, bool]

    def test_references(self) -> None:
        assert type_of({"$ref": "#/$defs/B", "description": "A B."}, B=True) == Ref(name="B")
        assert type_of({"$ref": "#/$defs/a~1b~0c"}, **{"a/b~c": True}) == Ref(name="a/b~c")
        assert type_of({"type": "array", "items": {"$ref": "#/$defs/A"}}) == ListOf(item=Ref(name="A"))

    def test_a_pointer_is_unescaped_once(self) -> None:
        """RFC 6901, section 4: ~01 is ~1, and not a slash."""
        declarations, found = read_json(
            {
                "A": {"type": "object", "properties": {"~1": {"type": "string"}, "/": {"type": "null"}}},
                "B": {"$ref": "#/$defs/A/properties/~01"},
            }
        )
        assert found == []
        target = declarations["B"].type
        assert isinstance(target, Ref) and declarations[target.name].type == STRING

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("#/$defs/B", 'the reference "#/$defs/B" has no target in this file'),
            ("#/$defs/A/properties/b", 'the reference "#/$defs/A/properties/b" has no target in this file'),
            ("#/definitions/A", 'the reference "#/definitions/A" has no target in this file'),
            (7, "a reference is a string, not 7"),
            (["#/$defs/A"], 'a reference is a string, not ["#/$defs/A"]'),
        ],
    )
    def test_a_reference_that_leads_nowhere_is_an_error(self, target: object, message: str) -> None:
        assert complaints({"$ref": target}) == [f"error: /$ref: {message}"]

    @pytest.mark.parametrize("target", ["#", "#anchor", "other.json#/$defs/A", "https://x.org/s"])
    def test_a_reference_out_of_the_definitions_is_kept_as_text(self, target: str) -> None:
        assert opaque_of({"$ref": target}) == (ANY, [(f"$ref {target}", "/$ref")])

    def test_a_reference_to_any_place_in_the_file_gives_it_a_name(self) -> None:
        node = {
            "type": "object",
            "$defs": {"Inner": {"type": "string"}},
            "properties": {
                "a": {"$ref": "#/$defs/A/$defs/Inner"},
                "b": {"$ref": "#/$defs/A/properties/c"},
                "c": {"type": "array", "items": {"$ref": "#/$defs/A/properties/c"}},
            },
        }
        declarations, found = read_json({"A": node, "AC": True})
        assert found == []
        assert {name: d.type for name, d in declarations.items() if name != "A"} == {
            "AC": ANY,
            "AInner": STRING,
            "AC2": ListOf(item=Ref(name="AC2")),
        }

    @pytest.mark.parametrize(
        ("node", "parts"),
        [
            ({"$ref": "#/$defs/B"}, 2),
            ({"anyOf": [{"type": "string"}]}, 2),
            ({"oneOf": [{"type": "string"}]}, 2),
            ({"allOf": [{"type": "string"}]}, 2),
        ],
    )
    def test_keywords_beside_each_other_are_combined(self, node: dict[str, object], parts: int) -> None:
        beside = type_of({**node, "minLength": 1, "title": "fine", "default": 1}, B={"type": "string"})
        assert isinstance(beside, AllOf)
        assert len(beside.members) == parts

    def test_draft_07_ignores_keywords_beside_a_reference(self) -> None:
        diagnostics = Diagnostics()
        root = {"$schema": DIALECTS[0], "definitions": {"A": {"$ref": "#/definitions/B", "minLength": 1}, "B": True}}
        document = read_schema(root, "schema.json", diagnostics)
        assert document.declarations["A"].type == Ref(name="B")
        assert lines(diagnostics) == [
            "warning: #/definitions/A/minLength: 'minLength' has no effect next to $ref in draft-07"
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
    def test_an_overlapping_one_of_records_its_place(self, branches: list[object]) -> None:
        type_ = type_of({"oneOf": branches})
        assert isinstance(type_, Union) or len({json.dumps(branch) for branch in branches}) < 3
        exclusive = type_.exclusive if isinstance(type_, Union) else None
        assert exclusive is None or exclusive.where.pointer == "/$defs/A/oneOf"

    @pytest.mark.parametrize(
        ("node", "found"),
        [
            ([], ["error: : a schema is an object, true or false, not []"]),
            ("string", ['error: : a schema is an object, true or false, not "string"']),
            ({"type": "text"}, ['error: /type: "text" is not a type of JSON Schema']),
            ({"type": []}, ["error: /type: [] is not a type of JSON Schema"]),
            ({"type": ["string", 1]}, ['error: /type: ["string", 1] is not a type of JSON Schema']),
            ({"type": None}, ["error: /type: null is not a type of JSON Schema"]),
            ({"anyOf": []}, ["error: /anyOf: anyOf is a list of at least one schema"]),
            ({"allOf": {}}, ["error: /allOf: allOf is a list of at least one schema"]),
            ({"enum": []}, ["error: /enum: an enum is a list of at least one value"]),
            ({"enum": "a"}, ["error: /enum: an enum is a list of at least one value"]),
            (
                {"type": "string", "enum": ["a", 1]},
                ["warning: /enum: 1 is not of the type next to it, so it is ignored"],
            ),
            (
                {"type": "integer", "const": True},
                ["warning: /const: true is not of the type next to it, so it is ignored"],
            ),
            ({"type": "object", "properties": []}, ["error: /properties: properties is an object"]),
            ({"type": "object", "required": "a"}, ["error: /required: required is a list of property names"]),
            ({"type": "object", "required": [1]}, ["error: /required: required is a list of property names"]),
        ],
    )
    def test_an_invalid_schema_is_reported(self, node: object, found: list[str]) -> None:
        assert complaints(node) == found

    def test_each_property_is_required_or_not(self) -> None:
        node = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
        fields = (Field(wire_name="a", type=STRING, required=False), Field(wire_name="b", type=STRING, required=True))
        assert type_of(node) == struct(*fields)

    def test_required_but_undeclared_properties_are_properties(self) -> None:
        anything = type_of({"type": "object", "required": ["a"]})
        assert anything == struct(Field(wire_name="a", type=ANY, required=True))
        typed = type_of({"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}})
        assert typed == struct(Field(wire_name="a", type=STRING, required=True), extra=STRING)
        closed = {"type": "object", "required": ["a"], "additionalProperties": False}
        assert is_never(type_of(closed))

    def test_constants_that_are_not_scalars_are_kept_as_text(self) -> None:
        assert opaque_of({"const": {"a": 1}}) == (MapOf(value=ANY), [('{"a": 1}', "/const")])
        assert opaque_of({"enum": ["a", ["b"]]})[0] == Union(members=(Literal(values=("a",)), ListOf(item=ANY)))

    def test_bounds_beside_properties_are_kept_as_text(self) -> None:
        node: Any = {"type": "object", "properties": {"a": {}}, "minProperties": 2}
        assert opaque_of(node) == (struct(optional("a", ANY)), [('{"minProperties": 2}', "/minProperties")])

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
        assert type_of(schema) == struct(Field(wire_name=name, type=STRING, required=True))
        nested = {"type": "object", "properties": {name: schema}}
        assert type_of(nested) == struct(optional(name, type_of(schema)))

    def test_a_definition_named_like_a_keyword_is_a_definition(self) -> None:
        assert type_of({"$ref": "#/$defs/not"}, **{"not": {"type": "string"}}) == Ref(name="not")

    def test_literal_values_are_not_schemas(self) -> None:
        assert type_of({"enum": ["not", "$ref", "properties"]}) == Literal(values=("not", "$ref", "properties"))


class TestFiles:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_both_dialects_are_read_alike(self, revision: str) -> None:
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

    def test_declarations_have_a_place(self) -> None:
        declarations, _ = read_json({"a/b": True, "C": True})
        assert {name: d.pointer for name, d in declarations.items()} == {"a/b": "/$defs/a~1b", "C": "/$defs/C"}

    @pytest.mark.parametrize(
        ("root", "found"),
        [
            ([], ["error: : a schema is a JSON object"]),
            (None, ["error: : a schema is a JSON object"]),
            ({}, ["error: : no definitions: they are looked for under $defs and under definitions"]),
            ({"$defs": []}, ["error: : no definitions: they are looked for under $defs and under definitions"]),
            ({"$defs": {}, "definitions": {}, "x-vendor": 1, "$schema": DIALECTS[1]}, []),
            (
                {"$defs": {}, "type": "object", "properties": {}, "$id": "y", "title": "z"},
                [
                    "warning: #/properties: 'properties' next to the definitions is ignored",
                    "warning: #/type: 'type' next to the definitions is ignored",
                ],
            ),
            (
                {"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {}},
                [
                    'warning: #/$schema: "http://json-schema.org/draft-04/schema#" is not a known dialect;'
                    f" it is read as {DIALECTS[1]}"
                ],
            ),
        ],
    )
    def test_an_unusual_root_is_reported(self, root: object, found: list[str]) -> None:
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
            (b'{"a": 1, "b": 2, "a": 3}', ["error: : the key 'a' occurs twice in one object; keep one"]),
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
    def test_bad_json_is_reported(self, data: bytes, found: list[str]) -> None:
        diagnostics = Diagnostics()
        parse_json(data, "schema.json", diagnostics)
        assert lines(diagnostics) == found

    def test_good_json_is_read(self) -> None:
        diagnostics = Diagnostics()
        assert parse_json(b'\xef\xbb\xbf{"a": "\\ud83d\\ude00"}', "schema.json", diagnostics) == {"a": "\U0001f600"}
        assert parse_json('{"a": [1, 1.5, 12345678901234567890]}', "x", diagnostics) == {
            "a": [1, 1.5, 12345678901234567890]
        }
        assert lines(diagnostics) == []

    def test_nesting_beyond_the_limit_is_kept_as_text(self) -> None:
        def nested(depth: int) -> object:
            node: object = {"type": "string"}
            for _ in range(depth):
                node = {"type": "array", "items": node}
            return node

        assert opaque_of(nested(MAX_DEPTH))[1] == []
        assert opaque_of(nested(MAX_DEPTH + 1))[1] == [(json.dumps({"type": "string"}), "/items" * (MAX_DEPTH + 1))]

    @pytest.mark.slow
    def test_a_wide_file_is_read(self) -> None:
        """Quadratic work would exceed the timeout of the test."""
        wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20_000)}}
        declarations, found = read_json({"A": wide, "B": {"anyOf": [{"const": n} for n in range(20_000)]}})
        assert not found
        type_ = declarations["A"].type
        assert isinstance(type_, Object)
        assert len(type_.properties) == 20_000
