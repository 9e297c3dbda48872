"""Scalars, and the bounds of scalars, lists and maps, as a comparison sees them."""

import math
from collections.abc import Iterator, Mapping

from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.sites import BoundSite, Edge
from mcp_bindgen.ir.nodes import UNBOUNDED, Bounds, Kind, ListOf, Literal, MapOf, Primitive, Struct, TypeRef
from mcp_bindgen.ir.scalars import fits
from mcp_bindgen.ir.spell import bounds_of


def effect_of_bound(site: object) -> Change:
    """Return whether a bound now admits fewer values or more."""
    assert isinstance(site, BoundSite)
    if not site.before or not site.after:
        return Change.NARROWS if site.after else Change.WIDENS
    before, after = site.before.inwards, site.after.inwards
    if before is None or after is None:
        return Change.BOTH
    return Change.NARROWS if after > before else Change.WIDENS


def contains(open_: Primitive | Literal, closed: Primitive | Literal) -> bool:
    """Whether a scalar type admits all values of a closed set."""
    if not isinstance(open_, Primitive) or not isinstance(closed, Literal):
        return False
    return all(fits(value, open_) for value in closed.values)


def kind_of(type_: TypeRef | Struct) -> Kind | None:
    """Return the kind of a primitive type; None for any other."""
    return type_.kind if isinstance(type_, Primitive) else None


_Bounded = Primitive | ListOf | MapOf
_SIZES = ("min_length", "max_length", "min_items", "max_items", "min_properties", "max_properties")


def bound_sites(old: TypeRef | Struct, new: TypeRef | Struct) -> Iterator[BoundSite]:
    """Iterate over the bounds of two types that differ; bounds that admit the same values are equal.

    Objects with properties have none, and those of scalars of different kinds are compared only if both are numbers.
    """
    bounds = [side.bounds if isinstance(side, _Bounded) else UNBOUNDED for side in (old, new)]
    kinds = {kind_of(old), kind_of(new)}
    if bounds[0] == bounds[1] or (len(kinds) > 1 and not kinds <= {Kind.INTEGER, Kind.NUMBER}):
        return
    kind = Kind.NUMBER if len(kinds) > 1 else kinds.pop()
    before, after = (_effective(each, kind) for each in bounds)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield BoundSite(before=before.get(name), after=after.get(name))


def _effective(bounds: Bounds, kind: Kind | None) -> Mapping[str, Edge]:
    """Return the bounds that exclude something: at most one lower and one upper bound of a number, and all others."""
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
