"""Whether a constant is of a scalar type."""

import math
from collections.abc import Callable
from functools import cache
from typing import cast

from pydantic_core import SchemaError, SchemaValidator, core_schema

from mcp_bindgen.ir.nodes import Bounds, Kind, Primitive, Scalar


def is_of(value: object, name: str) -> bool:
    """Whether a JSON value is of a type of JSON Schema."""
    match value:
        case None:
            return name == Kind.NULL
        case bool():
            return name == Kind.BOOLEAN
        case str():
            return name == Kind.STRING
        case int():
            return name in (Kind.INTEGER, Kind.NUMBER)
        case float():
            return name == Kind.NUMBER or (name == Kind.INTEGER and value.is_integer())
        case _:
            return name == ("array" if isinstance(value, list) else "object")


def fits(value: Scalar, type_: Primitive) -> bool:
    """Whether a constant is of a scalar type and within its bounds, as far as linear patterns can tell."""
    bounds = type_.bounds
    if not is_of(value, type_.kind) or value is None or isinstance(value, bool):
        return is_of(value, type_.kind)
    if not isinstance(value, str):
        return _in_range(value, bounds)
    short_enough = bounds.max_length is None or len(value) <= bounds.max_length
    return len(value) >= (bounds.min_length or 0) and short_enough and _matches(value, bounds.pattern)


def _in_range(value: float, bounds: Bounds) -> bool:
    edges = (
        bounds.minimum is None or value >= bounds.minimum,
        bounds.maximum is None or value <= bounds.maximum,
        bounds.exclusive_minimum is None or value > bounds.exclusive_minimum,
        bounds.exclusive_maximum is None or value < bounds.exclusive_maximum,
        bounds.multiple_of is None or math.isclose(math.remainder(value, bounds.multiple_of), 0, abs_tol=1e-9),
    )
    return all(edges)


def _matches(value: str, pattern: str | None) -> bool:
    found = matcher(pattern) if pattern is not None else None
    return pattern is None or (found is not None and found(value))


@cache
def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Return a linear-time matcher for a pattern, which `re` is not; None for a pattern that needs more."""
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None
    return cast(Callable[[str], bool], validator.isinstance_python)
