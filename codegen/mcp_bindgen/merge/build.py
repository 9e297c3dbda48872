"""Build the definitions of the IR from declarations: inline objects get names, inheritance is resolved."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.ingest.shapes import AllOf, AnyOf, Array, Declaration, Object, Property, Record, Shape, references
from mcp_bindgen.ir.names import inline_name
from mcp_bindgen.ir.nodes import Alias, Definition, Field, ListOf, MapOf, Struct, TypeRef, Union
from mcp_bindgen.ir.spell import is_any
from mcp_bindgen.leaves import ANY, Base, Literal, Primitive, Ref
from mcp_bindgen.merge.flatten import Declarations, Flat, flatten
from mcp_bindgen.merge.spell import spell


def build(declarations: Declarations, source: str, diagnostics: Diagnostics) -> dict[str, Definition]:
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
    def __init__(self, declarations: Declarations, source: str, diagnostics: Diagnostics) -> None:
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
        for base in declaration.type.bases if isinstance(declaration.type, Object) else ():
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
        """Make the definition of a declaration, and those of the objects that it holds inline."""
        shape = self._joined(declaration.type, declaration)
        if isinstance(shape, Object):
            shell = Struct(
                name=declaration.name,
                fields=(),
                own=(),
                doc=declaration.doc,
                deprecated=declaration.deprecated,
                internal=declaration.internal,
                category=declaration.category,
            )
            self._struct(shape, declaration, shell, path=declaration.name)
            return
        alias = Alias(
            name=declaration.name,
            type=ANY,
            doc=declaration.doc,
            deprecated=declaration.deprecated,
            internal=declaration.internal,
            category=declaration.category,
        )
        # The place in the order comes first: what the alias holds inline follows it.
        self._definitions[alias.name] = alias
        lifted = self._lift(shape, alias.name, "Item", alias.name, declaration)
        self._definitions[alias.name] = replace(alias, type=lifted)

    def _struct(self, shape: Object, declaration: Declaration, shell: Struct, *, path: str) -> None:
        name = shell.name
        self._definitions[name] = shell
        fields = tuple(self._field(p, name, f"{path}.{p.wire_name}", declaration) for p in shape.properties)
        extra = self._lift(shape.extra, name, "Extra", f"{path}.*", declaration) if shape.extra else None
        own = tuple(p.wire_name for p in shape.properties)
        self._definitions[name] = replace(
            shell, fields=fields, own=own, bases=shape.bases, extra=extra, indexed=shape.indexed
        )

    def _field(self, property_: Property, holder: str, path: str, declaration: Declaration) -> Field:
        return Field(
            wire_name=property_.wire_name,
            type=self._lift(property_.type, holder, property_.wire_name, path, declaration),
            required=property_.required,
            doc=property_.doc,
            deprecated=property_.deprecated,
        )

    def _joined(self, shape: Shape, declaration: Declaration) -> Shape:
        """Turn an intersection into an object that extends its named members and has the properties of the others."""
        if not isinstance(shape, AllOf):
            return shape
        bases: list[Base] = []
        properties: dict[str, Property] = {}
        extra: Shape | None = ANY
        for member in shape.members:
            if isinstance(member, Ref) and flatten(member, self._declarations, self._flat):
                bases.append(Base(name=member.name))
            elif (
                isinstance(member, Object)
                and not member.bases
                and not properties.keys() & {p.wire_name for p in member.properties}
            ):
                properties |= {p.wire_name: p for p in member.properties}
                extra = member.extra if extra == ANY else extra
            elif not (isinstance(member, Record) and member.value == ANY):
                self._diagnostics.error(
                    self._where(declaration),
                    f"{spell(shape)} has no type in Python; an intersection joins object types",
                )
        return Object(properties=tuple(properties.values()), bases=tuple(bases), extra=extra)

    def _lift(self, shape: Shape, holder: str, member: str, path: str, declaration: Declaration) -> TypeRef:
        """Turn a shape into a type: inline objects become references to structs with names of their own."""
        match shape:
            case Primitive() | Literal() | Ref():
                return shape
            case Array(item=item, bounds=bounds):
                return ListOf(item=self._lift(item, holder, member, path, declaration), bounds=bounds)
            case Record(value=value, bounds=bounds):
                return MapOf(value=self._lift(value, holder, member, path, declaration), bounds=bounds)
            case AnyOf(members=members):
                return _union(self._lift(m, holder, member, path, declaration) for m in members)
            case AllOf():
                return self._lift(self._joined(shape, declaration), holder, member, path, declaration)
            case Object():
                name = self._free_name(inline_name(holder, member), declaration)
                self._struct(shape, declaration, Struct(name=name, fields=(), own=(), holder=path), path=path)
                return Ref(name=name)

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


def _union(members: Iterable[TypeRef]) -> TypeRef:
    """Make a union of the members, nested unions flattened and repetitions dropped."""
    flat: dict[TypeRef, None] = {}
    for member in members:
        flat.update(dict.fromkeys(member.members if isinstance(member, Union) else (member,)))
    return next(iter(flat)) if len(flat) == 1 else Union(members=tuple(flat))


def _immediate(shape: Shape) -> Iterator[str]:
    match shape:
        case Ref(name=name):
            yield name
        case AnyOf(members=members) | AllOf(members=members):
            for member in members:
                yield from _immediate(member)
        case Object(bases=bases):
            yield from (base.name for base in bases)
        case Primitive() | Literal() | Array() | Record():
            return
