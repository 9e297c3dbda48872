"""Stateless requests: the handshake that each of them would have had."""

from typing import Any, Final

from mcp_runtime.protocol.jsonrpc import dump, is_object, parse, write_notification, write_request
from mcp_runtime.protocol.names import INITIALIZE, NOTIFICATIONS_INITIALIZED

ASSUMED: Final = "2025-03-26"
"""The revision of a client that names none (basic/transports, Protocol Version Header)."""


def method_of(body: bytes) -> Any:
    """Return the method of a message; None if it has none.

    Raises:
        MalformedMessage: it is not JSON.
    """
    value = parse(body)
    return value.get("method") if is_object(value) else None


def missing_before(method: Any, revision: str) -> tuple[bytes, ...]:
    """Return the messages that should have preceded a request of a client without a session.

    Args:
        method: the method of the request.
        revision: the revision of the client.
    """
    if method == INITIALIZE:
        return ()
    info = {"name": "unknown", "version": ""}
    params = dump({"protocolVersion": revision, "capabilities": {}, "clientInfo": info})
    hello = write_request("handshake", INITIALIZE, params)
    return (
        (hello,)
        if method == NOTIFICATIONS_INITIALIZED
        else (hello, write_notification(NOTIFICATIONS_INITIALIZED, None))
    )
