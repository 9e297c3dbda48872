"""Build the definitions of the IR from declarations: inline objects get names, inheritance is resolved."""

from collections.abc import Iterator
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.names import closure, inline_name, references, unique
from mcp_bindgen.ir.nodes import (
    ANY,
    Alias,
    AllOf,
    Definition,
    Field,
    ListOf,
    Literal,
    MapOf,
    Object,
    Opaque,
    Primitive,
    Ref,
    Shape,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import is_any
from mcp_bindgen.merge.flatten import Declarations, Flat, flatten, resolve
from mcp_bindgen.merge.join import Joiner


def check(declarations: Declarations, source: str, diagnostics: Diagnostics) -> None:
    """Report undefined references, bases that are not objects, and circular definitions."""
    known: dict[str, Flat | None] = {}
    graph = {name: set(_immediate(declaration.type)) for name, declaration in declarations.items()}
    try:
        TopologicalSorter(graph).prepare()  # In a single pass, so that valid input is not walked once per name.
        has_circle = False
    except CycleError:
        has_circle = True
    for name, declaration in declarations.items():
        where = Location(source=source, pointer=declaration.pointer or f"/{name}")
        for missing in sorted(set(references(declaration.type)) - declarations.keys()):
            diagnostics.error(where, f"there is no definition {missing!r}")
        for base in declaration.type.bases if isinstance(declaration.type, Object) else ():
            ref = Ref(name=base.name)
            is_object = is_any(resolve(ref, declarations)) or flatten(ref, declarations, known) is not None
            if base.name in declarations and not is_object:
                diagnostics.error(where, f"{name!r} extends {base.name!r}, which is not an object type")
        # What must be known before this type is: aliased types, union members, bases.
        if has_circle and name in closure(graph[name], lambda each: graph.get(each, ())):
            diagnostics.error(where, f"{name!r} is defined in terms of itself; break the cycle")


def _immediate(shape: Shape) -> Iterator[str]:
    match shape:
        case Ref(name=name):
            yield name
        case Union(members=members) | AllOf(members=members):
            for member in members:
                yield from _immediate(member)
        case Object(bases=bases):
            yield from (base.name for base in bases)
        case Primitive() | Literal() | ListOf() | MapOf():
            return


_STATED = ("doc", "deprecated", "internal", "category")
"""What a declaration says of itself besides its type."""
_ITEM = "Item"
"""The name of what an alias holds inline, unless it has a label."""


def build(declarations: Declarations, source: str, diagnostics: Diagnostics) -> dict[str, Definition]:
    """Turn declarations into definitions, in their order, each followed by the inline objects that it holds.

    `source` is the file that diagnostics point to where a declaration does not say its own.
    """
    check(declarations, source, diagnostics)
    if diagnostics.errors:
        return {}
    builder = _Builder(declarations, source, diagnostics)
    for declaration in declarations.values():
        builder.define(declaration)
    return builder.flattened()


class _Builder:
    def __init__(self, declarations: Declarations, source: str, diagnostics: Diagnostics) -> None:
        self._declarations = declarations
        self._source = source
        self._diagnostics = diagnostics
        self._definitions: dict[str, Definition] = {}
        self._join = Joiner(declarations, source)

    def define(self, declaration: Declaration) -> None:
        """Make the definition of a declaration, and those of the objects that it holds inline."""
        shape, name = self._join.type_of(declaration), declaration.name
        stated: dict[str, Any] = {key: getattr(declaration, key) for key in _STATED}
        if isinstance(shape, Object):
            self._struct(shape, declaration, Struct(name=name, fields=(), own=frozenset(), **stated), path=name)
            return
        # The place in the order comes first: what the alias holds inline follows it.
        self._definitions[name] = Alias(name=name, type=ANY, **stated)
        lifted = self._lift(shape, name, _ITEM, name, declaration)
        self._definitions[name] = Alias(name=name, type=lifted, **stated)

    def _struct(self, shape: Object, declaration: Declaration, shell: Struct, *, path: str) -> None:
        name = shell.name
        self._definitions[name] = shell
        fields = tuple(self._field(p, name, f"{path}.{p.wire_name}", declaration) for p in shape.properties)
        extra = self._lift(shape.extra, name, "Extra", f"{path}.*", declaration) if shape.extra else None
        own = frozenset(p.wire_name for p in shape.properties)
        self._definitions[name] = replace(
            shell, fields=fields, own=own, bases=shape.bases, extra=extra, indexed=shape.indexed, opaque=shape.opaque
        )

    def _field(self, property_: Field[Shape], holder: str, path: str, declaration: Declaration) -> Field:
        wire_name = property_.wire_name
        shape = property_.type
        if wire_name == "params" and isinstance(shape, Union):
            type_: TypeRef = self._named_params(shape, inline_name(holder, wire_name), path, declaration)
        else:
            type_ = self._lift(shape, holder, wire_name, path, declaration)
        stated: dict[str, Any] = {name: getattr(property_, name) for name in Field.__slots__ if name != "type"}
        return Field(type=type_, **stated)

    def _named_params(self, shape: Union[Shape], wanted: str, path: str, declaration: Declaration) -> Ref:
        """Name an inline union of a message's params: handlers need a single type."""
        name = self._free_name(wanted, declaration)
        self._definitions[name] = Alias(name=name, type=ANY, holder=path)
        lifted = self._lift(shape, name, _ITEM, path, declaration)
        self._definitions[name] = Alias(name=name, type=lifted, holder=path)
        return Ref(name=name)

    def _lift(self, shape: Shape, holder: str, member: str, path: str, declaration: Declaration) -> TypeRef:
        """Turn a shape into a type: inline objects become references to structs with names of their own."""
        match shape:
            case Primitive() | Literal() | Ref():
                return shape
            case ListOf(item=item, bounds=bounds, opaque=opaque):
                return ListOf(item=self._lift(item, holder, member, path, declaration), bounds=bounds, opaque=opaque)
            case MapOf(value=value, bounds=bounds, opaque=opaque):
                return MapOf(value=self._lift(value, holder, member, path, declaration), bounds=bounds, opaque=opaque)
            case Union(members=members, opaque=opaque):
                return _union([self._lift(m, holder, member, path, declaration) for m in members], opaque)
            case AllOf():
                return self._lift(self._join.shape(shape, declaration), holder, member, path, declaration)
            case Object(label=label):
                words = (label or member) if member == _ITEM else f"{member} {label}"
                name = self._free_name(inline_name(holder, words), declaration)
                self._struct(shape, declaration, Struct(name=name, fields=(), own=frozenset(), holder=path), path=path)
                return Ref(name=name)

    def _free_name(self, wanted: str, declaration: Declaration) -> str:
        name = unique(wanted, self._definitions.keys() | self._declarations.keys())
        if name != wanted:
            where = Location(source=self._source, pointer=declaration.pointer or f"/{declaration.name}")
            self._diagnostics.warning(where, f"an inline object is named {name}, because {wanted} is taken")
        return name

    def flattened(self) -> dict[str, Definition]:
        """Add the properties of its bases to every struct, before its own."""
        done: dict[str, Struct] = {}
        found = self._definitions.items()
        return {name: self._flattened(each, done) if isinstance(each, Struct) else each for name, each in found}

    def _flattened(self, struct: Struct, done: dict[str, Struct]) -> Struct:
        if struct.name in done:
            return done[struct.name]
        fields: dict[str, Field] = {}
        extra, indexed = struct.extra, struct.indexed
        for base in struct.bases:
            parent = self._base_struct(base.name)
            if isinstance(parent, Struct):
                parent = self._flattened(parent, done)
                inherited = {f.wire_name: f for f in parent.fields if f.wire_name not in base.omitted}
                fields = {**fields, **{n: _both(fields[n], f) if n in fields else f for n, f in inherited.items()}}
                extra = parent.extra if extra is not None and is_any(extra) else extra
                indexed = indexed or parent.indexed
            elif isinstance(parent, Alias) and isinstance(parent.type, MapOf) and extra is not None and is_any(extra):
                extra = parent.type.value
        fields |= {f.wire_name: f for f in struct.fields}
        done[struct.name] = replace(struct, fields=tuple(fields.values()), extra=extra, indexed=indexed)
        return done[struct.name]

    def _base_struct(self, name: str) -> Definition | None:
        target = self._definitions.get(name)
        while isinstance(target, Alias) and isinstance(target.type, Ref):
            target = self._definitions.get(target.type.name)
        return target


def _both(first: Field, second: Field) -> Field:
    """Join a property that two bases declare: it is required if one of them requires it."""
    return replace(second, required=first.required or second.required)


def _union(members: list[TypeRef], opaque: Opaque | None) -> TypeRef:
    """Make a union of the members, repetitions dropped."""
    flat = tuple(dict.fromkeys(members))
    return flat[0] if len(flat) == 1 else Union(members=flat, opaque=opaque)
