"""The smallest valid values of a protocol, with required properties only, derived from the IR."""

from typing import Any

from mcp_bindgen.ir.nodes import (
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


def minimal_definition(protocol: Protocol, definition: Definition) -> Any:
    """Return the smallest JSON value of a definition."""
    if not isinstance(definition, Struct):
        return minimal(protocol, definition.type)
    return {field.wire_name: minimal(protocol, field.type) for field in definition.fields if field.required}


def minimal(protocol: Protocol, type_: TypeRef) -> Any:
    """Return the smallest JSON value of a type."""
    match type_:
        case Primitive(kind=kind, bounds=bounds):
            smallest = {
                Kind.STRING: "x" * max(1, bounds.min_length or 0),
                Kind.INTEGER: bounds.minimum or 0,
                Kind.NUMBER: bounds.minimum or 0,
                Kind.BOOLEAN: False,
            }
            return smallest.get(kind)
        case Literal(values=values):
            return values[0]
        case Ref(name=name):
            return minimal_definition(protocol, protocol.definitions[name])
        case ListOf(item=item, bounds=bounds):
            return [minimal(protocol, item) for _ in range(bounds.min_items or 0)]
        case MapOf():
            return {}
        case Union(members=members):
            return minimal(protocol, members[0])
