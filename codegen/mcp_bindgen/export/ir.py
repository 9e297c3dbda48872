"""The intermediate representation of a revision as JSON, for generators in other languages.

docs/ir.md is its reference, and docs/ir.schema.json the JSON Schema of the document. A key that is empty or false is
left out. A change that a reader of the document has to follow gets the next `FORMAT`; an additional key does not.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.emit.json_schema import assertions
from mcp_bindgen.export.facts import FLAGS
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.names import place_of
from mcp_bindgen.ir.nodes import (
    Definition,
    Field,
    ListOf,
    Literal,
    MapOf,
    Method,
    Opaque,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)

FORMAT: Final = 1
"""The version of the document."""


def schema_path() -> Path:
    """Return the path of the JSON Schema of the document."""
    return shipped("docs") / "ir.schema.json"


def ir(protocol: Protocol) -> dict[str, Any]:
    """Return the document of a revision."""
    return {
        "format": FORMAT,
        "revision": protocol.revision,
        "era": protocol.era.value,
        "sources": [_stated(asdict(source)) for source in protocol.sources],
        "definitions": [_definition(definition, protocol) for definition in protocol.definitions.values()],
        "methods": [_method(method, protocol) for method in protocol.methods],
        "constants": [
            {"name": each.name, "value": each.value, **_stated({"doc": each.doc})} for each in protocol.constants
        ],
    }


def _definition(definition: Definition, protocol: Protocol) -> dict[str, Any]:
    about = _stated(
        {
            "doc": definition.doc,
            "deprecated": definition.deprecated,
            "internal": definition.internal,
            "category": definition.category,
            "inline": definition.holder,
            "where": _place(place_of(protocol, definition)),
        }
    )
    if not isinstance(definition, Struct):
        return {"name": definition.name, "kind": "alias", "type": _type(definition.type), **about}
    bases = [{"name": base.name, **_stated({"omits": list(base.omitted)})} for base in definition.bases]
    return {
        "name": definition.name,
        "kind": "object",
        "properties": [_property(field, definition, protocol) for field in definition.fields],
        "additional": False if definition.extra is None else _type(definition.extra),
        **_stated({"extends": bases, "opaque": _opaque(definition.opaque)}),
        **about,
    }


def _property(field: Field, struct: Struct, protocol: Protocol) -> dict[str, Any]:
    path = f"{struct.name}.{field.wire_name}"
    constants = {"default": json.loads(field.default)} if field.default else {}
    constants |= {"absent": protocol.defaults[path]} if path in protocol.defaults else {}
    return {
        "name": field.wire_name,
        "type": _type(field.type),
        "required": field.required,
        **constants,
        **_stated(
            {
                "inherited": field.wire_name not in struct.own,
                "capability": protocol.capabilities.get(path),
                "doc": field.doc,
                "deprecated": field.deprecated,
                "where": _place(place_of(protocol, struct, field.wire_name)),
            }
        ),
    }


def _method(method: Method, protocol: Protocol) -> dict[str, Any]:
    return {
        "name": method.name,
        "kind": "request" if method.is_request else "notification",
        "direction": method.direction.value,
        "message": method.message,
        **_stated(
            {
                "params": method.params,
                "params_required": method.params_required,
                "result": method.result,
                "alternatives": list(method.alternatives),
                "capability": method.capability,
                "flags": [flag for flag in FLAGS if getattr(method, flag)],
                "doc": protocol.definitions[method.message].doc,
                "deprecated": method.deprecated,
            }
        ),
    }


def _type(type_: TypeRef) -> dict[str, Any]:
    return {**dict(_type_keys(type_)), **_stated({"opaque": _opaque(type_.opaque)})}


def _type_keys(type_: TypeRef) -> Iterator[tuple[str, Any]]:
    match type_:
        case Primitive(kind=kind, bounds=bounds, format=format_, known=known):
            yield "kind", kind.value
            yield from _stated({"bounds": assertions(bounds), "format": format_, "known": list(known)}).items()
        case Literal(values=values):
            yield from (("kind", "literal"), ("values", list(values)))
        case Ref(name=name):
            yield from (("kind", "ref"), ("name", name))
        case ListOf(item=item, bounds=bounds):
            yield from (("kind", "list"), ("items", _type(item)))
            yield from _stated({"bounds": assertions(bounds)}).items()
        case MapOf(value=value, bounds=bounds, is_schema=is_schema):
            yield from (("kind", "map"), ("values", _type(value)))
            yield from _stated({"bounds": assertions(bounds), "json_schema": is_schema}).items()
        case Union(members=members):
            yield from (("kind", "union"), ("members", [*map(_type, members)]))


def _opaque(opaque: Opaque | None) -> dict[str, Any] | None:
    return None if opaque is None else {"text": opaque.text, "where": _place(opaque.where)}


def _place(where: Location | None) -> dict[str, Any] | None:
    return None if where is None else _stated(asdict(where))


def _stated(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that say something."""
    return {key: value for key, value in keys.items() if value}
