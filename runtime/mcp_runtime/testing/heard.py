"""What a client received from a server, in order."""

from collections.abc import Sequence
from typing import Any, Final

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.handlers import Stub
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.method import NotificationMethod
from mcp_runtime.core.protocol.names import NOTIFICATIONS_MESSAGE, NOTIFICATIONS_PROGRESS

_FEATURE: Final = "testing"


class Heard:
    """What a server sent to one client.

    It is complete up to the last answer: what the server sent before an answer is here when the call returns.

    Attributes:
        asked: the params of the server's requests: `elicitation/create`, `sampling/createMessage`.
    """

    def __init__(self) -> None:
        self._notifications: list[tuple[str, Any]] = []
        self._connection: Connection | None = None
        self.asked: list[Any] = []

    @property
    def logs(self) -> Sequence[Any]:
        """The params of the log messages: `level`, `data`, `logger`."""
        return self.notifications(NOTIFICATIONS_MESSAGE)

    @property
    def progress(self) -> Sequence[Any]:
        """The params of the progress reports: `progress`, `total`, `message`."""
        return self.notifications(NOTIFICATIONS_PROGRESS)

    @property
    def methods(self) -> Sequence[str]:
        """The methods of all notifications."""
        return [method for method, _ in self._notifications]

    def notifications(self, method: str) -> Sequence[Any]:
        """Return the params of the notifications of a method.

        Args:
            method: the method, such as ``notifications/resources/updated``.
        """
        binding = self._connection.binding if self._connection else None
        found = binding.methods.get(method) if binding else None
        params = [params for name, params in self._notifications if name == method]
        if not isinstance(found, NotificationMethod) or found.params is None:
            return params
        return [None if given is None else found.params.validate(given) for given in params]

    def clear(self) -> None:
        """Forget what was received so far."""
        self._notifications.clear()
        self.asked.clear()

    def take(self, message: Any) -> None:
        """Record a message, or a batch.

        Args:
            message: the parsed message.
        """
        for one in message if is_array(message) else [message]:
            if is_object(one) and "method" in one and "id" not in one:
                self._notifications.append((str(one["method"]), one.get("params")))

    def attach(self, connection: Connection) -> None:
        """Attach to the connection of a client.

        Args:
            connection: the connection.
        """
        self._connection = connection
        connection.features[_FEATURE] = self


def received(client: Stub) -> Heard:
    """Return what a client from `connect` received.

    Args:
        client: the client.

    Raises:
        LookupError: the client is not from `connect`.
    """
    found = client.connection.features.get(_FEATURE)
    if not isinstance(found, Heard):
        raise LookupError("received() needs a client from testing.connect()")
    return found
