"""Identifies outgoing messages by their first bytes: the runtime itself has written them."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_runtime.protocol.names import (
    INITIALIZE,
    LOGGING_SET_LEVEL,
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_INITIALIZED,
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
)

_REQUEST: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"method":"([^"]+)"')
_CANCELLED: Final = b'{"jsonrpc":"2.0","method":"%b"' % NOTIFICATIONS_CANCELLED.encode()
_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"%b"' % NOTIFICATIONS_INITIALIZED.encode()


def request_of(message: bytes) -> tuple[int, str] | None:
    """Return the id and the method of a message if it is a request."""
    found = _REQUEST.match(message)
    return (int(found[1]), found[2].decode()) if found else None


def cancelled_by(message: bytes) -> Any:
    """Return the id of the request that a message cancels; None if it cancels none."""
    return json.loads(message)["params"]["requestId"] if message.startswith(_CANCELLED) else None


def is_initialized(message: bytes) -> bool:
    """Whether a message completes the handshake."""
    return message.startswith(_INITIALIZED)


@dataclass(slots=True)
class Standing:
    """The state to restore in a new session, since the server has forgotten the old one.

    Attributes:
        hello: the id of the request that begins a session, and the request itself.
        initialized: the notification that follows it.
        level: the request that sets the log level; None if there was none.
        subscriptions: the requests that subscribe to resources, by URI.
    """

    hello: tuple[int, bytes] = (0, b"")
    initialized: bytes = b""
    level: bytes | None = None
    subscriptions: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def rest(self) -> list[bytes]:
        """Everything that follows the request that begins a session."""
        return [message for message in (self.initialized, self.level, *self.subscriptions.values()) if message]

    def note(self, id_: int, method: str, message: bytes) -> None:
        """Remember a request if it changes state at the server."""
        if method == INITIALIZE:
            self.hello = (id_, message)
        elif method == LOGGING_SET_LEVEL:
            self.level = message
        elif method == RESOURCES_SUBSCRIBE:
            self.subscriptions[_uri(message)] = message
        elif method == RESOURCES_UNSUBSCRIBE:
            self.subscriptions.pop(_uri(message), None)


def _uri(message: bytes) -> str:
    return str(json.loads(message)["params"]["uri"])
