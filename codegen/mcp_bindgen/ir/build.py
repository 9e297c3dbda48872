"""Build the definitions of the IR from declarations: inline objects get names, inheritance is resolved."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.ingest.json_schema import union
from mcp_bindgen.ir.compare import Flat, flatten
from mcp_bindgen.ir.names import inline_name
from mcp_bindgen.ir.nodes import (
    Alias,
    Base,
    Declaration,
    Definition,
    Field,
    Intersection,
    Kind,
    ListOf,
    Literal,
    MapOf,
    ObjectOf,
    Primitive,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import is_any, spell


def build(declarations: Mapping[str, Declaration], source: str, diagnostics: Diagnostics) -> dict[str, Definition]:
    """Turn declarations into definitions, in their order, each followed by the inline objects that it holds."""
    builder = _Builder(declarations, source, diagnostics)
    for declaration in declarations.values():
        builder.check(declaration)
    if diagnostics.errors:
        return {}
    for declaration in declarations.values():
        builder.define(declaration)
    return builder.flattened()


class _Builder:
    def __init__(self, declarations: Mapping[str, Declaration], source: str, diagnostics: Diagnostics) -> None:
        self._declarations = declarations
        self._source = source
        self._diagnostics = diagnostics
        self._definitions: dict[str, Definition] = {}
        self._flat: dict[str, Flat | None] = {}
        self._has_circle = self._find_circle()

    def _where(self, declaration: Declaration) -> Location:
        return Location(source=self._source, pointer=declaration.pointer or f"/{declaration.name}")

    def check(self, declaration: Declaration) -> None:
        """Report references that lead nowhere, bases that are no objects, and types that are defined by themselves."""
        where = self._where(declaration)
        for name in sorted(set(references(declaration.type)) - self._declarations.keys()):
            self._diagnostics.error(where, f"no definition is called {name!r}")
        for base in declaration.type.bases if isinstance(declaration.type, ObjectOf) else ():
            if base.name in self._declarations and flatten(Ref(name=base.name), self._declarations, self._flat) is None:
                message = f"{declaration.name!r} extends {base.name!r}, which is no object type"
                self._diagnostics.error(where, message)
        if self._has_circle and declaration.name in self._defining(declaration.name):
            self._diagnostics.error(where, f"{declaration.name!r} is defined by itself; break the circle")

    def _find_circle(self) -> bool:
        """Whether any type is defined by itself: one look at all of them, so that good input is not walked per name."""
        graph = {name: set(_immediate(declaration.type)) for name, declaration in self._declarations.items()}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            return True
        return False

    def _defining(self, name: str) -> set[str]:
        """The names that must be known before this type is: aliased types, union members, bases."""
        found: set[str] = set()
        pending = [name]
        while pending:
            declaration = self._declarations.get(pending.pop())
            direct = set(_immediate(declaration.type)) if declaration else set[str]()
            pending += direct - found
            found |= direct
        return found

    def define(self, declaration: Declaration) -> None:
        type_ = self._objectified(declaration.type, declaration)
        if isinstance(type_, ObjectOf):
            self._struct(type_, declaration, self._shell(declaration, type_), path=declaration.name)
            return
        alias = Alias(
            name=declaration.name,
            type=type_,
            doc=declaration.doc,
            deprecated=declaration.deprecated,
            internal=declaration.internal,
            category=declaration.category,
        )
        # The place in the order comes first: what the alias holds inline follows it.
        self._definitions[alias.name] = alias
        lifted = self._lift(type_, alias.name, "Item", alias.name, declaration)
        self._definitions[alias.name] = replace(alias, type=lifted)

    def _shell(self, declaration: Declaration, type_: ObjectOf) -> Struct:
        return Struct(
            name=declaration.name,
            fields=(),
            own=tuple(f.wire_name for f in type_.fields),
            bases=type_.bases,
            doc=declaration.doc,
            deprecated=declaration.deprecated,
            internal=declaration.internal,
            category=declaration.category,
        )

    def _struct(self, type_: ObjectOf, declaration: Declaration, shell: Struct, *, path: str) -> None:
        name = shell.name
        self._definitions[name] = shell
        fields = tuple(
            replace(f, type=self._lift(f.type, name, f.wire_name, f"{path}.{f.wire_name}", declaration))
            for f in type_.fields
        )
        extra = self._lift(type_.extra, name, "Extra", f"{path}.*", declaration) if type_.extra else None
        self._definitions[name] = replace(shell, fields=fields, extra=extra, indexed=type_.indexed)

    def _objectified(self, type_: TypeRef, declaration: Declaration) -> TypeRef:
        """Turn an intersection into an object that extends its named members and has the members of the others."""
        if not isinstance(type_, Intersection):
            return type_
        bases: list[Base] = []
        fields: dict[str, Field] = {}
        extra: TypeRef | None = Primitive(kind=Kind.ANY)
        for member in type_.members:
            if isinstance(member, Ref) and flatten(member, self._declarations, self._flat):
                bases.append(Base(name=member.name))
            elif (
                isinstance(member, ObjectOf)
                and not member.bases
                and not fields.keys() & {f.wire_name for f in member.fields}
            ):
                fields |= {f.wire_name: f for f in member.fields}
                extra = member.extra if extra is None or is_any(extra) else extra
            elif not (isinstance(member, MapOf) and is_any(member.value)):
                self._diagnostics.error(
                    self._where(declaration),
                    f"{spell(type_)} has no type in Python; an intersection joins object types",
                )
        return ObjectOf(fields=tuple(fields.values()), bases=tuple(bases), extra=extra)

    def _lift(self, type_: TypeRef, holder: str, member: str, path: str, declaration: Declaration) -> TypeRef:
        """Replace inline objects by references to structs with names of their own."""
        type_ = self._objectified(type_, declaration)
        match type_:
            case Primitive() | Literal() | Ref():
                return type_
            case ListOf(item=item):
                return replace(type_, item=self._lift(item, holder, member, path, declaration))
            case MapOf(value=value):
                return replace(type_, value=self._lift(value, holder, member, path, declaration))
            case Union(members=members):
                return union([self._lift(m, holder, member, path, declaration) for m in members])
            case ObjectOf():
                name = self._free_name(inline_name(holder, member), declaration)
                own = tuple(f.wire_name for f in type_.fields)
                shell = Struct(name=name, fields=(), own=own, bases=type_.bases, holder=path)
                self._struct(type_, declaration, shell, path=path)
                return Ref(name=name)
            case Intersection():
                raise AssertionError("an intersection became an object above")

    def _free_name(self, wanted: str, declaration: Declaration) -> str:
        taken = self._definitions.keys() | self._declarations.keys()
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}{number}", number + 1
        if name != wanted:
            where = self._where(declaration)
            self._diagnostics.warning(where, f"an inline object is called {name}, because {wanted} is taken")
        return name

    def flattened(self) -> dict[str, Definition]:
        """Give every struct the members of its bases, in front of its own."""
        done: dict[str, Struct] = {}
        result: dict[str, Definition] = {}
        for name, definition in self._definitions.items():
            result[name] = self._flattened(definition, done) if isinstance(definition, Struct) else definition
        return result

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
    """Join a member that two bases declare: it is required if one of them requires it."""
    return replace(second, required=first.required or second.required)


def references(type_: TypeRef) -> Iterator[str]:
    """Iterate over the names that a type refers to, those of its bases included."""
    match type_:
        case Primitive() | Literal():
            return
        case Ref(name=name):
            yield name
        case ListOf(item=inner) | MapOf(value=inner):
            yield from references(inner)
        case Union(members=members) | Intersection(members=members):
            for member in members:
                yield from references(member)
        case ObjectOf(fields=fields, bases=bases, extra=extra):
            yield from (base.name for base in bases)
            for field in fields:
                yield from references(field.type)
            if extra is not None:
                yield from references(extra)


def _immediate(type_: TypeRef) -> Iterator[str]:
    match type_:
        case Ref(name=name):
            yield name
        case Union(members=members) | Intersection(members=members):
            for member in members:
                yield from _immediate(member)
        case ObjectOf(bases=bases):
            yield from (base.name for base in bases)
        case Primitive() | Literal() | ListOf() | MapOf():
            return
