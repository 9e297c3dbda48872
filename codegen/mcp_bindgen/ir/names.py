"""Names of the IR: those of inline objects, those that types refer to, and what names and constants reveal."""

import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar, overload

from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.nodes import (
    Alias,
    AllOf,
    Definition,
    Field,
    ListOf,
    Literal,
    MapOf,
    Object,
    Primitive,
    Protocol,
    Ref,
    Shape,
    Struct,
    TypeRef,
    Union,
)

ENVELOPE = ("id", "jsonrpc")
"""The properties of JSON-RPC that a message has, and whose declaration differs by revision."""
Node = TypeVar("Node", bound=Hashable)
_WORD = re.compile(r"[A-Za-z0-9]+")


def pascal(text: str) -> str:
    """Join the words of a text as a type's name: ``input schema`` gives ``InputSchema``."""
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(text))


def unique(name: str, taken: Container[str]) -> str:
    """Return a name, with a number if it is taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}{number}", number + 1
    return found


def closure(roots: Iterable[Node], edges: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """Return names, or other nodes of a graph, and all that they lead to."""
    found = set(roots)
    pending = list(found)
    while pending:
        fresh = set(edges(pending.pop())) - found
        found |= fresh
        pending += fresh
    return found


def inline_name(holder: str, wire_name: str) -> str:
    """Name the inline object type of a property: ``Tool`` and ``inputSchema`` give ``ToolInputSchema``."""
    return holder + (pascal(wire_name) or "Member")


def field_of(owner: str, name: str, definitions: Mapping[str, Definition]) -> Field | None:
    """Return a property of a definition; None unless that is an object which has it."""
    definition = definitions.get(owner)
    return definition.field(name) if isinstance(definition, Struct) else None


def methods_of(definition: Definition | None) -> tuple[str, ...]:
    """Return the methods that a message may have; none if a definition is not a message with a closed set of them."""
    field = definition.field("method") if isinstance(definition, Struct) else None
    values = field.type.values if field and field.required and isinstance(field.type, Literal) else ()
    return tuple(value for value in values if isinstance(value, str))


def method_constant(definition: Definition | None) -> str | None:
    """Return the method of a message, or None if a definition is not a message of one method."""
    methods = methods_of(definition)
    return methods[0] if len(methods) == 1 else None


def reference(type_: TypeRef) -> str | None:
    """Return the name that a type refers to, or None if it is not a reference."""
    return type_.name if isinstance(type_, Ref) else None


def types_of(definition: Definition) -> tuple[TypeRef, ...]:
    """Return the types that a definition states: that of an alias, those of the properties of an object."""
    if isinstance(definition, Alias):
        return (definition.type,)
    declared = tuple(field.type for field in definition.fields)
    return declared if definition.extra is None else (*declared, definition.extra)


@overload
def parts(type_: TypeRef) -> Iterator[TypeRef]: ...
@overload
def parts(type_: Shape) -> Iterator[Shape]: ...
def parts(type_: Shape) -> Iterator[Shape]:
    """Iterate over a type and everything that it is made of; references are not followed."""
    yield type_
    match type_:
        case Primitive() | Literal() | Ref():
            inner: tuple[Shape, ...] = ()
        case ListOf(item=item, prefix=prefix):
            inner = (*prefix, item)
        case MapOf(value=value):
            inner = (value,)
        case Union(members=members) | AllOf(members=members):
            inner = members
        case Object(properties=properties, extra=extra):
            inner = (*(property_.type for property_ in properties), *([extra] if extra else []))
    for part in inner:
        yield from parts(part)


def references(type_: Shape) -> Iterator[str]:
    """Iterate over the names that a type refers to, those of its bases included."""
    for part in parts(type_):
        if isinstance(part, Ref):
            yield part.name
        elif isinstance(part, Object):
            yield from (base.name for base in part.bases)


def contained(definition: Definition) -> Iterator[str]:
    """Iterate over the names that a definition refers to: in its properties, or in its type."""
    return (name for type_ in types_of(definition) for name in references(type_))


def lineage(name: str, definitions: Mapping[str, Definition]) -> tuple[str, ...]:
    """Return the names of all types that a struct extends, nearest first."""
    found: dict[str, None] = {}
    pending = [name]
    while pending:
        definition = definitions.get(pending.pop(0))
        bases = [base.name for base in definition.bases] if isinstance(definition, Struct) else []
        pending += [base for base in bases if base not in found]
        found.update(dict.fromkeys(bases))
    return tuple(found)


def place_of(protocol: Protocol, definition: Definition, wire_name: str = "") -> Location | None:
    """Return the place of a definition, or of a property of it, which may be inherited; None if it is unknown.

    The place of something that a file does not declare by itself, such as a computed type, is that of what holds it.
    """
    places, property_ = protocol.places(), f".{wire_name}" if wire_name else ""
    path = definition.holder or definition.name
    owners = (path, *lineage(definition.name, protocol.definitions)) if wire_name else (path,)
    holders = (path.rsplit(".", number)[0] for number in range(path.count(".") + 1))
    paths = (*(owner + property_ for owner in owners), *holders)
    return next((places[each] for each in paths if each in places), None)
