"""Whether a constant is of a scalar type, and which type a number without one has."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from pydantic_core import SchemaError, SchemaValidator, core_schema

from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.names import pascal
from mcp_bindgen.ir.nodes import Bounds, Kind, Primitive, Scalar

MAX_VALUES = 100
"""The longest range of integers that is read as single values."""
_ALTERNATIVES = re.compile(r"\^(?:([\w-]+)|\((?:\?:)?([\w-]+(?:\|[\w-]+)*)\))\$")


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


def values_of(type_: Primitive) -> tuple[Scalar, ...]:
    """Return the values of a scalar type that has few: a range of integers, or the alternatives of a pattern."""
    bounds, found = type_.bounds, _ALTERNATIVES.fullmatch(type_.bounds.pattern or "")
    low = max((edge for edge in (bounds.minimum, bounds.exclusive_minimum) if edge is not None), default=None)
    high = min((edge for edge in (bounds.maximum, bounds.exclusive_maximum) if edge is not None), default=None)
    if type_.kind is Kind.STRING and found:
        values: Iterable[Scalar] = (found[1] or found[2]).split("|")
    elif type_.kind is Kind.INTEGER and low is not None and high is not None and high - low <= MAX_VALUES:
        values = range(math.floor(low), math.ceil(high) + 1)
    else:
        values = ()
    return tuple(value for value in values if fits(value, type_))


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


@dataclass(frozen=True, slots=True)
class Numbers:
    """What numbers of a schema.ts without a schema.json are.

    `known` are properties with and without their definitions, and definitions, whose numbers have one kind. `unsure`
    collects the places of others: ``Tool.weight``.
    """

    known: Mapping[str, Kind]
    unsure: dict[str, Location] = field(default_factory=dict[str, Location])

    def kind(self, names: Sequence[str], where: Location) -> Kind:
        """Return the kind of the number of a property or definition by the names that lead to it, a float if unsure."""
        *owners, name = names
        owner = "".join([*owners[:1], *map(pascal, owners[1:])])
        known = self.known.get(f"{owner}.{name}") or self.known.get(name)
        if known is None:
            self.unsure.setdefault(".".join(names), where)
        return known or Kind.NUMBER
