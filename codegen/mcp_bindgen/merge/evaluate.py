"""Evaluate what TypeScript computes from other types: `keyof`, indexed access, mapped types, and its utility types."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from mcp_bindgen.ingest.typescript_expressions import UTILITIES
from mcp_bindgen.ingest.typescript_types import (
    KEYOF,
    MAPPED,
    NUMBER,
    UNDEFINED,
    Body,
    Expression,
    Member,
    TsDeclaration,
    Written,
    alternatives,
    children,
    union_of,
)
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.nodes import ANY, NULL, STRING, AllOf, ListOf, Literal, MapOf, Primitive, Ref, Union

T = TypeVar("T")

MAX_DEPTH = 60
"""The maximum depth of one evaluation; beyond it, a type is kept as text."""
MAX_STEPS = 100_000
"""The maximum number of evaluations for one file: a thousand times more than any real one needs."""


class Evaluator:
    """Evaluates types against the declarations of one schema.ts; methods return None if they cannot."""

    def __init__(self, declarations: Iterable[TsDeclaration]) -> None:
        self.declared: Mapping[str, TsDeclaration] = {declaration.name: declaration for declaration in declarations}
        self._depth = 0
        self._steps = 0

    def evaluate(self, ts: Written) -> Written | None:
        """Return the result of a computed type; any other type is returned unchanged."""
        return self._limited(self._evaluate, ts)

    def _limited(self, step: Callable[[Written], T], ts: Written) -> T | None:
        self._steps += 1
        if self._depth > MAX_DEPTH or self._steps > MAX_STEPS:
            return None
        self._depth += 1
        try:
            return step(ts)
        finally:
            self._depth -= 1

    def _evaluate(self, ts: Written) -> Written | None:
        match ts:
            case Ref(name=name) if name in self.declared:
                return self._declared(ts)
            case Ref():
                return None
            case Expression(operator=name) if name in self.declared:
                return self._declared(ts)
            case Expression(operator="keyof", operands=(type_,)):
                return self._keyof(type_)
            case Expression(operator="[]", operands=(type_, index)):
                return self._indexed(type_, index)
            case Expression(operator=operator, operands=(Ref() as parameter, keys, value)) if operator in MAPPED:
                return self._mapped(ts, parameter, keys, value)
            case Expression(operator=name, operands=arguments) if arguments:
                return self._utility(name, arguments, ts) if name in UTILITIES else None
            case _:
                return ts

    def _declared(self, ts: Ref | Expression) -> Written | None:
        declaration = self.instance(ts)
        return self.object_of(ts) if declaration.kind == "interface" else self.evaluate(declaration.body)

    def instance(self, reference: Ref | Expression) -> TsDeclaration:
        """Return a declaration with the arguments of a reference in place of its parameters."""
        name, arguments = (
            (reference.name, ()) if isinstance(reference, Ref) else (reference.operator, reference.operands)
        )
        declaration = self.declared[name]
        given: dict[str, Written] = {}
        for position, (parameter, default) in enumerate(declaration.parameters.items()):
            stated = arguments[position] if position < len(arguments) else default
            given[parameter] = substitute(stated, given) if stated else ANY
        if not given:
            return declaration
        return replace(
            declaration,
            parameters={},
            extends=tuple(replace(base, type=substitute(base.type, given)) for base in declaration.extends),
            body=substitute(declaration.body, given),
        )

    def object_of(self, ts: Written) -> Body | None:
        """Return an object type with the members that it inherits, or None if it is not one or not known as a whole."""
        return self._limited(self._object_of, ts)

    def _object_of(self, ts: Written) -> Body | None:
        match ts:
            case Body():
                return ts
            case AllOf(members=members):
                return _joined([self.object_of(member) for member in members])
            case Ref(name=name) | Expression(operator=name) if name in self.declared:
                declaration = self.instance(ts)
                bases = [self.object_of(base.type) for base in declaration.extends]
                return _joined([*bases, self.object_of(declaration.body)])
            case Expression():
                found = self.evaluate(ts)
                return found if isinstance(found, Body) else None
            case _:
                return None

    def keys(self, ts: Written) -> list[str] | None:
        """Return the names that a type of strings lists, or None if it is open or not known."""
        names: list[str] = []
        for member in alternatives(ts):
            if isinstance(member, Literal) and not isinstance(member.values[0], bool):
                names.append(str(member.values[0]))
                continue
            found = self.evaluate(member)
            inner = self.keys(found) if found is not None and found != member else None
            if inner is None:
                return None
            names += inner
        return names

    def _keyof(self, type_: Written) -> Written | None:
        found = self.object_of(type_)
        if found is None:
            return None
        names = Literal(values=tuple(member.wire_name for member in found.properties))
        return union_of([names, STRING] if found.index else [names])

    def _indexed(self, type_: Written, index: Written) -> Written | None:
        if index == NUMBER:
            array = self.evaluate(type_)
            return array.item if isinstance(array, ListOf) else None
        found = self.object_of(type_)
        if found is None:
            return None
        if index == STRING:
            return found.index
        names = self.keys(index)
        types = {member.wire_name: member.type for member in found.properties}
        if names is None or not names:
            return None
        chosen = [types.get(name, found.index) for name in names]
        return union_of(one for one in chosen if one is not None) if all(chosen) else None

    def _mapped(self, ts: Expression, parameter: Ref, keys: Written, value: Written) -> Written | None:
        names = self.keys(keys)
        if names is None:
            opens = self._is_open(keys)
            return Body(extra=substitute(value, {parameter.name: STRING}), indexed=True) if opens else None
        of_keys = isinstance(keys, Expression) and keys.operator == KEYOF and keys.operands
        source = self.object_of(of_keys[0]) if of_keys else None
        known = {member.wire_name: member for member in source.properties} if source else {}
        members: list[Member] = []
        for name in dict.fromkeys(names):
            same, optional = known.get(name), MAPPED[ts.operator]
            required = not optional if optional is not None else same is None or same.required
            type_ = substitute(value, {parameter.name: Literal(values=(name,))})
            if same is not None:  # What its source says of the member stays true.
                members.append(replace(same, type=type_, required=required))
            else:
                where = ts.opaque.where if ts.opaque else Location(source="")
                members.append(Member(wire_name=name, required=required, type=type_, where=where, span=(0, 0)))
        return Body(properties=tuple(members))

    def _is_open(self, keys: Written) -> bool:
        """Whether any string is a key."""
        found = (self.evaluate(member) for member in alternatives(keys))
        return any(part in (STRING, NUMBER) for one in found if one is not None for part in alternatives(one))

    def _utility(self, name: str, arguments: tuple[Written, ...], ts: Expression) -> Written | None:
        match name, arguments:
            case "Readonly" | "NoInfer", (type_,):
                return self.evaluate(type_)
            case "Partial" | "Required", (type_,):
                found = self.object_of(type_)
                if found is None:
                    return None
                required = name == "Required"
                return replace(found, properties=tuple(replace(m, required=required) for m in found.properties))
            case "Omit" | "Pick", (type_, keys):
                found, names = self.object_of(type_), self.keys(keys)
                if found is None or names is None:
                    return None
                kept = tuple(m for m in found.properties if (m.wire_name in names) == (name == "Pick"))
                return replace(found, properties=kept) if name == "Omit" else Body(properties=kept)
            case "Record", (keys, value):
                return self._mapped(replace(ts, operator="in"), Ref(name=""), keys, value)
            case "NonNullable", (type_,):
                return self._chosen(type_, (NULL, UNDEFINED), kept=False)
            case "Exclude" | "Extract", (type_, other):
                others = self.evaluate(other)
                members = () if others is None else alternatives(others)
                literals = bool(members) and all(isinstance(member, Literal) for member in members)
                return self._chosen(type_, members, kept=name == "Extract") if literals else None
            case _:
                return None

    def _chosen(self, type_: Written, members: tuple[Written, ...], *, kept: bool) -> Written | None:
        """Return the union of the members of a type that are, or are not, among others."""
        found = self.evaluate(type_)
        return None if found is None else union_of(m for m in alternatives(found) if (m in members) == kept)


def _joined(parts: list[Body | None]) -> Body | None:
    """Join the members of several objects; a later one overrides those before it."""
    members: dict[str, Member] = {}
    index: Written | None = None
    for part in parts:
        if part is None or part.opaque is not None:
            return None
        members |= {member.wire_name: member for member in part.properties}
        index = part.index or index
    extra = ANY if index is None else index
    return Body(properties=tuple(members.values()), extra=extra, indexed=index is not None)


def substitute(ts: Written, given: Mapping[str, Written]) -> Written:
    """Return a type with others in place of the names of parameters."""

    def inner(one: Written) -> Written:
        return substitute(one, given)

    match ts:
        case Ref(name=name):
            return given.get(name, ts)
        case Expression(operator=operator, operands=(Ref() as parameter, keys, value)) if operator in MAPPED:
            rest = {name: one for name, one in given.items() if name != parameter.name}
            return replace(ts, operands=(parameter, inner(keys), substitute(value, rest)))
        case Expression(operands=operands):
            return replace(ts, operands=tuple(map(inner, operands)))
        case ListOf(item=item):
            return replace(ts, item=inner(item))
        case Union(members=members):
            return union_of(map(inner, members))
        case AllOf(members=members):
            return replace(ts, members=tuple(map(inner, members)))
        case Body(properties=members, index=index):
            changed = tuple(replace(member, type=inner(member.type)) for member in members)
            return replace(ts, properties=changed, extra=ANY if index is None else inner(index))
        case Primitive() | Literal() | MapOf():
            return ts


def size(ts: Written) -> int:
    """Return how many types a type is made of."""
    return 1 + sum(map(size, children(ts)))
