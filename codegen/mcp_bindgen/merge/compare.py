"""Compare two readings of the same types by what they mean, not by how they are written.

Used to merge schema.json with schema.ts (`reconcile`) and to prove that the shipped structure and an official file
agree (`mcp-bindgen verify`).
"""

from collections.abc import Iterator
from itertools import chain

from mcp_bindgen.ir.json_values import escaped
from mcp_bindgen.ir.nodes import (
    NULL,
    UNBOUNDED,
    AllOf,
    Difference,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Primitive,
    Ref,
    Shape,
    Union,
)
from mcp_bindgen.ir.spell import bounds_of, is_never, spell, spell_bounds
from mcp_bindgen.merge.flatten import Declarations, flatten, resolve
from mcp_bindgen.merge.overlap import leaves_of


class Comparison:
    """Compares types of the left reading with types of the right one, each with the declarations they refer to."""

    def __init__(self, left: Declarations, right: Declarations) -> None:
        self._left = left
        self._right = right
        self._compared: set[tuple[str, str]] = set()

    def declarations(self) -> Iterator[Difference]:
        """Compare every declaration; a name that only one side has is a difference."""
        for name, declaration in self._left.items():
            pointer = declaration.pointer or f"/{escaped(name)}"
            if name not in self._right:
                yield _difference("definition", pointer, declaration.type, "-")
                continue
            yield from self.types(declaration.type, self._right[name].type, self._right[name].pointer or pointer)
        for name, declaration in self._right.items():
            if name not in self._left:
                yield _difference("definition", declaration.pointer, "-", declaration.type)

    def types(self, left: Shape, right: Shape, pointer: str) -> Iterator[Difference]:
        """Compare two types at the same place."""
        if isinstance(left, Ref) and isinstance(right, Ref) and left.name == right.name:
            return
        if isinstance(left, Ref) != isinstance(right, Ref) or isinstance(left, Ref):
            yield _difference("reference-inlined", pointer, left, right, contradiction=False)
        if isinstance(left, Ref) and isinstance(right, Ref):
            if (left.name, right.name) in self._compared:
                return  # recursive types would be compared forever
            self._compared.add((left.name, right.name))
        plain_left, plain_right = resolve(left, self._left), resolve(right, self._right)
        stated = _texts(right, plain_right)
        if stated and (ours := _texts(left, plain_left)) != stated:  # Only the JSON says it, so it would be lost.
            yield _difference("text", pointer, ours or "-", stated)
        leaves_left, leaves_right = self._leaves(plain_left, self._left), self._leaves(plain_right, self._right)
        if len(leaves_left) > 1 or len(leaves_right) > 1:
            yield from self._unions(plain_left, plain_right, leaves_left, leaves_right, pointer)
        else:
            yield from self._singles(plain_left, plain_right, pointer)

    def _leaves(self, type_: Shape, declarations: Declarations) -> tuple[Shape, ...]:
        """Flatten a union through the aliases in it; a reference to an object stays a reference."""
        parts = (leaf.each() if isinstance(leaf, Literal) else (leaf,) for leaf in leaves_of(type_, declarations))
        return tuple(dict.fromkeys(chain.from_iterable(parts)))

    def _unions(
        self, left: Shape, right: Shape, leaves_left: tuple[Shape, ...], leaves_right: tuple[Shape, ...], pointer: str
    ) -> Iterator[Difference]:
        if set(leaves_left) == set(leaves_right):
            if leaves_left != leaves_right:
                rule = "enum-order" if all(isinstance(leaf, Literal) for leaf in leaves_left) else "union-order"
                yield _difference(rule, pointer, left, right, contradiction=False)
            elif isinstance(left, Union) and isinstance(right, Union) and len(left.members) != len(right.members):
                yield _difference("union-flattened", pointer, left, right, contradiction=False)
            return
        rest_left = [leaf for leaf in leaves_left if leaf not in leaves_right]
        rest_right = [leaf for leaf in leaves_right if leaf not in leaves_left]
        is_value = Primitive(kind=Kind.BOOLEAN) in leaves_left
        for leaf in rest_left:
            partner = next((other for other in rest_right if self._alike(leaf, other)), None)
            if partner is not None:
                rest_right.remove(partner)
                for difference in self.types(leaf, partner, pointer):
                    if difference.rule == "number" and is_value:
                        yield _difference("number-in-value-union", pointer, left, right)
                    else:
                        yield difference
            elif leaf == NULL and is_value:
                yield _difference("null-in-value-union", pointer, left, right)
            else:
                yield _difference("union-member", pointer, leaf, right)
        for leaf in rest_right:
            yield _difference("union-member", pointer, left, leaf)

    def _alike(self, left: Shape, right: Shape) -> bool:
        """Whether two union members correspond, so that they are compared with each other."""
        if isinstance(left, Ref) and isinstance(right, Ref):
            return left.name == right.name
        left, right = resolve(left, self._left), resolve(right, self._right)
        numbers = (Kind.INTEGER, Kind.NUMBER)
        if isinstance(left, Primitive) and isinstance(right, Primitive):
            return left.kind is right.kind or (left.kind in numbers and right.kind in numbers)
        if isinstance(left, Object) and isinstance(right, Object):
            return {f.wire_name for f in left.properties} == {f.wire_name for f in right.properties}
        return type(left) is type(right) and not isinstance(left, Literal)

    def _singles(self, left: Shape, right: Shape, pointer: str) -> Iterator[Difference]:
        match left, right:
            case Primitive(), Primitive():
                yield from _primitives(left, right, pointer)
            case Literal(), Literal():
                if left != right:
                    yield _difference("literal", pointer, left, right)
            case ListOf(), ListOf():
                yield from _bounds(left, right, pointer)
                yield from self.types(left.item, right.item, f"{pointer}/items")
            case MapOf(), MapOf():
                yield from _bounds(left, right, pointer)
                yield from self.types(left.value, right.value, f"{pointer}/additionalProperties")
            case Object() | AllOf() | MapOf(), Object() | AllOf() | MapOf():
                yield from self._objects(left, right, pointer)
            case _:
                yield _difference("type", pointer, left, right)

    def _objects(self, left: Shape, right: Shape, pointer: str) -> Iterator[Difference]:
        flat_left, flat_right = flatten(left, self._left), flatten(right, self._right)
        if flat_left is None or flat_right is None:
            yield _difference("type", pointer, left, right)
            return
        for name in sorted(flat_left.properties.keys() ^ flat_right.properties.keys()):
            here = f"{pointer}/properties/{escaped(name)}"
            sides = [
                spell(flat.properties[name].type) if name in flat.properties else "-"
                for flat in (flat_left, flat_right)
            ]
            yield _difference("member", here, sides[0], sides[1])
        for name, a in flat_left.properties.items():
            if name not in flat_right.properties:
                continue
            b = flat_right.properties[name]
            here = f"{pointer}/properties/{escaped(name)}"
            if a.required != b.required:
                words = {True: "required", False: "optional"}
                yield _difference("required", here, words[a.required], words[b.required])
            yield from self.types(a.type, b.type, here)
        if flat_left.extra is None or flat_right.extra is None:
            if flat_left.extra != flat_right.extra:
                yield _difference("openness", pointer, left, right)
        else:
            yield from self.types(flat_left.extra, flat_right.extra, f"{pointer}/additionalProperties")


