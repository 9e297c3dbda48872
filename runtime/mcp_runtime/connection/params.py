"""The params of a received message."""

from typing import Any

from mcp_runtime.connection.received import Received
from mcp_runtime.connection.requester import Requester
from mcp_runtime.errors import RemoteProtocolError
from mcp_runtime.method import AnyMethod
from mcp_runtime.protocol.rules import ARRIVING


def params_of(method: AnyMethod, received: Received) -> Any:
    """Return the typed params of a message; None if it has none.

    Raises:
        RemoteProtocolError: they are not valid.
    """
    params, requester = received.message.params, received.requester
    if method.params is None or (params is None and not method.params_required):
        return None
    given, wire = params or {}, requester.wire
    if wire is not None:
        given = wire.incoming(method, "params", given, received.text, requester.reader)
    read = requester.reader.read(method.params, given, method.name)
    if method.name in ARRIVING and (broken := ARRIVING[method.name](given)) is not None:
        raise RemoteProtocolError(revision=requester.revision, method=method.name, **broken._asdict())
    return read


def check_gated(method: AnyMethod, params: dict[str, Any], requester: Requester) -> None:
    """Refuse properties whose capability this side did not declare.

    A request for a task is ignored instead, as the specification requires (2025-11-25, basic/utilities/tasks).

    Raises:
        RemoteProtocolError: there is such a property.
    """
    for member, path in method.gated.items():
        if params.get(member) is None or member == "task":
            continue
        if not requester.is_open(path, requester.side.other):
            reason = f"needs the capability {path}, which was not declared"
            raise RemoteProtocolError(
                revision=requester.revision, method=method.name, pointer=f"/{member}", reason=reason
            )
