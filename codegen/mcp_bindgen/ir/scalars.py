"""Whether a constant is of a scalar type."""

import math
from collections.abc import Callable
from functools import cache
from typing import cast

from pydantic_core import SchemaError, SchemaValidator, core_schema

from mcp_bindgen.ir.nodes import Bounds, Kind, Primitive, Scalar


def fits(value: Scalar, type_: Primitive) -> bool:
    """Whether a constant is of a scalar type and within its bounds, as far as linear patterns can tell."""
    bounds, kind = type_.bounds, type_.kind
    match value:
        case None:
            return kind is Kind.NULL
        case bool():
            return kind is Kind.BOOLEAN
        case int() | float():
            whole = isinstance(value, int) or value.is_integer()
            return (kind is Kind.NUMBER or (kind is Kind.INTEGER and whole)) and _in_range(value, bounds)
        case str():
            long_enough = len(value) >= (bounds.min_length or 0)
            short_enough = bounds.max_length is None or len(value) <= bounds.max_length
            return kind is Kind.STRING and long_enough and short_enough and _matches(value, bounds.pattern)


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
