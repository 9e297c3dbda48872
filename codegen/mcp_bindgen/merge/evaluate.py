"""Evaluate what TypeScript computes from other types: `keyof`, indexed access, mapped types, and its utility types."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from mcp_bindgen.ingest.typescript_expressions import UTILITIES
from mcp_bindgen.ingest.typescript_types import (
    TsArray,
    TsDeclaration,
    TsIndexed,
    TsIntersection,
    TsKeyof,
    TsKeyword,
    TsLiteral,
    TsMapped,
    TsMember,
    TsObject,
    TsOpaque,
    TsReference,
    TsType,
    TsTypeof,
    TsUnion,
)
from mcp_bindgen.ir.nodes import Opaque

T = TypeVar("T")

MAX_DEPTH = 60
"""The maximum depth of one evaluation; beyond it, a type is kept as text."""
MAX_STEPS = 100_000
"""The maximum number of evaluations for one file: a thousand times more than any real one needs."""

_STRING = TsKeyword(name="string")


class Evaluator:
    """Evaluates types against the declarations of one schema.ts; methods return None if they cannot."""

    def __init__(self, declarations: Iterable[TsDeclaration]) -> None:
        self.declared: Mapping[str, TsDeclaration] = {declaration.name: declaration for declaration in declarations}
        self._depth = 0
        self._steps = 0

    def evaluate(self, ts: TsType) -> TsType | None:
        """Return the result of a computed type; any other type is returned unchanged."""
        return self._limited(self._evaluate, ts)

    def _limited(self, step: Callable[[TsType], T], ts: TsType) -> T | None:
        self._steps += 1
        if self._depth > MAX_DEPTH or self._steps > MAX_STEPS:
            return None
        self._depth += 1
        try:
            return step(ts)
        finally:
            self._depth -= 1

    def _evaluate(self, ts: TsType) -> TsType | None:
        match ts:
            case TsKeyof(type=type_):
                return self._keyof(type_)
            case TsIndexed(type=type_, index=index):
                return self._indexed(type_, index)
            case TsMapped():
                return self._mapped(ts)
            case TsReference(name=name) if name in self.declared:
                declaration = self.declared[name]
                if declaration.kind == "interface":
                    return self.object_of(ts)
                return self.evaluate(self.instance(ts).body)
            case TsReference(name=name, arguments=arguments) if name in UTILITIES:
                return self._utility(name, arguments, ts.opaque)
            case TsReference():
                return None
            case _:
                return ts

    def instance(self, reference: TsReference) -> TsDeclaration:
        """Return a declaration with the arguments of a reference in place of its parameters."""
        declaration = self.declared[reference.name]
        given: dict[str, TsType] = {}
        for position, parameter in enumerate(declaration.parameters):
            stated = reference.arguments[position] if position < len(reference.arguments) else parameter.default
            given[parameter.name] = substitute(stated, given) if stated else TsKeyword(name="unknown")
        if not given:
            return declaration
        return replace(
            declaration,
            parameters=(),
            extends=tuple(replace(base, type=substitute(base.type, given)) for base in declaration.extends),
            body=substitute(declaration.body, given),
        )

    def object_of(self, ts: TsType) -> TsObject | None:
        """Return an object type with the members that it inherits, or None if it is not one or not known as a whole."""
        return self._limited(self._object_of, ts)

    def _object_of(self, ts: TsType) -> TsObject | None:
        match ts:
            case TsObject():
                return ts
            case TsIntersection(members=members):
                return _joined([self.object_of(member) for member in members])
            case TsReference(name=name) if name in self.declared:
                declaration = self.instance(ts)
                bases = [self.object_of(base.type) for base in declaration.extends]
                return _joined([*bases, self.object_of(declaration.body)])
            case TsReference() | TsMapped() | TsIndexed():
                found = self.evaluate(ts)
                return found if isinstance(found, TsObject) else None
            case _:
                return None

    def keys(self, ts: TsType) -> list[str] | None:
        """Return the names that a type of strings lists, or None if it is open or not known."""
        names: list[str] = []
        for member in ts.members if isinstance(ts, TsUnion) else (ts,):
            if isinstance(member, TsLiteral) and not isinstance(member.value, bool):
                names.append(str(member.value))
                continue
            found = self.evaluate(member) if not isinstance(member, TsKeyword | TsOpaque) else None
            inner = self.keys(found) if found is not None and found != member else None
            if inner is None:
                return None
            names += inner
        return names

    def _keyof(self, type_: TsType) -> TsType | None:
        found = self.object_of(type_)
        if found is None:
            return None
        literals: list[TsType] = [TsLiteral(value=member.name) for member in found.members]
        return _union([*literals, _STRING] if found.index else literals)

    def _indexed(self, type_: TsType, index: TsType) -> TsType | None:
        if index == TsKeyword(name="number"):
            array = self.evaluate(type_)
            return array.item if isinstance(array, TsArray) else None
        found = self.object_of(type_)
        if found is None:
            return None
        if index == _STRING:
            return found.index
        names = self.keys(index)
        types = {member.name: member.type for member in found.members}
        if names is None or not names:
            return None
        chosen = [types.get(name, found.index) for name in names]
        return _union([one for one in chosen if one is not None]) if all(chosen) else None

    def _mapped(self, ts: TsMapped) -> TsType | None:
        names = self.keys(ts.keys)
        if names is None:
            opens = self._is_open(ts.keys)
            value = substitute(ts.value, {ts.parameter: _STRING})
            return TsObject(members=(), index=value) if opens else None
        source = self.object_of(ts.keys.type) if isinstance(ts.keys, TsKeyof) else None
        known = {member.name: member for member in source.members} if source else {}
        members: list[TsMember] = []
        for name in dict.fromkeys(names):
            same = known.get(name)
            optional = ts.optional if ts.optional is not None else same is not None and same.optional
            value = substitute(ts.value, {ts.parameter: TsLiteral(value=name)})
            members.append(_member(name, value, optional, ts, same))
        return TsObject(members=tuple(members))

    def _is_open(self, keys: TsType) -> bool:
        """Whether any string is a key."""
        for member in keys.members if isinstance(keys, TsUnion) else (keys,):
            found = self.evaluate(member)
            if found is not None and any(part in (_STRING, TsKeyword(name="number")) for part in _parts(found)):
                return True
        return False

    def _utility(self, name: str, arguments: tuple[TsType, ...], opaque: Opaque | None) -> TsType | None:
        match name, arguments:
            case "Readonly" | "NoInfer", (type_,):
                return self.evaluate(type_)
            case "Partial" | "Required", (type_,):
                found = self.object_of(type_)
                if found is None:
                    return None
                optional = name == "Partial"
                return replace(found, members=tuple(replace(m, optional=optional) for m in found.members))
            case "Omit" | "Pick", (type_, keys):
                found, names = self.object_of(type_), self.keys(keys)
                if found is None or names is None:
                    return None
                kept = tuple(m for m in found.members if (m.name in names) == (name == "Pick"))
                return replace(found, members=kept, index=found.index if name == "Omit" else None)
            case "Record", (keys, value) if opaque is not None:
                return self._mapped(TsMapped(parameter="", keys=keys, value=value, optional=None, opaque=opaque))
            case "NonNullable", (type_,):
                return self._chosen(type_, (TsKeyword(name="null"), TsKeyword(name="undefined")), kept=False)
            case "Exclude" | "Extract", (type_, other):
                others = self.evaluate(other)
                members = () if others is None else _parts(others)
                literals = bool(members) and all(isinstance(member, TsLiteral) for member in members)
                return self._chosen(type_, members, kept=name == "Extract") if literals else None
            case _:
                return None

    def _chosen(self, type_: TsType, members: tuple[TsType, ...], *, kept: bool) -> TsType | None:
        """Return the union of the members of a type that are, or are not, among others."""
        found = self.evaluate(type_)
        return None if found is None else _union([m for m in _parts(found) if (m in members) == kept])


def _union(members: list[TsType]) -> TsType:
    flat = list(dict.fromkeys(members))
    if not flat:
        return TsKeyword(name="never")
    return flat[0] if len(flat) == 1 else TsUnion(members=tuple(flat))


def _member(name: str, value: TsType, optional: bool, mapped: TsMapped, same: TsMember | None) -> TsMember:
    """Make a member of a mapped type; what its source says of the member stays true."""
    if same is not None:
        return replace(same, type=value, optional=optional)
    return TsMember(name=name, optional=optional, type=value, where=mapped.opaque.where, span=(0, 0))


def _joined(parts: list[TsObject | None]) -> TsObject | None:
    """Join the members of several objects; a later one overrides those before it."""
    members: dict[str, TsMember] = {}
    index: TsType | None = None
    for part in parts:
        if part is None or part.opaque is not None:
            return None
        members |= {member.name: member for member in part.members}
        index = part.index or index
    return TsObject(members=tuple(members.values()), index=index)


def substitute(ts: TsType, given: Mapping[str, TsType]) -> TsType:
    """Return a type with others in place of the names of parameters."""

    def inner(one: TsType) -> TsType:
        return substitute(one, given)

    match ts:
        case TsReference(name=name, arguments=()) if name in given:
            return given[name]
        case TsReference(arguments=arguments):
            return replace(ts, arguments=tuple(map(inner, arguments))) if arguments else ts
        case TsArray(item=item):
            return replace(ts, item=inner(item))
        case TsUnion(members=members):
            return _union([part for m in members for part in _parts(inner(m))])
        case TsIntersection(members=members):
            return replace(ts, members=tuple(inner(member) for member in members))
        case TsObject(members=object_members, index=index):
            changed = tuple(replace(member, type=inner(member.type)) for member in object_members)
            return replace(ts, members=changed, index=None if index is None else inner(index))
        case TsKeyof(type=type_):
            return replace(ts, type=inner(type_))
        case TsIndexed(type=type_, index=index_type):
            return replace(ts, type=inner(type_), index=inner(index_type))
        case TsMapped(parameter=parameter, keys=keys, value=value):
            rest = {name: one for name, one in given.items() if name != parameter}
            return replace(ts, keys=inner(keys), value=substitute(value, rest))
        case TsKeyword() | TsLiteral() | TsTypeof() | TsOpaque():
            return ts


def size(ts: TsType) -> int:
    """Return how many types a type is made of."""
    return 1 + sum(map(size, _inside(ts)))


def _inside(ts: TsType) -> Iterator[TsType]:
    match ts:
        case TsReference(arguments=inner) | TsUnion(members=inner) | TsIntersection(members=inner):
            yield from inner
        case TsArray(item=inner) | TsKeyof(type=inner):
            yield inner
        case TsObject(members=members, index=index):
            yield from (member.type for member in members)
            yield from () if index is None else (index,)
        case TsIndexed(type=first, index=second) | TsMapped(keys=first, value=second):
            yield from (first, second)
        case TsKeyword() | TsLiteral() | TsTypeof() | TsOpaque():
            return


def _parts(ts: TsType) -> tuple[TsType, ...]:
    return ts.members if isinstance(ts, TsUnion) else (ts,)
