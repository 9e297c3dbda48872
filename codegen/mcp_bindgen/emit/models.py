"""Views of the model modules: one class per struct, one assignment per alias."""

from collections.abc import Iterable, Mapping, Sequence

from mcp_bindgen.emit.layout import dependencies
from mcp_bindgen.emit.names import Names, default_wire_name
from mcp_bindgen.emit.text import docstring
from mcp_bindgen.emit.types import Speller
from mcp_bindgen.emit.view import Import, Item
from mcp_bindgen.ir.nodes import Alias, Definition, Field, Literal, Protocol, Struct
from mcp_bindgen.ir.spell import is_any

SITE = "https://modelcontextprotocol.io/specification"
REPOSITORY = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema"


class ModelViews:
    """Makes the views of the definitions of one protocol."""

    def __init__(self, protocol: Protocol, names: Names, speller: Speller, modules: Mapping[str, str]) -> None:
        self.protocol = protocol
        self.names = names
        self.speller = speller
        self.modules = modules
        self._bases: dict[str, tuple[str, ...]] = {}

    def items(self, module: str) -> tuple[Item, ...]:
        """Return the statements of a module, each after what it needs."""
        ordered = self._ordered([name for name, home in self.modules.items() if home == module])
        defined: set[str] = set()
        items: list[Item] = []
        for name in ordered:
            definition = self.protocol.definitions[name]
            pending = {other for other in ordered if other not in defined}
            items.append(self._item(definition, pending))
            defined.add(name)
        return tuple(items)

    def imports(self, module: str) -> tuple[Import, ...]:
        """Return what a module takes from the others."""
        needed: dict[str, set[str]] = {}
        for name, home in self.modules.items():
            if home == module:
                for other in self._mentioned(self.protocol.definitions[name]):
                    if self.modules[other] != module:
                        needed.setdefault(self.modules[other], set()).add(self.names.classes[other])
        return tuple(Import(module=home, names=tuple(sorted(needed[home]))) for home in sorted(needed))

    def python_bases(self, struct: Struct) -> tuple[str, ...]:
        """Return the structs that the class inherits: the nearest whose every member it takes unchanged."""
        if struct.name not in self._bases:
            self._bases[struct.name] = self._find_bases(struct)
        return self._bases[struct.name]

    def _find_bases(self, struct: Struct) -> tuple[str, ...]:
        found: list[str] = []
        for base in struct.bases:
            found += [name for name in self._faithful(struct, base.name) if name not in found]
        ancestors = {name for base in found for name in self._ancestors(base)}
        kept = tuple(base for base in found if base not in ancestors)
        return kept if _linearizes([self._mro(base) for base in kept], kept) else kept[:1]

    def _faithful(self, struct: Struct, base: str) -> list[str]:
        parent = self._struct(base)
        if parent is None:
            return []
        if parent.fields and self._is_unchanged(parent, struct):
            return [parent.name]
        return [name for grand in parent.bases for name in self._faithful(struct, grand.name)]

    def _is_unchanged(self, parent: Struct, child: Struct) -> bool:
        if parent.extra != child.extra:
            return False
        for field in parent.fields:
            own = child.field(field.wire_name)
            if own is None or own.type != field.type or own.required != field.required:
                return False
            if self.names.attribute(parent, field.wire_name) != self.names.attribute(child, field.wire_name):
                return False
        return True

    def _struct(self, name: str) -> Struct | None:
        definition = self.protocol.definitions[name]
        if isinstance(definition, Struct):
            return definition
        target = self.protocol.resolve(definition.type)
        return target if isinstance(target, Struct) else None

    def _ancestors(self, name: str) -> set[str]:
        struct = self._struct(name)
        direct = set(self.python_bases(struct)) if struct else set[str]()
        return direct | {name for base in direct for name in self._ancestors(base)}

    def _mro(self, name: str) -> list[str]:
        struct = self._struct(name)
        bases = self.python_bases(struct) if struct else ()
        return [name, *_merged([self._mro(base) for base in bases], bases)]

    def _mentioned(self, definition: Definition) -> Iterable[str]:
        """What the Python statement of a definition names: its types, and the bases that it really inherits."""
        if isinstance(definition, Struct):
            bases = self.python_bases(definition)
            yield from bases
            own = set(self._own_fields(definition, bases))
            for field in definition.fields:
                if field.wire_name in own:
                    yield from dependencies(Alias(name="", type=field.type))
            if definition.extra is not None:
                yield from dependencies(Alias(name="", type=definition.extra))
        else:
            yield from dependencies(definition)

    def _own_fields(self, struct: Struct, bases: Sequence[str]) -> list[str]:
        inherited = {f.wire_name for base in bases if (parent := self._struct(base)) for f in parent.fields}
        return [f.wire_name for f in struct.fields if f.wire_name not in inherited]

    def _ordered(self, names: list[str]) -> list[str]:
        """Sort by what needs what, else by name; in a circle the first by name goes first."""
        done: dict[str, None] = {}

        def visit(name: str, path: frozenset[str]) -> None:
            if name in done or name in path or name not in names:
                return
            for other in sorted(set(self._mentioned(self.protocol.definitions[name]))):
                visit(other, path | {name})
            done[name] = None

        for name in sorted(names):
            visit(name, frozenset())
        return list(done)

    def _item(self, definition: Definition, pending: set[str]) -> Item:
        return self._class(definition, pending) if isinstance(definition, Struct) else self._alias(definition, pending)

    def _alias(self, alias: Alias, pending: set[str]) -> Item:
        name = self.names.classes[alias.name]
        spelled = self.speller.annotation(alias.type)
        if pending & set(dependencies(alias)):
            head = f"{name} = _TypeAliasType({name!r}, {spelled!r})"
        else:
            head = f"{name}: _TypeAlias = {spelled}"
        return Item(name=name, head=head, doc="\n".join(docstring(self._about(alias), 0)))

    def _class(self, struct: Struct, pending: set[str]) -> Item:
        name = self.names.classes[struct.name]
        bases = self.python_bases(struct)
        spelled = ", ".join(self.names.classes[base] for base in bases) or "_m.WireModel"
        lines = self._openness(struct, bases)
        for wire_name in self._own_fields(struct, bases):
            field = struct.field(wire_name)
            if field is not None:
                lines += self._field(struct, field, pending)
        return Item(
            name=name,
            head=f"class {name}({spelled}):",
            doc="\n".join(docstring(self._about(struct), 4)),
            lines=tuple(lines),
        )

    def _openness(self, struct: Struct, bases: Sequence[str]) -> list[str]:
        if struct.extra is None:
            return ['    model_config = _ConfigDict(extra="forbid")', ""]
        if is_any(struct.extra) or bases:
            return []
        # Type checkers know the type that pydantic gives it, which no other may replace.
        extra = f"        __pydantic_extra__: _dict[_str, {self.speller.annotation(struct.extra)}]"
        return ["    if not _typing.TYPE_CHECKING:", extra, ""]

    def _field(self, struct: Struct, field: Field, pending: set[str]) -> list[str]:
        attribute = self.names.attribute(struct, field.wire_name)
        spelled = self.speller.annotation(field.type)
        marks: list[str] = []
        default = ""
        if field.required and isinstance(field.type, Literal) and len(field.type.values) == 1:
            marks, default = ["_m.CONST"], f" = {field.type.values[0]!r}"
        elif not field.required and self.speller.admits_null(field.type):
            marks, default = ["_m.NULLABLE"], " = _m.ABSENT"
            spelled = spelled if is_any(field.type) else f"{spelled} | _m.Absent"
        elif not field.required:
            marks, default = ["_m.OPTIONAL"], " = None"
            spelled = f"{spelled} | None"
        if default_wire_name(attribute) != field.wire_name:
            marks.append(f"_Field(alias={field.wire_name!r})")
        annotation = f"_Annotated[{', '.join([spelled, *marks])}]" if marks else spelled
        if pending & set(dependencies(Alias(name="", type=field.type))):
            annotation = repr(annotation)
        doc = field.doc
        if field.deprecated:
            doc += f"\n\nDeprecated in revision {self.protocol.revision}."
        lines = [f"    {attribute}: {annotation}{default}"]
        return [*lines, *docstring(doc, 4)] if doc.strip() else lines

    def _about(self, definition: Definition) -> str:
        parts = [definition.doc or f"{definition.name} of the protocol."]
        if definition.deprecated:
            parts.append(f"Deprecated in revision {self.protocol.revision}.")
        holder = definition.holder if isinstance(definition, Struct) else ""
        parts.append(self._link((holder or definition.name).partition(".")[0]))
        return "\n\n".join(part for part in parts if part)

    def _link(self, name: str) -> str:
        """Link to the official page of a definition, or to its schema.ts where the page leaves it out."""
        definition = self.protocol.definitions.get(name)
        if definition is not None and definition.category:
            return f"See {SITE}/{self.protocol.revision}/schema#{name.lower()}"
        return f"See {REPOSITORY}/{self.protocol.revision}/schema.ts"


def _linearizes(orders: list[list[str]], bases: Sequence[str]) -> bool:
    everything = {name for order in orders for name in order}
    return set(_merged(orders, bases)) >= everything


def _merged(orders: list[list[str]], bases: Sequence[str]) -> list[str]:
    """Merge method resolution orders as Python does (C3); stops early where there is none."""
    pending: list[list[str]] = [list(order) for order in [*orders, list(bases)] if order]
    merged: list[str] = []
    while pending:
        head = next((o[0] for o in pending if not any(o[0] in other[1:] for other in pending)), None)
        if head is None:
            return merged
        merged.append(head)
        pending = [rest for order in pending if (rest := [name for name in order if name != head])]
    return merged
