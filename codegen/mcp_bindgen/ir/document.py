"""Fill the gaps in the documentation of a protocol from schema/docs.toml."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mcp_bindgen.ir.names import field_of, lineage
from mcp_bindgen.ir.nodes import Definition, Field, Protocol, Struct

Key: TypeAlias = tuple[str, ...]
"""The path of a line in docs.toml: ("properties", "Tool", "name"), perhaps below ("revisions", REVISION)."""


@dataclass(frozen=True, slots=True)
class DocBook:
    """The lines of docs.toml by their path."""

    lines: Mapping[Key, str] = field(default_factory=dict[Key, str])

    def definition(self, revision: str, name: str) -> tuple[Key, str] | None:
        """Return the line of a definition, and the key it was found under."""
        return self._first([("revisions", revision, "definitions", name), ("definitions", name)])

    def constant(self, name: str) -> tuple[Key, str] | None:
        """Return the line of a constant, and the key it was found under."""
        return self._first([("constants", name)])

    def property(self, revision: str, owners: Iterable[str], name: str) -> tuple[Key, str] | None:
        """Return the line of a property: `owners` are the struct and its ancestors, nearest first."""
        keys: list[Key] = []
        for owner in (*owners, "*"):
            keys += [("revisions", revision, "properties", owner, name), ("properties", owner, name)]
        return self._first(keys)

    def _first(self, keys: Iterable[Key]) -> tuple[Key, str] | None:
        return next(((key, self.lines[key]) for key in keys if key in self.lines), None)


def document(protocol: Protocol, book: DocBook) -> tuple[Protocol, tuple[str, ...]]:
    """Return the protocol with its docs filled in, and the names of undescribed things.

    Descriptions in the input file take precedence over the book.
    """
    missing: list[str] = []
    definitions = {name: _documented(d, protocol, book, missing) for name, d in protocol.definitions.items()}
    for name, definition in definitions.items():
        if not definition.doc and definition.holder:
            definitions[name] = replace(definition, doc=_holder_doc(definition, definitions))
    missing += [name for name, d in definitions.items() if not d.doc]
    constants = tuple(replace(c, doc=c.doc or _line(book.constant(c.name))) for c in protocol.constants)
    missing += [c.name for c in constants if not c.doc]
    documented = replace(protocol, definitions=definitions, constants=constants)
    silent = frozenset(name for name, doc in _docs(protocol) if not doc)
    glossed = frozenset(name for name, doc in _docs(documented) if doc and name in silent)
    return replace(documented, glossed=glossed), tuple(missing)


def _docs(protocol: Protocol) -> Iterator[tuple[str, str]]:
    """Iterate over everything that can be described, each by its name, and what describes it."""
    for name, definition in protocol.definitions.items():
        yield name, definition.doc
        for member in definition.fields if isinstance(definition, Struct) else ():
            yield f"{name}.{member.wire_name}", member.doc
    for constant in protocol.constants:
        yield constant.name, constant.doc


def _documented(definition: Definition, protocol: Protocol, book: DocBook, missing: list[str]) -> Definition:
    doc = definition.doc or _line(book.definition(protocol.revision, definition.name))
    if not isinstance(definition, Struct):
        return replace(definition, doc=doc)
    fields = tuple(_documented_field(f, definition, protocol, book) for f in definition.fields)
    missing += [f"{definition.name}.{f.wire_name}" for f in fields if not f.doc]
    return replace(definition, doc=doc, fields=fields)


def _documented_field(field: Field, struct: Struct, protocol: Protocol, book: DocBook) -> Field:
    if field.doc:
        return field
    found = book.property(protocol.revision, owners(struct, protocol), field.wire_name)
    return replace(field, doc=_line(found) if found else _inherited_doc(struct, field, protocol))


def _inherited_doc(struct: Struct, field: Field, protocol: Protocol) -> str:
    """Return what the input says about a property where the struct inherits it, or before the struct narrows it."""
    for name in lineage(struct.name, protocol.definitions):
        inherited = field_of(name, field.wire_name, protocol.definitions)
        if inherited is not None and inherited.doc:
            return inherited.doc
    return ""


def owners(struct: Struct, protocol: Protocol) -> tuple[str, ...]:
    """Return the struct and the types whose documentation it shares, nearest first.

    Params that stand inline share that of the params which their message inherits.
    """
    names = (struct.name, *lineage(struct.name, protocol.definitions))
    if not struct.holder.endswith("Request.params") and not struct.holder.endswith("Notification.params"):
        return names
    kind = "Request" if struct.holder.endswith("Request.params") else "Notification"
    return (*names, f"{kind}Params")


def _holder_doc(inline: Definition, definitions: dict[str, Definition]) -> str:
    """An inline object has the description of its property, or of the alias that it is a form of."""
    if inline.holder in definitions:
        return definitions[inline.holder].doc
    for definition in definitions.values():
        if isinstance(definition, Struct):
            path = definition.holder or definition.name
            if inline.holder.startswith(f"{path}.") and (field := definition.field(inline.holder[len(path) + 1 :])):
                return field.doc
    return ""


def _line(found: tuple[Key, str] | None) -> str:
    return found[1] if found else ""
