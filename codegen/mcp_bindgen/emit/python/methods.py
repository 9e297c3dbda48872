"""Views of methods.py, constants.py and errors.py: the tables of the protocol become tables in Python."""

from collections.abc import Collection, Iterator

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.names import Names, camel
from mcp_bindgen.emit.python.spelling import Speller
from mcp_bindgen.ir.facts import params_structs, result_tags
from mcp_bindgen.ir.nodes import Direction, Method, Protocol

_FLAGS = ("paginated", "cacheable", "task_augmentable", "multi_round_trip", "payload", "deprecated")


def method_views(protocol: Protocol, names: Names, speller: Speller) -> tuple[views.Method, ...]:
    """Return one record per method."""
    return tuple(_record(method, protocol, names, speller) for method in protocol.methods)


def _record(method: Method, protocol: Protocol, names: Names, speller: Speller) -> views.Method:
    return views.Method(
        name=names.records[method.name],
        method=method.name,
        message=method.message,
        direction=method.direction.name,
        params=speller.reference(method.params) if method.params else None,
        params_required=method.params_required,
        result=speller.reference(method.result) if method.result else None,
        alternatives=tuple(speller.reference(name) for name in method.alternatives),
        tags=result_tags(protocol, method),
        flags=tuple(flag for flag in _FLAGS if getattr(method, flag)),
        capability=method.capability,
        gated=_gated(method, protocol),
        doc=protocol.definitions[method.message].doc,
    )


def _gated(method: Method, protocol: Protocol) -> dict[str, str]:
    """Return the properties of the params, in any of their forms, that need a capability."""
    forms = {struct.name for struct in params_structs(protocol, method)}
    rows = ((place.partition("."), path) for place, path in protocol.capabilities.items())
    return {name: path for (form, _, name), path in rows if form in forms}


def lookup(protocol: Protocol, names: Names) -> views.Lookup:
    """Group the records of the methods by sender."""

    def chosen(directions: Collection[Direction], *, requests: bool) -> tuple[str, ...]:
        found = (m for m in protocol.methods if m.is_request is requests and m.direction in directions)
        return tuple(names.records[method.name] for method in found)

    client, server = (Direction.CLIENT_TO_SERVER, Direction.BOTH), (Direction.SERVER_TO_CLIENT, Direction.BOTH)
    return views.Lookup(
        client_requests=chosen(client, requests=True),
        server_requests=chosen(server, requests=True),
        embedded_requests=chosen((Direction.EMBEDDED,), requests=True),
        client_notifications=chosen(client, requests=False),
        server_notifications=chosen(server, requests=False),
    )


def constant_views(protocol: Protocol, names: Names) -> tuple[views.Constant, ...]:
    """Return one view per constant of the protocol."""
    return tuple(views.Constant(name=names.constants[c.name], value=c.value, doc=c.doc) for c in protocol.constants)


def error_views(protocol: Protocol, names: Names) -> Iterator[views.Error]:
    """Return one exception per error code: per constant that is a negative integer (JSON-RPC 2.0, section 5.1).

    The name of an exception never equals that of a model, ignoring case: `except` with a model would hide the real
    error.
    """
    models = {name.casefold() for name in names.classes.values()}
    taken: set[str] = set()
    for constant in protocol.constants:
        if not isinstance(constant.value, int) or constant.value >= 0:
            continue
        name = camel(constant.name)
        name = name if name.endswith("Error") else f"{name}Error"
        name = f"Peer{name}" if name.casefold() in models else name
        name = f"{name}{str(constant.value).lstrip('-')}" if name in taken else name
        taken.add(name)
        yield views.Error(name=name, code=constant.value, doc=constant.doc or constant.name)
