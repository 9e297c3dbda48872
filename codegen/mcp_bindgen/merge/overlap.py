"""Whether types have values in common, as far as can be decided."""

from itertools import product

from mcp_bindgen.ingest.shapes import with_opaque
from mcp_bindgen.ir.nodes import UNBOUNDED, AllOf, Kind, ListOf, Literal, MapOf, Object, Primitive, Ref, Shape, Union
from mcp_bindgen.ir.scalars import is_of
from mcp_bindgen.merge.flatten import Declarations, Flat, canonical, flatten, resolve

MAX_COMPARED = 60
"""How many forms of a ``oneOf`` that are not constants are compared with each other."""


def leaves_of(shape: Shape, declarations: Declarations, *, exactly: bool = False) -> tuple[Shape, ...]:
    """Return the members of a union, through the aliases and unions in it.

    If `exactly`, those about which a schema says more remain with what it says, and so do unions.
    """
    found: list[Shape] = []
    pending, seen = [shape], set[str]()
    while pending:
        member = canonical(pending.pop(0), declarations)
        target = resolve(member, declarations)
        if exactly and isinstance(target, Union) and (target.exclusive or target.opaque or member.opaque):
            found.append(with_opaque(target, member.opaque))
        elif isinstance(target, Union) and not (isinstance(member, Ref) and member.name in seen):
            seen |= {member.name} if isinstance(member, Ref) else set()
            pending = [*target.members, *pending]
        elif not isinstance(target, Union):
            is_named = isinstance(target, Object | AllOf | MapOf)
            found.append(member if is_named or member is target else with_opaque(target, member.opaque))
    return tuple(found)


def is_within(one: Shape, other: Shape) -> bool:
    """Return whether all values of one type are certainly of the other one, neither of them a union."""
    if repr(one) == repr(other):  # Equality ignores opaque text.
        return True
    if not isinstance(other, Primitive) or other.bounds != UNBOUNDED or other.opaque:
        return False
    match one:
        case Literal(values=values):
            return other.kind is Kind.ANY or all(is_of(value, other.kind) for value in values)
        case Primitive(kind=kind):
            return other.kind in (kind, Kind.ANY) or (kind, other.kind) == (Kind.INTEGER, Kind.NUMBER)
        case _:
            return other.kind is Kind.ANY


def are_apart(first: Shape, second: Shape, declarations: Declarations) -> bool:
    """Return whether two types have no value in common."""
    match resolve(first, declarations), resolve(second, declarations):
        case (Literal() as one, Literal() as other):
            return not {*one.each()} & {*other.each()}
        case (Literal() as one, Primitive() as kind) | (Primitive() as kind, Literal() as one):
            return not any(is_of(value, kind.kind) for value in one.values) and kind.kind is not Kind.ANY
        case (Literal(), ListOf() | MapOf() | Object()) | (ListOf() | MapOf() | Object(), Literal()):
            return True
        case (Union(), _) | (_, Union()):
            forms = product(leaves_of(first, declarations), leaves_of(second, declarations))
            return all(are_apart(one, other, declarations) for one, other in forms)
        case (one, other):
            kinds = json_type(one), json_type(other)
            if kinds != ("object", "object"):
                return kinds[0] != kinds[1] and "" not in kinds
            flats = flatten(first, declarations), flatten(second, declarations)
            return flats[0] is not None and flats[1] is not None and _are_tagged(flats[0], flats[1], declarations)


def json_type(shape: Shape) -> str:
    """Return the JSON type of all values of a type, empty if they have several."""
    match shape:
        case Primitive(kind=Kind.ANY) | Union() | Ref() | Literal():
            return ""
        case Primitive(kind=kind):
            return Kind.NUMBER if kind is Kind.INTEGER else kind
        case ListOf():
            return "array"
        case MapOf() | Object() | AllOf():
            return "object"


def _are_tagged(first: Flat, second: Flat, declarations: Declarations) -> bool:
    """Return whether one object requires a property that the other rejects, or gives a type without common values."""
    for one, other in ((first, second), (second, first)):
        for name, property_ in one.properties.items():
            partner = other.properties.get(name)
            if not property_.required or (partner is None and other.extra is not None):
                continue
            leaves = [leaves_of(p.type, declarations) for p in (property_, partner) if p]
            if len(leaves) < 2 or all(_are_other(a, b, declarations) for a, b in product(*leaves)):
                return True
    return False


def _are_other(first: Shape, second: Shape, declarations: Declarations) -> bool:
    """Return whether two types have no value in common, as far as shows without the properties of objects."""
    are_objects = all(json_type(resolve(shape, declarations)) == "object" for shape in (first, second))
    return not are_objects and are_apart(first, second, declarations)
