"""Whether the members of a union exclude each other, so that "exactly one" says no more than "at least one"."""

from collections.abc import Sequence

from mcp_bindgen.ir.nodes import AllOf, Kind, ListOf, Literal, MapOf, Object, Primitive, Ref, Shape, Union
from mcp_bindgen.merge.flatten import Declarations, Flat, flatten, resolve


def are_exclusive(members: Sequence[Shape], declarations: Declarations) -> bool:
    """Whether no value can be of two of the types: they differ in JSON type, are distinct constants, or are tagged."""
    kinds: list[str] = []
    constants: list[Literal] = []
    objects: list[Flat] = []
    for member in members:
        target = resolve(member, declarations)
        match target:
            case Literal():
                constants += target.each()
            case Primitive(kind=Kind.ANY) | Union() | Ref():
                return False
            case Primitive(kind=kind):
                kinds.append(Kind.NUMBER if kind is Kind.INTEGER else kind)
            case ListOf():
                kinds.append("array")
            case MapOf() | Object() | AllOf():
                flat = flatten(member, declarations)
                if flat is None:
                    return False
                objects.append(flat)
    distinct = len(set(kinds)) == len(kinds) and len(set(constants)) == len(constants)
    return distinct and not (constants and kinds) and (len(objects) < 2 or _are_tagged(objects))


def _are_tagged(objects: Sequence[Flat]) -> bool:
    """Whether one property is a constant that all objects require and that differs in each."""
    for name in objects[0].properties:
        tags: list[Literal] = []
        for flat in objects:
            property_ = flat.properties.get(name)
            if property_ is None or not property_.required or not isinstance(property_.type, Literal):
                break
            tags += property_.type.each()
        else:
            if len(set(tags)) == len(tags):
                return True
    return False
