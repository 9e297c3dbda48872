"""Defaults that a constructor or a signature can fill in: constants that the type of the property allows."""

from typing import Any

from mcp_bindgen.ir.facts import admits_null
from mcp_bindgen.ir.nodes import Bounds, Kind, Literal, Primitive, Protocol, Scalar, TypeRef, Union
from mcp_bindgen.tool_clients.kinds import is_number

MAX_LENGTH = 200
"""How long a default may be that is filled in, in characters; a longer one is left to the server."""


def is_default(types: Protocol, type_: TypeRef, value: Any) -> bool:
    """Whether a default is a scalar that a type allows; others are left to the server."""
    if value is None:
        return admits_null(types, type_)
    if not isinstance(value, str | int | float) or (isinstance(value, str) and len(value) > MAX_LENGTH):
        return False
    return _allows(types, type_, value)


def _allows(types: Protocol, type_: TypeRef, value: Scalar) -> bool:
    match types.resolve(type_):
        case Literal(values=values):
            return any(type(choice) is type(value) and choice == value for choice in values)
        case Primitive(kind=Kind.STRING, bounds=bounds):
            return isinstance(value, str) and _is_within(len(value), bounds, bounds.min_length, bounds.max_length)
        case Primitive(kind=Kind.INTEGER, bounds=bounds):
            return type(value) is int and _is_within(value, bounds, bounds.minimum, bounds.maximum)
        case Primitive(kind=Kind.NUMBER, bounds=bounds):
            return is_number(value) and _is_within(value, bounds, bounds.minimum, bounds.maximum)
        case Primitive(kind=Kind.BOOLEAN):
            return isinstance(value, bool)
        case Union(members=members):
            return any(_allows(types, member, value) for member in members)
        case _:
            return False


def _is_within(value: float, bounds: Bounds, least: float | None, most: float | None) -> bool:
    above, below = bounds.exclusive_minimum, bounds.exclusive_maximum
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )
