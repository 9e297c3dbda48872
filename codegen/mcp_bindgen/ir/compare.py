"""Compare two readings of the same types by what they mean, not by how they are written.

Used to merge schema.json with schema.ts (`reconcile`) and to prove that the shipped structure and an official file
agree (`mcp-bindgen verify`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.diagnostics import escape_pointer
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    UNBOUNDED,
    Declaration,
    Field,
    Intersection,
    Kind,
    ListOf,
    Literal,
    MapOf,
    ObjectOf,
    Primitive,
    Ref,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import bounds_of, is_any, spell, spell_bounds

Declarations = Mapping[str, Declaration]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place at which the left and the right reading differ; `rule` says in which way.

    `contradiction` is true where the two admit different messages.
    """

    rule: str
    pointer: str
    left: str
    right: str
    contradiction: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat:
    """An object type with the members of its bases: what both readings can be brought to."""

    fields: Mapping[str, Field]
    extra: TypeRef | None


def resolve(type_: TypeRef, declarations: Declarations) -> TypeRef:
    """Follow references to the type they name; a reference that leads nowhere or in a circle stays as it is."""
    seen: set[str] = set()
    while isinstance(type_, Ref) and type_.name in declarations and type_.name not in seen:
        seen.add(type_.name)
        type_ = declarations[type_.name].type
    return type_


def canonical(type_: TypeRef, declarations: Declarations) -> TypeRef:
    """Follow references as far as they name another reference: what remains is no alias of an object."""
    seen: set[str] = set()
    while isinstance(type_, Ref) and type_.name in declarations and type_.name not in seen:
        seen.add(type_.name)
        target = declarations[type_.name].type
        if not isinstance(target, Ref):
            break
        type_ = target
    return type_


def flatten(type_: TypeRef, declarations: Declarations, known: dict[str, Flat | None] | None = None) -> Flat | None:
    """Return an object type with everything that it inherits, or None if the type is no object with members.

    `known` keeps what was found for the names of one set of declarations; pass the same one to ask often.
    """
    known = {} if known is None else known
    if isinstance(type_, Ref):
        if type_.name not in known and type_.name in declarations:
            known[type_.name] = None  # what stands there if the way leads back
            known[type_.name] = flatten(declarations[type_.name].type, declarations, known)
        return known.get(type_.name)
    if isinstance(type_, MapOf):
        return Flat(fields={}, extra=type_.value)
    if isinstance(type_, Intersection):
        members = [flatten(member, declarations, known) for member in type_.members]
        return _joined([member for member in members if member]) if all(members) else None
    if not isinstance(type_, ObjectOf):
        return None
    parts: list[Flat | None] = []
    for base in type_.bases:
        part = flatten(Ref(name=base.name), declarations, known)
        if part:
            kept = {name: f for name, f in part.fields.items() if name not in base.omitted}
            parts.append(Flat(fields=kept, extra=part.extra))
    own = Flat(fields={f.wire_name: f for f in type_.fields}, extra=type_.extra)
    return _joined([*(part for part in parts if part), own])


def _joined(parts: Iterable[Flat]) -> Flat:
    fields: dict[str, Field] = {}
    extra: TypeRef | None = ANY
    for part in parts:
        fields |= part.fields
        extra = extra if part.extra is not None and is_any(part.extra) else part.extra
    return Flat(fields=fields, extra=extra)