def _texts(*shapes: Shape) -> str:
    """Return what a place says beyond its type, in the members of a union too."""
    parts = [part for shape in shapes for part in (shape, *(shape.members if isinstance(shape, Union) else ()))]
    return "; ".join(sorted({part.opaque.text for part in parts if part.opaque and not is_never(part)}))


def _primitives(left: Primitive, right: Primitive, pointer: str) -> Iterator[Difference]:
    if left.kind is not right.kind:
        loses = (left.kind, right.kind) == (Kind.NUMBER, Kind.INTEGER)
        yield _difference("number" if loses else "type", pointer, left, right)
        return
    if left.known != right.known:
        yield _difference("open-literals", pointer, left, right, contradiction=False)
    if left.format != right.format:
        yield _difference("format", pointer, left.format or "-", right.format or "-", contradiction=False)
    yield from _bounds(left, right, pointer)


def _bounds(
    left: Primitive | ListOf[Shape] | MapOf[Shape], right: Primitive | ListOf[Shape] | MapOf[Shape], pointer: str
) -> Iterator[Difference]:
    if bounds_of(left.bounds) != bounds_of(right.bounds):
        sides = [spell_bounds(side) or "no bound" for side in (left, right)]
        lost = UNBOUNDED in (left.bounds, right.bounds)
        yield _difference("bound-lost" if lost else "bound", pointer, sides[0], sides[1])


def _difference(
    rule: str, pointer: str, left: Shape | str, right: Shape | str, *, contradiction: bool = True
) -> Difference:
    sides = [side if isinstance(side, str) else spell(side) for side in (left, right)]
    return Difference(rule=rule, pointer=pointer, left=sides[0], right=sides[1], contradiction=contradiction)
