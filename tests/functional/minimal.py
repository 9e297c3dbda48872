"""The smallest valid values of a protocol, with required properties only, derived from the IR."""

from typing import Any

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
from mcp_bindgen.ir.scalars import fits
from mcp_bindgen.values.builder import matching


def near(bounds: Bounds) -> tuple[float, ...]:
    """Return the numbers at bounds, and beside them; multiples, too."""
    stated = (bounds.minimum, bounds.maximum, bounds.exclusive_minimum, bounds.exclusive_maximum)
    edges = [edge + more for edge in stated if edge is not None for more in (0, 1, -1, 0.5, -0.5)]
    step = bounds.multiple_of
    return (*edges, *((edge // step + more) * step for edge in (0, *edges) for more in (0, 1) if step))


def minimal_definition(protocol: Protocol, definition: Definition) -> Any:
    """Return the smallest JSON value of a definition."""
    if not isinstance(definition, Struct):
        return minimal(protocol, definition.type)
    return {field.wire_name: minimal(protocol, field.type) for field in definition.fields if field.required}


def minimal(protocol: Protocol, type_: TypeRef) -> Any:
    """Return the smallest JSON value of a type."""
    match type_:
        case Primitive(kind=kind, bounds=bounds):
            if kind in (Kind.INTEGER, Kind.NUMBER):
                return next(number for number in (0, *near(bounds)) if fits(number, type_))
            text = matching(bounds.pattern or "").ljust(max(1, bounds.min_length or 0), "x")
            return {Kind.STRING: text, Kind.BOOLEAN: False}.get(kind)
        case Literal(values=values):
            return values[0]
        case Ref(name=name):
            return minimal_definition(protocol, protocol.definitions[name])
        case ListOf(item=item, bounds=bounds):
            return [minimal(protocol, item) for _ in range(bounds.min_items or 0)]
        case MapOf(value=value, bounds=bounds):
            return {f"name{number}": minimal(protocol, value) for number in range(bounds.min_properties or 0)}
        case Union(members=members):
            return minimal(protocol, members[0])