class Comparison:
    """Compares types of the left reading with types of the right one, each with the declarations they refer to."""

    def __init__(self, left: Declarations, right: Declarations) -> None:
        self._left = left
        self._right = right
        self._compared: set[tuple[str, str]] = set()

    def declarations(self) -> Iterator[Difference]:
        """Compare every declaration; a name that only one side has is a difference."""
        for name, declaration in self._left.items():
            pointer = declaration.pointer or f"/{escape_pointer(name)}"
            if name not in self._right:
                yield Difference(
                    rule="definition", pointer=pointer, left=spell(declaration.type), right="-", contradiction=True
                )
                continue
            yield from self.types(declaration.type, self._right[name].type, self._right[name].pointer or pointer)
        for name, declaration in self._right.items():
            if name not in self._left:
                yield Difference(
                    rule="definition",
                    pointer=declaration.pointer,
                    left="-",
                    right=spell(declaration.type),
                    contradiction=True,
                )

    def types(self, left: TypeRef, right: TypeRef, pointer: str) -> Iterator[Difference]:
        """Compare two types that stand at the same place."""
        if isinstance(left, Ref) and isinstance(right, Ref) and left.name == right.name:
            return
        if isinstance(left, Ref) != isinstance(right, Ref) or isinstance(left, Ref):
            yield _difference("reference-inlined", pointer, left, right, contradiction=False)
        if isinstance(left, Ref) and isinstance(right, Ref):
            if (left.name, right.name) in self._compared:
                return  # types that refer to themselves would be compared for ever
            self._compared.add((left.name, right.name))
        plain_left, plain_right = resolve(left, self._left), resolve(right, self._right)
        leaves_left, leaves_right = self._leaves(plain_left, self._left), self._leaves(plain_right, self._right)
        if len(leaves_left) > 1 or len(leaves_right) > 1:
            yield from self._unions(plain_left, plain_right, leaves_left, leaves_right, pointer)
        else:
            yield from self._singles(plain_left, plain_right, pointer)

    def _leaves(self, type_: TypeRef, declarations: Declarations) -> tuple[TypeRef, ...]:
        """Flatten a union through the aliases in it; a reference to an object stays a reference."""
        flat: dict[TypeRef, None] = {}
        pending, seen = [type_], set[str]()
        while pending:
            member = pending.pop(0)
            resolved = resolve(member, declarations)
            if isinstance(resolved, Union):
                name = member.name if isinstance(member, Ref) else ""
                if not name or name not in seen:
                    seen.add(name)
                    pending = [*resolved.members, *pending]
            elif isinstance(resolved, Literal):
                flat.update((Literal(values=(value,)), None) for value in resolved.values)
            else:
                is_object = isinstance(resolved, ObjectOf | Intersection)
                flat[canonical(member, declarations) if is_object else resolved] = None
        return tuple(flat)

    def _unions(
        self,
        left: TypeRef,
        right: TypeRef,
        leaves_left: tuple[TypeRef, ...],
        leaves_right: tuple[TypeRef, ...],
        pointer: str,
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
                        yield _difference("number-in-value-union", pointer, left, right, contradiction=True)
                    else:
                        yield difference
            elif leaf == NULL and is_value:
                yield _difference("null-in-value-union", pointer, left, right, contradiction=True)
            else:
                yield _difference("union-member", pointer, leaf, right, contradiction=True)
        for leaf in rest_right:
            yield _difference("union-member", pointer, left, leaf, contradiction=True)

    def _alike(self, left: TypeRef, right: TypeRef) -> bool:
        """Whether two members of unions are two spellings of one thing, so that they are compared with each other."""
        if isinstance(left, Ref) and isinstance(right, Ref):
            return left.name == right.name
        left, right = resolve(left, self._left), resolve(right, self._right)
        numbers = (Kind.INTEGER, Kind.NUMBER)
        if isinstance(left, Primitive) and isinstance(right, Primitive):
            return left.kind is right.kind or (left.kind in numbers and right.kind in numbers)
        if isinstance(left, ObjectOf) and isinstance(right, ObjectOf):
            return {f.wire_name for f in left.fields} == {f.wire_name for f in right.fields}
        return type(left) is type(right) and not isinstance(left, Literal)

    def _singles(self, left: TypeRef, right: TypeRef, pointer: str) -> Iterator[Difference]:
        match left, right:
            case Primitive(), Primitive():
                yield from _primitives(left, right, pointer)
            case Literal(), Literal():
                if left != right:
                    yield _difference("literal", pointer, left, right, contradiction=True)
            case ListOf(), ListOf():
                yield from _bounds(left, right, pointer)
                yield from self.types(left.item, right.item, f"{pointer}/items")
            case MapOf(), MapOf():
                yield from _bounds(left, right, pointer)
                yield from self.types(left.value, right.value, f"{pointer}/additionalProperties")
            case ObjectOf() | Intersection() | MapOf(), ObjectOf() | Intersection() | MapOf():
                yield from self._objects(left, right, pointer)
            case _:
                yield _difference("type", pointer, left, right, contradiction=True)

    def _objects(self, left: TypeRef, right: TypeRef, pointer: str) -> Iterator[Difference]:
        flat_left, flat_right = flatten(left, self._left), flatten(right, self._right)
        if flat_left is None or flat_right is None:
            yield _difference("type", pointer, left, right, contradiction=True)
            return
        for name in sorted(flat_left.fields.keys() ^ flat_right.fields.keys()):
            here = f"{pointer}/properties/{escape_pointer(name)}"
            sides = [spell(flat.fields[name].type) if name in flat.fields else "-" for flat in (flat_left, flat_right)]
            yield Difference(rule="member", pointer=here, left=sides[0], right=sides[1], contradiction=True)
        for name, a in flat_left.fields.items():
            if name not in flat_right.fields:
                continue
            b = flat_right.fields[name]
            here = f"{pointer}/properties/{escape_pointer(name)}"
            if a.required != b.required:
                words = {True: "required", False: "optional"}
                yield Difference(
                    rule="required", pointer=here, left=words[a.required], right=words[b.required], contradiction=True
                )
            yield from self.types(a.type, b.type, here)
        if flat_left.extra is None or flat_right.extra is None:
            if flat_left.extra != flat_right.extra:
                yield _difference("openness", pointer, left, right, contradiction=True)
        else:
            yield from self.types(flat_left.extra, flat_right.extra, f"{pointer}/additionalProperties")


def _primitives(left: Primitive, right: Primitive, pointer: str) -> Iterator[Difference]:
    if left.kind is not right.kind:
        numbers = {left.kind, right.kind} == {Kind.INTEGER, Kind.NUMBER}
        yield _difference("number" if numbers else "type", pointer, left, right, contradiction=True)
        return
    if left.known != right.known:
        yield _difference("open-literals", pointer, left, right, contradiction=False)
    if left.format != right.format:
        yield Difference(
            rule="format", pointer=pointer, left=left.format or "-", right=right.format or "-", contradiction=False
        )
    yield from _bounds(left, right, pointer)


def _bounds(left: Primitive | ListOf | MapOf, right: Primitive | ListOf | MapOf, pointer: str) -> Iterator[Difference]:
    if bounds_of(left.bounds) != bounds_of(right.bounds):
        sides = [spell_bounds(side) or "no bound" for side in (left, right)]
        lost = UNBOUNDED in (left.bounds, right.bounds)
        yield Difference(
            rule="bound-lost" if lost else "bound", pointer=pointer, left=sides[0], right=sides[1], contradiction=True
        )


def _difference(rule: str, pointer: str, left: TypeRef, right: TypeRef, *, contradiction: bool) -> Difference:
    return Difference(rule=rule, pointer=pointer, left=spell(left), right=spell(right), contradiction=contradiction)
