"""What applies to one revision: the rows of schema/capabilities.toml and schema/defaults.toml."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_bindgen.ir.names import field_of
from mcp_bindgen.ir.nodes import MapOf, Method, Protocol, Ref, Scalar, Struct, TypeRef


def add_defaults(protocol: Protocol, rows: Mapping[str, Scalar]) -> Protocol:
    """Return the protocol with the defaults of its results.

    Args:
        protocol: one revision.
        rows: values by property (``resultType``), or by result and property (``InputRequiredResult.resultType``).
    """
    return replace(protocol, defaults=dict(_found(protocol, rows)))


def _found(protocol: Protocol, rows: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    for struct in protocol.structs():
        for field in struct.fields:
            place = f"{struct.name}.{field.wire_name}"
            row = place if place in rows else field.wire_name
            if struct.name.endswith("Result") and field.required and not field.is_constant and row in rows:
                yield place, rows[row]


_DECLARERS: Mapping[str, tuple[str, ...]] = {
    "server": ("ServerCapabilities",),
    "client": ("ClientCapabilities",),
    "receiver": ("ServerCapabilities", "ClientCapabilities"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityBook:
    """Paths of capabilities (``server.tools.listChanged``), by method, and by property (``SomeParams.task``)."""

    methods: Mapping[str, str]
    members: Mapping[str, str]


def add_capabilities(protocol: Protocol, book: CapabilityBook) -> Protocol:
    """Return the protocol with the capabilities that its methods and the properties of its params need."""
    methods = tuple(
        replace(method, capability=_if_declared(book.methods, method, protocol)) for method in protocol.methods
    )
    members = {
        member: path
        for member, path in book.members.items()
        for owner, _, name in (member.partition("."),)
        if field_of(owner, name, protocol.definitions) and is_declarable(path, protocol)
    }
    return replace(protocol, methods=methods, capabilities=members)


def _if_declared(rows: Mapping[str, str], method: Method, protocol: Protocol) -> str:
    path = rows.get(method.name, "")
    return path if path and is_declarable(path, protocol) else ""


def is_declarable(path: str, protocol: Protocol) -> bool:
    """Whether the capabilities of a revision include a path; an object with arbitrary properties includes none."""
    declarer, _, rest = path.partition(".")
    return all(_leads(Ref(name=name), rest.split("."), protocol) for name in _DECLARERS[declarer])


def _leads(type_: TypeRef, steps: Sequence[str], protocol: Protocol) -> bool:
    if not steps:
        return True
    if isinstance(type_, Ref) and type_.name not in protocol.definitions:
        return False
    target = protocol.resolve(type_)
    if isinstance(target, MapOf) or not isinstance(target, Struct):
        return False
    field = target.field(steps[0])
    return field is not None and _leads(field.type, steps[1:], protocol)
