"""Changes of scalars and of bounds: the leaves of a comparison."""

from collections.abc import Iterator
from typing import TypeAlias

from mcp_bindgen.ir.nodes import Bounds, Kind, Literal, Primitive
from mcp_bindgen.ir.spell import bounds_of, spell

Changed: TypeAlias = tuple[str, str, str]
"""The id of a rule, the old reading and the new one."""

_NUMBERS = {Kind.INTEGER, Kind.NUMBER}
_UPPER = ("maximum", "exclusive_maximum", "max_length", "max_items", "max_properties")


def scalar_changes(old: Primitive | Literal, new: Primitive | Literal) -> Iterator[Changed]:
    """Iterate over the changes between two scalar types."""
    match old, new:
        case Literal(), Literal():
            yield from _literals(old, new)
        case Literal(), Primitive(kind=Kind.STRING) if all(isinstance(value, str) for value in old.values):
            yield "enum-opened", spell(old), spell(new)
        case Primitive(kind=Kind.STRING), Literal() if all(isinstance(value, str) for value in new.values):
            yield "enum-closed", spell(old), spell(new)
        case Primitive(), Primitive() if old.kind is new.kind:
            yield from bound_changes(old.bounds, new.bounds)
        case Primitive(), Primitive() if {old.kind, new.kind} == _NUMBERS:
            yield "integer-to-number" if new.kind is Kind.NUMBER else "number-to-integer", spell(old), spell(new)
            yield from bound_changes(old.bounds, new.bounds)
        case Primitive(kind=Kind.ANY), _:
            yield "type-narrowed", spell(old), spell(new)
        case _, Primitive(kind=Kind.ANY):
            yield "type-widened", spell(old), spell(new)
        case _:
            yield "type-changed", spell(old), spell(new)


def _literals(old: Literal, new: Literal) -> Iterator[Changed]:
    gone = [value for value in old.values if value not in new.values]
    come = [value for value in new.values if value not in old.values]
    if len(old.values) == len(new.values) == 1 and gone:
        yield "const-changed", spell(old), spell(new)
        return
    for value in gone:
        yield "enum-value-removed", spell(Literal(values=(value,))), "-"
    for value in come:
        yield "enum-value-added", "-", spell(Literal(values=(value,)))


def bound_changes(old: Bounds, new: Bounds) -> Iterator[Changed]:
    """Iterate over the bounds that came, went or moved."""
    before, after = bounds_of(old), bounds_of(new)
    for name in sorted(before.keys() | after.keys()):
        label = name.replace("_", " ")
        if name not in before:
            yield "constraint-added", "-", f"{label} {after[name]}"
        elif name not in after:
            yield "constraint-removed", f"{label} {before[name]}", "-"
        elif before[name] != after[name]:
            yield _moved(name, before[name], after[name]), f"{label} {before[name]}", f"{label} {after[name]}"


def _moved(name: str, old: object, new: object) -> str:
    """A bound that moved outwards is as good as removed, one that moved inwards as good as added."""
    if name in ("pattern", "multiple_of") or not isinstance(old, int | float) or not isinstance(new, int | float):
        return "constraint-changed"
    outwards = new > old if name in _UPPER else new < old
    return "constraint-removed" if outwards else "constraint-added"
