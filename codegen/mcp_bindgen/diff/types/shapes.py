"""Changes of scalars and of bounds: the leaves of a comparison."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mcp_bindgen.ir.nodes import Bounds, Kind, Literal, Primitive, Scalar
from mcp_bindgen.ir.spell import bounds_of, spell, spell_bounds

Changed: TypeAlias = tuple[str, str, str]
"""The id of a rule, the old reading and the new one."""

_NUMBERS = {Kind.INTEGER, Kind.NUMBER}
_SIZES = ("min_length", "max_length", "min_items", "max_items", "min_properties", "max_properties")


def scalar_changes(old: Primitive | Literal, new: Primitive | Literal) -> Iterator[Changed]:
    """Iterate over the changes between two scalar types."""
    match old, new:
        case Literal(), Literal():
            yield from _literals(old, new)
        case Literal(), Primitive() if all(fits(value, new) for value in old.values):
            yield _name("enum-opened", "type-widened", new), spell(old), _spell(new)
        case Primitive(), Literal() if all(fits(value, old) for value in new.values):
            yield _name("enum-closed", "type-narrowed", old), _spell(old), spell(new)
        case Primitive(), Primitive() if old.kind is new.kind:
            yield from bound_changes(old.bounds, new.bounds, old.kind)
            if old.format != new.format:
                rule = "format-changed" if old.format and new.format else f"format-{_way(old.format)}"
                yield rule, old.format or "-", new.format or "-"
        case Primitive(), Primitive() if {old.kind, new.kind} == _NUMBERS:
            yield "integer-to-number" if new.kind is Kind.NUMBER else "number-to-integer", spell(old), spell(new)
            yield from bound_changes(old.bounds, new.bounds, Kind.NUMBER)
        case _:
            yield "type-changed", _spell(old), _spell(new)


def _way(old: str) -> str:
    return "removed" if old else "added"


def _name(of_strings: str, of_others: str, type_: Primitive) -> str:
    return of_strings if type_.kind is Kind.STRING else of_others


def _spell(type_: Primitive | Literal) -> str:
    """Spell a type with its bounds, where these are what tells it from another."""
    bounds = spell_bounds(type_)
    return f"{spell(type_)} ({bounds})" if bounds else spell(type_)


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


def _literals(old: Literal, new: Literal) -> Iterator[Changed]:
    before, after = ([Literal(values=(value,)) for value in side.values] for side in (old, new))
    gone = [value for value in before if value not in after]
    come = [value for value in after if value not in before]
    if len(before) == len(after) == 1 and gone:
        yield "const-changed", spell(old), spell(new)
        return
    for value in gone:
        yield "enum-value-removed", spell(value), "-"
    for value in come:
        yield "enum-value-added", "-", spell(value)


def bound_changes(old: Bounds, new: Bounds, kind: Kind | None = None) -> Iterator[Changed]:
    """Iterate over the bounds that came, went or moved; bounds that admit the same values are the same bounds.

    Args:
        old: the old bounds.
        new: the new ones.
        kind: the type of a scalar, None for a list or an object.
    """
    before, after = _effective(old, kind), _effective(new, kind)
    for name in sorted(before.keys() | after.keys()):
        was, is_ = before.get(name), after.get(name)
        if was == is_:
            continue
        if was is None or is_ is None:
            rule = "constraint-added" if was is None else "constraint-removed"
        elif was.inwards is None or is_.inwards is None:
            rule = "constraint-changed"
        else:
            rule = "constraint-added" if is_.inwards > was.inwards else "constraint-removed"
        yield rule, was.text if was else "-", is_.text if is_ else "-"


@dataclass(frozen=True, slots=True)
class _Edge:
    """One bound as it is spelled; `inwards` grows as it admits less, None where that cannot be compared."""

    text: str
    inwards: tuple[float, bool] | None = None


def _effective(bounds: Bounds, kind: Kind | None) -> Mapping[str, _Edge]:
    """Return the bounds that exclude something: one lower and one upper edge of a number, and what else is asserted."""
    found: dict[str, _Edge] = {}
    for name, value in bounds_of(bounds).items():
        label = name.replace("_", " ")
        if name in _SIZES and isinstance(value, int):
            if value or name.startswith("max"):
                found[name] = _Edge(f"{label} {value}", (value if name.startswith("min") else -value, False))
        elif name == "unique_items":
            if value:
                found[name] = _Edge(label)
        elif name == "multiple_of":
            if kind is not Kind.INTEGER or value != 1:
                found[name] = _Edge(f"{label} {_number(value)}")
        elif name == "pattern":
            found[name] = _Edge(f"{label} {value}")
        elif isinstance(value, int | float):
            side = "minimum" if name.endswith("minimum") else "maximum"
            edge = _range_edge(side, value, name.startswith("exclusive"), kind is Kind.INTEGER)
            known = found.get(side)
            if known is None or (known.inwards and edge.inwards and edge.inwards > known.inwards):
                found[side] = edge
    return found


def _range_edge(side: str, value: float, exclusive: bool, whole: bool) -> _Edge:
    is_lower = side == "minimum"
    if whole:
        beyond = (math.floor(value) + 1 if is_lower else math.ceil(value) - 1) if exclusive else None
        within = math.ceil(value) if is_lower else math.floor(value)
        value, exclusive = within if beyond is None else beyond, False
    label = f"exclusive {side}" if exclusive else side
    return _Edge(f"{label} {_number(value)}", (value if is_lower else -value, exclusive))


def _number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
