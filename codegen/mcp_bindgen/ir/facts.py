"""Facts that follow from the types of a protocol: nullability, discriminators of unions, pagination.

All generators and the diff use these functions; the schema itself does not state the facts.
"""

from collections.abc import Collection, Iterable, Iterator

from mcp_bindgen.ir.leaves import leaves, structs
from mcp_bindgen.ir.nodes import (
    ANY,
    Field,
    Kind,
    ListOf,
    Literal,
    Method,
    Primitive,
    Protocol,
    Ref,
    Scalar,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.scalars import fits


def admits_null(protocol: Protocol, type_: TypeRef) -> bool:
    """Whether null is a value of a type."""
    return ANY in leaves(type_, protocol) or admits(protocol, type_, None)


def admits(protocol: Protocol, type_: TypeRef, value: Scalar) -> bool:
    """Whether a constant is a value of a type; nothing is said of types that admit anything."""
    scalars = (leaf for leaf in leaves(type_, protocol) if isinstance(leaf, Primitive | Literal))
    one = Literal(values=(value,))
    return any(fits(value, each) if isinstance(each, Primitive) else one in each.each() for each in scalars)


def discriminators(protocol: Protocol, members: Iterable[TypeRef]) -> Iterator[str]:
    """Iterate over the properties that every member of a union requires with a constant of its own.

    There are none unless all members are objects.
    """
    union = Union(members=tuple(members))
    found = list(structs(union, protocol))
    if len(found) < 2 or len(found) < len(list(leaves(union, protocol))):
        return
    for field in found[0].fields:
        values = [_tag(struct, field.wire_name) for struct in found]
        if len({value for value in values if value is not None}) == len(found):
            yield field.wire_name


def are_distinct(protocol: Protocol, members: Iterable[TypeRef]) -> bool:
    """Whether the requirements of any two objects in a union differ, so that the first match is the right one."""
    found = list(structs(Union(members=tuple(members)), protocol))
    return len({_demands(struct) for struct in found}) == len(found)


def most_specific_first(protocol: Protocol, members: Collection[TypeRef]) -> list[TypeRef]:
    """Sort the members of a union: of objects the one that requires most goes first, and integers before numbers."""

    def generality(member: TypeRef) -> tuple[int, int]:
        match protocol.resolve(member):
            case Literal():
                return (0, 0)
            case Primitive(kind=kind):
                return (4 if kind is Kind.ANY else 3 if kind is Kind.NULL else 1, int(kind is Kind.NUMBER))
            case Struct(fields=fields):
                constants = sum(isinstance(f.type, Literal) and f.required for f in fields)
                return (2, len(fields) - 1000 * sum(f.required for f in fields) - 100_000 * constants)
            case _:
                return (2, 1)

    return sorted(members, key=generality)


def result_struct(protocol: Protocol, method: Method) -> Struct | None:
    """Return the object that is the result of a method, or None."""
    target = protocol.resolve(Ref(name=method.result)) if method.result else None
    return target if isinstance(target, Struct) else None


def params_structs(protocol: Protocol, method: Method) -> tuple[Struct, ...]:
    """Return the objects that the params of a method may be: several if they are a union, none if it has no params."""
    return tuple(structs(Ref(name=method.params), protocol)) if method.params else ()


_BY_NAME = frozenset(("_meta", "cursor", "inputResponses", "requestState", "task"))
"""Properties that are only passed by name: where they are declared has changed, or they belong to an exchange."""


def by_position(params: Struct) -> tuple[str, ...]:
    """Return the properties that stubs take by position, in the order of schema.ts: required ones, then own ones.

    The constructor fills in constants.
    """
    found = [f for f in params.fields if f.wire_name not in _BY_NAME and not f.is_constant]
    found = [field for field in found if field.required or field.wire_name in params.own]
    return tuple(field.wire_name for field in sorted(found, key=lambda field: not field.required))


def page_items(protocol: Protocol, method: Method) -> tuple[Field, ListOf] | None:
    """Return the property of a paginated result that holds the items of a page, and its type; None if no single one."""
    result = result_struct(protocol, method)
    if not method.paginated or result is None:
        return None
    lists = [(f, f.type) for f in result.fields if f.required and isinstance(f.type, ListOf)]
    return lists[0] if len(lists) == 1 else None


def result_tag(protocol: Protocol) -> str:
    """Return the discriminator of a request's results; empty if the revision has none.

    Where a request may get several results, each of them has a default of its own for it.
    """
    for method in protocol.methods:
        results = [name for name in (method.result, *method.alternatives) if name]
        for place in protocol.defaults:
            owner, _, name = place.partition(".")
            values = {protocol.defaults.get(f"{result}.{name}") for result in results}
            if owner == method.result and len(values) == len(results) > 1 and None not in values:
                return name
    return ""


def result_tags(protocol: Protocol, method: Method) -> tuple[str, ...]:
    """Return the discriminator value of each result of a request, the usual one first; may be empty."""
    tag = result_tag(protocol)
    results = [name for name in (method.result, *method.alternatives) if name]
    tags = tuple(value for name in results if (value := tag_of(protocol, name, tag)))
    return tags if tag and len(tags) == len(results) else ()


def tag_of(protocol: Protocol, result: str, tag: str) -> str:
    """Return the discriminator value of a result: a constant, or its default; empty if it has no single one."""
    forms = structs(Ref(name=result), protocol)
    found = {_tag(struct, tag) or protocol.defaults.get(f"{struct.name}.{tag}") for struct in forms}
    value = found.pop() if len(found) == 1 else None
    return value if isinstance(value, str) else ""


def _demands(struct: Struct) -> frozenset[tuple[str, object]]:
    """The requirements of a struct: the names of its required properties, and the types of constant ones."""
    required = [field for field in struct.fields if field.required]
    return frozenset((f.wire_name, f.type if isinstance(f.type, Literal) else None) for f in required)


def _tag(struct: Struct, wire_name: str) -> str | None:
    field = struct.field(wire_name)
    constant = field.constant if field and field.required else None
    # Not numbers and booleans: pydantic treats 1 and true as the same tag.
    return constant.values[0] if constant and isinstance(constant.values[0], str) else None


def has_batches(protocol: Protocol) -> bool:
    """Whether messages may come in arrays: whether a definition is a list of messages of JSON-RPC."""
    aliases = (definition.type for definition in protocol.definitions.values() if not isinstance(definition, Struct))
    items = [type_.item for type_ in aliases if isinstance(type_, ListOf)]
    lists = ([protocol.resolve(leaf) for leaf in leaves(item, protocol)] for item in items)
    return any(found and all(map(_is_envelope, found)) for found in lists)


def has_errors_without_id(protocol: Protocol) -> bool:
    """Whether an error response may leave out the id of its request."""
    for struct in protocol.structs():
        id_ = struct.field("id")
        if _is_envelope(struct) and struct.field("error") and id_ is not None and not id_.required:
            return True
    return False


def _is_envelope(leaf: TypeRef | Struct) -> bool:
    """Whether a type is a message of JSON-RPC: an object with its version."""
    return isinstance(leaf, Struct) and leaf.field("jsonrpc") is not None
