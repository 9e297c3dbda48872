"""Write the IR as a JSON Schema document (draft 2020-12): schema.json without its losses.

Every definition is in ``$defs``, including inline ones. The document contains only structure, no documentation.
"""

from typing import Any
from urllib.parse import quote

from mcp_bindgen.diagnostics import escape_pointer
from mcp_bindgen.ir.nodes import (
    Bounds,
    Definition,
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
from mcp_bindgen.ir.spell import bounds_of, is_any

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(protocol: Protocol) -> dict[str, Any]:
    """Return the definitions of a protocol as one JSON Schema document."""
    definitions = {name: _definition(definition) for name, definition in protocol.definitions.items()}
    return {"$schema": DIALECT, "$defs": definitions}


def reference(name: str) -> str:
    """Return a reference to a definition in the document, as a URI fragment."""
    return f"#/$defs/{quote(escape_pointer(name))}"


def _definition(definition: Definition) -> dict[str, Any]:
    if not isinstance(definition, Struct):
        return _schema(definition.type)
    return {
        "type": "object",
        "properties": {field.wire_name: _schema(field.type) for field in definition.fields},
        "required": [field.wire_name for field in definition.fields if field.required],
        **_members("additionalProperties", definition.extra),
    }


def _schema(type_: TypeRef) -> dict[str, Any]:
    match type_:
        case Primitive(kind=Kind.ANY):
            return {}
        case Primitive(kind=kind, bounds=bounds, format=format_, known=known):
            annotations = {"format": format_, "examples": list(known)}
            return {"type": kind.value, **_assertions(bounds), **{k: v for k, v in annotations.items() if v}}
        case Literal(values=(value,)):
            return {"const": value}
        case Literal(values=values):
            return {"enum": list(values)}
        case Ref(name=name):
            return {"$ref": reference(name)}
        case ListOf(item=item, bounds=bounds):
            return {"type": "array", **_members("items", item), **_assertions(bounds)}
        case MapOf(value=value, bounds=bounds):
            return {"type": "object", **_members("additionalProperties", value), **_assertions(bounds)}
        case Union(members=members):
            return {"anyOf": [_schema(member) for member in members]}


def _members(keyword: str, type_: TypeRef | None) -> dict[str, Any]:
    """Return the schema of undeclared properties: empty for any type, false for a closed object."""
    if type_ is None:
        return {keyword: False}
    return {} if is_any(type_) else {keyword: _schema(type_)}


def _assertions(bounds: Bounds) -> dict[str, Any]:
    return {_camel(name): value for name, value in bounds_of(bounds).items()}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)
