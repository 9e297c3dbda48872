"""The IR as a JSON Schema document: every kind of node, and nothing lost on the way there and back."""

from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from scripts.add_revision import without_prose

from mcp_bindgen.emit.json_schema import json_schema
from mcp_bindgen.ingest.json_schema import read_schema
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    STRING,
    Alias,
    Bounds,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.load.protocol import load_released
from mcp_bindgen.merge.build import build
from support.samples import REVISIONS

TYPES: dict[str, tuple[TypeRef, object]] = {
    "any": (ANY, {}),
    "known": (
        Primitive(kind=Kind.STRING, known=("a", "b"), format="uri"),
        {"type": "string", "format": "uri", "examples": ["a", "b"]},
    ),
    "bounded": (
        Primitive(kind=Kind.INTEGER, bounds=Bounds(minimum=0, exclusive_maximum=9)),
        {"type": "integer", "minimum": 0, "exclusiveMaximum": 9},
    ),
    "constant": (Literal(values=(None,)), {"const": None}),
    "set": (Literal(values=("a", 1)), {"enum": ["a", 1]}),
    "list of any": (ListOf(item=ANY, bounds=Bounds(max_items=2)), {"type": "array", "maxItems": 2}),
    "map": (MapOf(value=STRING), {"type": "object", "additionalProperties": {"type": "string"}}),
    "union": (Union(members=(Ref(name="Other.x"), NULL)), {"anyOf": [{"$ref": "#/$defs/Other.x"}, {"type": "null"}]}),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_are_written(name: str) -> None:
    type_, schema = TYPES[name]
    assert json_schema(_with(Alias(name="T", type=type_)))["$defs"]["T"] == schema


def test_objects_are_written() -> None:
    fields = (Field(wire_name="a", type=STRING, required=True), Field(wire_name="b", type=ANY, required=False))
    written = json_schema(_with(Struct(name="T", fields=fields, own=frozenset({"a", "b"}), extra=None)))
    assert written["$defs"]["T"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {}},
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_reading_it_again_gives_the_same_types(revision: str) -> None:
    protocol = load_released(revision)
    document = json_schema(protocol)
    Draft202012Validator.check_schema(document)
    diagnostics = Diagnostics()
    declarations = read_schema(document, "schema.json", diagnostics).declarations
    again = replace(protocol, definitions=build(declarations, "schema.json", diagnostics))
    assert list(diagnostics) == []
    assert json_schema(again) == without_prose(document), "only the examples of open strings are prose"


def _with(definition: Struct | Alias) -> Protocol:
    return replace(load_released(REVISIONS[0]), definitions={definition.name: definition})
