"""What a client heard from a server, in the order in which it came."""

from collections.abc import Sequence
from typing import Any, Final

from mcp_runtime.connection.connection import Connection
from mcp_runtime.method import NotificationMethod
from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.names import NOTIFICATIONS_MESSAGE, NOTIFICATIONS_PROGRESS
from mcp_runtime.remote import Stub

_FEATURE: Final = "testing"


class Heard:
    """What a server sent to one client.

    It is complete as of the last answer: what the server sent before an answer is here when the call returns.

    Attributes:
        asked: the params of what the server asked the client: `elicitation/create`, `sampling/createMessage`.
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
        """The params of the reports of progress: `progress`, `total`, `message`."""
        return self.notifications(NOTIFICATIONS_PROGRESS)

    @property
    def methods(self) -> Sequence[str]:
        """The methods of all notifications."""
        return [method for method, _ in self._notifications]

    def notifications(self, method: str) -> Sequence[Any]:
        """Return the params of the notifications of a method, such as ``notifications/resources/updated``."""
        binding = self._connection.binding if self._connection else None
        found = binding.methods.get(method) if binding else None
        params = [params for name, params in self._notifications if name == method]
        if not isinstance(found, NotificationMethod) or found.params is None:
            return params
        return [None if given is None else found.params.validate(given) for given in params]

    def clear(self) -> None:
        """Forget what was heard so far."""
        self._notifications.clear()
        self.asked.clear()

    def take(self, message: Any) -> None:
        """Take a message, or a batch of them, as it came."""
        for one in message if is_array(message) else [message]:
            if is_object(one) and "method" in one and "id" not in one:
                self._notifications.append((str(one["method"]), one.get("params")))

    def attach(self, connection: Connection) -> None:
        """Belong to the connection of a client."""
        self._connection = connection
        connection.features[_FEATURE] = self


def heard_by(client: Stub) -> Heard:
    """Return what a client heard that `connect` made.

    Raises:
        LookupError: it is another client.
    """
    found = client.connection.features.get(_FEATURE)
    if not isinstance(found, Heard):
        raise LookupError("only what a client of testing.connect() heard is known")
    return found
