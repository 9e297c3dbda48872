"""Views of the model modules: one class per struct, one alias per other definition."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.inheritance import Inheritance
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.spelling import ABSENT, ABSENT_TYPE, NONE, PAGE, Speller, constant, either
from mcp_bindgen.ir.facts import admits_null
from mcp_bindgen.ir.history import NO_HISTORY, History
from mcp_bindgen.ir.leaves import is_json_schema
from mcp_bindgen.ir.names import closure, place_of, references
from mcp_bindgen.ir.nodes import Definition, Field, Primitive, Protocol, Struct, TypeRef
from mcp_bindgen.ir.spell import is_any

SITE = "https://modelcontextprotocol.io/specification"
REPOSITORY = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema"


class ClassViews:
    """Makes the views of the definitions of one protocol; `link` is the URL that specifies all of them, if one does."""

    def __init__(
        self,
        protocol: Protocol,
        names: Names,
        speller: Speller,
        inheritance: Inheritance,
        modules: Mapping[str, str],
        *,
        history: History = NO_HISTORY,
        link: str | None = None,
    ) -> None:
        self._protocol = protocol
        self._names = names
        self._speller = speller
        self._inheritance = inheritance
        self._modules = modules
        self._history = history
        self._stated_link = link
        structs = [definition for definition in protocol.definitions.values() if isinstance(definition, Struct)]
        self._pages = {method.result for method in protocol.methods if method.paginated}
        self._has_bytes = any(names.attribute(s, field.wire_name) == "bytes" for s in structs for field in s.fields)

    def modules(self) -> Iterator[views.Module]:
        """Iterate over the modules by name, with definitions ordered so that each follows its dependencies."""
        for module in sorted(set(self._modules.values())):
            ordered = self._ordered({name: home for name, home in self._modules.items() if home == module})
            definitions = [self._definition(name, ordered[index:]) for index, name in enumerate(ordered)]
            yield views.Module(name=module, definitions=tuple(definitions))

    def _ordered(self, names: Collection[str]) -> list[str]:
        """Sort by dependencies, otherwise as in schema.ts; a recursive alias is quoted and has no dependencies."""
        done: dict[str, None] = {}

        def visit(name: str, path: frozenset[str]) -> None:
            if name in done or name in path or name not in names:
                return
            if self._is_recursive(name):
                done[name] = None
            for other in self._inheritance.needs(self._protocol.definitions[name]):
                visit(other, path | {name})
            done[name] = None

        for name in names:
            visit(name, frozenset())
        return list(done)

    def _is_recursive(self, name: str) -> bool:
        """Whether a definition is an alias that refers to itself only through aliases."""
        return name in closure(self._aliased(name), self._aliased)

    def _aliased(self, name: str) -> Iterable[str]:
        definition = self._protocol.definitions[name]
        return () if isinstance(definition, Struct) else references(definition.type)

    def _definition(self, name: str, pending: Collection[str]) -> views.Class | views.Alias:
        definition = self._protocol.definitions[name]
        if isinstance(definition, Struct):
            return self._class(definition, pending)
        return views.Alias(
            name=self._names.classes[name],
            definition=name,
            type=self._speller.annotation(definition.type),
            plain=self._speller.static(definition.type),
            schema_type=definition.type,
            is_forward=self._is_forward(definition.type, pending),
            doc=definition.doc,
            link=self._link(definition),
            is_deprecated=definition.deprecated,
            history=self._history.noted(name),
            where=place_of(self._protocol, definition),
        )

    def _class(self, struct: Struct, pending: Collection[str]) -> views.Class:
        bases = self._inheritance.bases(struct)
        own = self._inheritance.own_fields(struct)
        fields = tuple(self._field(struct, field, pending) for field in struct.fields)
        states_extra = struct.extra is not None and not is_any(struct.extra) and not bases
        return views.Class(
            name=self._names.classes[struct.name],
            definition=struct.name,
            bases=(*map(self._speller.reference, bases), *((PAGE,) if struct.name in self._pages else ())),
            doc=struct.doc,
            link=self._link(struct),
            is_deprecated=struct.deprecated,
            history=self._history.noted(struct.name),
            where=place_of(self._protocol, struct),
            is_closed=struct.extra is None,
            extra=self._speller.annotation(struct.extra) if struct.extra is not None and states_extra else None,
            fields=tuple(field for field in fields if field.wire_name in own),
            every_field=fields,
            takes_mappings=any(field.is_schema for field in fields) and all(field.name != "self" for field in fields),
            binary=self._binary(fields, own),
        )

    def _binary(self, fields: Collection[views.Field], own: Collection[str]) -> str:
        """Return the field that contains base64-encoded bytes, if the model declares one and the name is free."""
        spelled = [field.name for field in fields if field.is_required and _is_base64(field.schema_type)]
        declared = [field.name for field in fields if field.wire_name in own and field.name in spelled]
        return declared[0] if len(spelled) == len(declared) == 1 and not self._has_bytes else ""

    def _field(self, struct: Struct, field: Field, pending: Collection[str]) -> views.Field:
        name = self._names.attribute(struct, field.wire_name)
        nullable = not field.required and admits_null(self._protocol, field.type)
        type_ = self._speller.annotation(field.type)
        default = None
        place = f"{struct.name}.{field.wire_name}"
        if field.required and field.constant:
            default = constant(field.constant.values[0])
        elif place in self._protocol.defaults:
            default = constant(self._protocol.defaults[place])
        elif nullable:
            type_, default = either(type_, ABSENT_TYPE), ABSENT
        elif not field.required:
            type_, default = either(type_, NONE), NONE
        return views.Field(
            name=name,
            wire_name=field.wire_name,
            type=type_,
            plain=self._speller.static(field.type),
            schema_type=field.type,
            default=default,
            is_required=field.required,
            is_constant=field.is_constant,
            is_defaulted=place in self._protocol.defaults,
            is_schema=self._is_schema(field.type),
            is_nullable=nullable,
            needs_alias=self._names.needs_alias(struct, field.wire_name),
            is_forward=self._is_forward(field.type, pending),
            doc=field.doc,
            is_deprecated=field.deprecated,
            history=self._history.noted_property(struct.name, field.wire_name),
            where=place_of(self._protocol, struct, field.wire_name),
        )

    def _is_schema(self, type_: TypeRef) -> bool:
        target = self._protocol.resolve(type_)
        return isinstance(target, Struct) and is_json_schema("properties", target)

    def _is_forward(self, type_: TypeRef, pending: Collection[str]) -> bool:
        return any(name in pending for name in references(type_))

    def _link(self, definition: Definition) -> str:
        """Return the URL of a definition's official page, or of its schema.ts if the page omits it.

        The URL of an inline object is that of the definition which contains it. An extension has a single page.
        """
        if self._stated_link is not None:
            return self._stated_link
        name = (definition.holder or definition.name).partition(".")[0]
        described = self._protocol.definitions.get(name)
        if described is not None and described.category:
            return f"{SITE}/{self._protocol.revision}/schema#{name.lower()}"
        return f"{REPOSITORY}/{self._protocol.revision}/schema.ts"


def _is_base64(type_: TypeRef) -> bool:
    return isinstance(type_, Primitive) and type_.format == "byte"
