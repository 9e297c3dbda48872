"""Scalars and their bounds: the leaves of a comparison."""

import math
import re
from collections.abc import Iterator, Mapping

from mcp_bindgen.diff.sites import BoundSite, Edge
from mcp_bindgen.ir.nodes import Bounds, Kind, Primitive, Scalar
from mcp_bindgen.ir.spell import bounds_of

_SIZES = ("min_length", "max_length", "min_items", "max_items", "min_properties", "max_properties")


def fits(value: Scalar, type_: Primitive) -> bool:
    """Whether a constant is of a scalar type and within its bounds, as far as Python's regular expressions can tell."""
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
    return pattern is None or re.search(pattern, value) is not None


def bound_sites(old: Bounds, new: Bounds, kind: Kind | None = None) -> Iterator[BoundSite]:
    """Iterate over the bounds that differ; bounds that admit the same values are the same bounds.

    Args:
        old: the old bounds.
        new: the new ones.
        kind: the type of a scalar, None for a list or an object.
    """
    before, after = _effective(old, kind), _effective(new, kind)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield BoundSite(before=before.get(name), after=after.get(name))


def _effective(bounds: Bounds, kind: Kind | None) -> Mapping[str, Edge]:
    """Return the bounds that exclude something: one lower and one upper edge of a number, and what else is asserted."""
    found: dict[str, Edge] = {}
    for name, value in bounds_of(bounds).items():
        label = name.replace("_", " ")
        if name in _SIZES and isinstance(value, int):
            if value or name.startswith("max"):
                found[name] = Edge(f"{label} {value}", (value if name.startswith("min") else -value, False))
        elif name == "unique_items":
            if value:
                found[name] = Edge(label)
        elif name == "multiple_of":
            if kind is not Kind.INTEGER or value != 1:
                found[name] = Edge(f"{label} {_number(value)}")
        elif name == "pattern":
            found[name] = Edge(f"{label} {value}")
        elif isinstance(value, int | float):
            side = "minimum" if name.endswith("minimum") else "maximum"
            edge = _range_edge(side, value, name.startswith("exclusive"), kind is Kind.INTEGER)
            known = found.get(side)
            if known is None or (known.inwards and edge.inwards and edge.inwards > known.inwards):
                found[side] = edge
    return found


def _range_edge(side: str, value: float, exclusive: bool, whole: bool) -> Edge:
    is_lower = side == "minimum"
    if whole:
        beyond = (math.floor(value) + 1 if is_lower else math.ceil(value) - 1) if exclusive else None
        within = math.ceil(value) if is_lower else math.floor(value)
        value, exclusive = within if beyond is None else beyond, False
    label = f"exclusive {side}" if exclusive else side
    return Edge(f"{label} {_number(value)}", (value if is_lower else -value, exclusive))


def _number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
