"""Views of methods.py, constants.py and errors.py: what is a table in the protocol is a table in Python."""

from collections.abc import Iterator

from mcp_bindgen.emit.names import Names, camel
from mcp_bindgen.emit.text import docstring
from mcp_bindgen.emit.view import Item
from mcp_bindgen.ir.nodes import Constant, Direction, Method, Protocol, Ref, Struct, Union

_FLAGS = ("paginated", "cacheable", "task_augmentable", "multi_round_trip", "payload", "deprecated")
_LOOKUPS = {
    "CLIENT_REQUESTS": ("What a client may ask.", True, (Direction.CLIENT_TO_SERVER, Direction.BOTH)),
    "SERVER_REQUESTS": ("What a server may ask.", True, (Direction.SERVER_TO_CLIENT, Direction.BOTH)),
    "EMBEDDED_REQUESTS": ("What a server may ask inside of a result.", True, (Direction.EMBEDDED,)),
    "CLIENT_NOTIFICATIONS": ("What a client may notify of.", False, (Direction.CLIENT_TO_SERVER, Direction.BOTH)),
    "SERVER_NOTIFICATIONS": ("What a server may notify of.", False, (Direction.SERVER_TO_CLIENT, Direction.BOTH)),
}


def method_records(protocol: Protocol, names: Names) -> Iterator[Item]:
    """Make one record per method, and the lookups over them."""
    for method in protocol.methods:
        yield _record(method, protocol, names)
    everything = ", ".join(names.records[method.name] for method in protocol.methods)
    yield _table("METHODS", "_method.AnyMethod", everything, "All methods by name.")
    for name, (doc, requests, directions) in _LOOKUPS.items():
        chosen = [m for m in protocol.methods if m.is_request is requests and m.direction in directions]
        kind = "RequestMethod[_Any, _Any]" if requests else "NotificationMethod[_Any]"
        yield _table(name, f"_method.{kind}", ", ".join(names.records[m.name] for m in chosen), doc)


def _table(name: str, kind: str, members: str, doc: str) -> Item:
    head = f"{name}: _Final[_Mapping[_str, {kind}]] = _method.by_name([{members}])"
    return Item(name=name, head=head, doc="\n".join(docstring(doc, 0)))


def _record(method: Method, protocol: Protocol, names: Names) -> Item:
    name = names.records[method.name]
    params = names.classes[method.params] if method.params else "_Any"
    arguments = [
        repr(method.name),
        f"message={method.message!r}",
        f"direction=_method.Direction.{method.direction.name}",
        f"params={_wire_type(params) if method.params else None}",
    ]
    if method.params_required:
        arguments.append("params_required=True")
    kind = f"_method.NotificationMethod[{params}]"
    if method.result:
        kind = f"_method.RequestMethod[{params}, {names.classes[method.result]}]"
        arguments.append(f"result={_wire_type(names.classes[method.result])}")
    if method.alternatives:
        arguments.append(f"alternatives=({''.join(f'{_wire_type(names.classes[a])}, ' for a in method.alternatives)})")
    arguments += [f"{flag}=True" for flag in _FLAGS if getattr(method, flag)]
    if method.capability:
        arguments.append(f"capability={method.capability!r}")
    if gated := _gated_members(method, protocol):
        arguments.append(f"gated={gated!r}")
    doc = protocol.definitions[method.message].doc
    return Item(
        name=name,
        head=f"{name}: _Final[{kind}] = {kind.partition('[')[0]}({', '.join(arguments)})",
        doc="\n".join(docstring(doc, 0)),
    )


def _gated_members(method: Method, protocol: Protocol) -> dict[str, str]:
    """The members of the params, or of any form of them, that need a capability."""
    if method.params is None:
        return {}
    forms = _forms(method.params, protocol)
    rows = ((member.partition("."), path) for member, path in protocol.capabilities.items())
    return {member: path for (form, _, member), path in rows if form in forms}


def _forms(name: str, protocol: Protocol) -> set[str]:
    """The names of the structs that a type may be."""
    target = protocol.resolve(Ref(name=name))
    if isinstance(target, Struct):
        return {target.name}
    members = target.members if isinstance(target, Union) else ()
    return {form for member in members if isinstance(member, Ref) for form in _forms(member.name, protocol)}


def _wire_type(name: str) -> str:
    return f"_method.WireType(_PACKAGE, {name!r})"


def constant_items(protocol: Protocol, names: Names) -> Iterator[Item]:
    """Make one assignment per constant of the protocol."""
    for constant in protocol.constants:
        name = names.constants[constant.name]
        doc = "\n".join(docstring(constant.doc or "A constant of the protocol.", 0))
        yield Item(name=name, head=f"{name}: _Final = {constant.value!r}", doc=doc)


def error_codes(protocol: Protocol) -> tuple[Constant, ...]:
    """Return the constants that are error codes: the negative integers (JSON-RPC 2.0, section 5.1)."""
    return tuple(c for c in protocol.constants if isinstance(c.value, int) and c.value < 0)


def error_items(protocol: Protocol) -> Iterator[Item]:
    """Make one exception per error code, and the table of them."""
    classes: list[str] = []
    taken: set[str] = set()
    for constant in error_codes(protocol):
        name = camel(constant.name)
        name = name if name.endswith("Error") else f"{name}Error"
        name = f"{name}{str(constant.value).lstrip('-')}" if name in taken else name
        taken.add(name)
        classes.append(f"{constant.value}: {name}")
        doc = "\n".join(docstring(f"{constant.doc or constant.name}\n\nError code {constant.value}.", 4))
        yield Item(name=name, head=f"class {name}(_errors.PeerError):", doc=doc)
    table = f"ERRORS: _Final[_Mapping[_int, _type[_errors.PeerError]]] = _MappingProxyType({{{', '.join(classes)}}})"
    yield Item(name="ERRORS", head=table, doc='"""The exception that stands for each error code of this revision."""')
