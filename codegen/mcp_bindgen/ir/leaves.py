"""The normal form of a type: the members of a union, through its aliases, each once and without redundant ones."""

from collections.abc import Iterator, Mapping

from mcp_bindgen.ir.names import parts, types_of
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    UNBOUNDED,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.scalars import fits


def leaves(type_: TypeRef, protocol: Protocol) -> Iterator[TypeRef]:
    """Iterate over the members of a union, through the aliases in it, each once; a struct stays a reference."""
    yield from _leaves(type_, protocol, set())


def _leaves(type_: TypeRef, protocol: Protocol, seen: set[TypeRef]) -> Iterator[TypeRef]:
    if isinstance(type_, Ref):
        if type_ in seen:  # Aliases that refer to each other repeatedly would give exponentially many paths.
            return
        seen.add(type_)
    target = protocol.resolve(type_)
    if isinstance(target, Union):
        if is_json_value(target, protocol):
            yield ANY
            return
        for member in target.members:
            yield from _leaves(member, protocol, seen)
    elif isinstance(target, Struct):
        yield Ref(name=target.name)
    else:
        yield target


def structs(type_: TypeRef, protocol: Protocol) -> Iterator[Struct]:
    """Iterate over the objects among the members of a union, each once."""
    found = (protocol.resolve(leaf) for leaf in leaves(type_, protocol))
    return (each for each in found if isinstance(each, Struct))


def forms(type_: TypeRef, protocol: Protocol) -> tuple[TypeRef, ...]:
    """Return the forms that a value may have, regardless of notation.

    Constants become one closed set, without those that another form admits; a type that admits anything is the only
    form.
    """
    if isinstance(type_, Primitive | ListOf | MapOf):
        return (type_,)
    if not isinstance(type_, Ref) or type_.opaque:
        return _forms(type_, protocol)
    if type_.name not in protocol.forms:
        protocol.forms[type_.name] = _forms(type_, protocol)
    return protocol.forms[type_.name]


def _forms(type_: TypeRef, protocol: Protocol) -> tuple[TypeRef, ...]:
    found = tuple(dict.fromkeys(leaves(type_, protocol)))
    if ANY in found:
        return (ANY,)
    if len(found) == 1 and not isinstance(found[0], Literal):
        return found
    rest = [leaf for leaf in found if not isinstance(leaf, Literal)]
    values = [value for leaf in found if isinstance(leaf, Literal) for value in leaf.values]
    if None in values:
        rest.append(NULL)
    if {value for value in values if isinstance(value, bool)} == {True, False}:
        rest.append(Primitive(kind=Kind.BOOLEAN))
    scalars = [leaf for leaf in rest if isinstance(leaf, Primitive)]
    if Primitive(kind=Kind.NUMBER) in scalars:
        rest = [leaf for leaf in rest if not (isinstance(leaf, Primitive) and leaf.kind is Kind.INTEGER)]
    left = tuple(value for value in values if not any(fits(value, scalar) for scalar in scalars))
    return tuple(dict.fromkeys([*([Literal(values=left)] if left else ()), *rest]))


def is_json_value(union: Union, protocol: Protocol) -> bool:
    """Whether a union is a definition of any JSON value: the scalars, and lists and maps of the union itself."""
    kinds: set[object] = set()
    for member in union.members:
        target = protocol.resolve(member)
        if isinstance(target, Primitive) and target.bounds == UNBOUNDED:
            kinds.add(target.kind)
        elif isinstance(target, ListOf) and protocol.resolve(target.item) in (union, ANY):
            kinds.add(ListOf)
        elif isinstance(target, MapOf) and protocol.resolve(target.value) in (union, ANY):
            kinds.add(MapOf)
    return kinds >= {Kind.STRING, Kind.NUMBER, Kind.BOOLEAN, Kind.NULL, ListOf, MapOf}


def members(object_: Struct | MapOf) -> Mapping[str, Field]:
    """Return the declared properties of an object by name."""
    return object_.by_name if isinstance(object_, Struct) else {}


def rest_of(object_: Struct | MapOf) -> TypeRef | None:
    """Return the type of undeclared properties, None if they are not allowed."""
    return object_.extra if isinstance(object_, Struct) else object_.value


def is_json_schema(name: str, *sides: Struct | MapOf) -> bool:
    """Whether a property is a keyword of an open JSON Schema, which senders use whether or not MCP declares it.

    The type of keywords that begin with a dollar sign is fixed by JSON Schema itself.
    """
    if name.startswith("$"):
        return False
    declared = [members(side) for side in sides]
    return any("$schema" in fields or ("type" in fields and fields["type"].type == _OBJECT) for fields in declared)


_OBJECT = Literal(values=("object",))


def constants(struct: Struct) -> frozenset[tuple[str, Literal]]:
    """Return the required constants of a struct, which can discriminate the members of a union."""
    return frozenset((f.wire_name, f.constant) for f in struct.fields if f.required and f.constant)


def selectors(protocol: Protocol) -> frozenset[tuple[str, str]]:
    """Return the discriminator properties of all unions, each with the name of its struct."""
    found: set[tuple[str, str]] = set()
    stated = (type_ for definition in protocol.definitions.values() for type_ in types_of(definition))
    for union in (part for type_ in stated for part in parts(type_) if isinstance(part, Union)):
        found_here = list(structs(union, protocol))
        values: dict[str, set[Literal]] = {}
        for struct in found_here:
            for name, value in constants(struct):
                values.setdefault(name, set()).add(value)
        for struct in found_here:
            found.update((struct.name, name) for name, _ in constants(struct) if len(values[name]) > 1)
    return frozenset(found)
