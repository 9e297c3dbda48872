"""Messages as lines, for programs that stand between a client on standard input and output and a server."""

import json
import sys
from collections.abc import Callable
from typing import Any, Final

from mcp_bindgen.ir.json_values import as_object, is_list, is_object, json_value
from mcp_runtime.core.connection.transport import ACCEPTED, Channel, Outcome, Receiver, TransportError
from mcp_runtime.core.errors import AuthorizationError

MAX_MESSAGE_BYTES: Final = 64 << 20
"""The maximum size of a message in bytes; larger ones are dropped."""
_INTERNAL_ERROR: Final = -32603

Message = dict[str, Any]


def messages_in(line: bytes) -> list[Message] | None:
    """Return the messages in a line, several if it is a batch; None if it contains anything else."""
    value = json_value(line)
    messages: list[Any] = value if is_list(value) else [value]
    return messages if all(is_object(message) for message in messages) else None


def line_of(value: object) -> bytes:
    """Return a message, or a batch, as a line."""
    return json.dumps(value, separators=(",", ":")).encode()


def failure(id_: object, reason: str) -> Message:
    """Return the answer to a request that no server answers."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": _INTERNAL_ERROR, "message": reason}}


def object_in(message: Message, name: str) -> Message:
    """Return an object in a message; empty if it has none of that name."""
    return as_object(message.get(name))


def id_in(message: Message, name: str = "id") -> int | str | None:
    """Return an id in a message; None if it has none of that name."""
    found = message.get(name)
    return found if isinstance(found, int | str) else None


class Lines(Receiver):
    """Passes each message of a transport on as it is.

    Args:
        take: is called with each message, and returns what became of it.
        lost: is called when the transport has ended.
        unanswered: is called with the id of a request that will not be answered, and why.
    """

    def __init__(
        self,
        take: Callable[[bytes], Outcome | None],
        lost: Callable[[TransportError | None], None],
        unanswered: Callable[[int | str, str], None] | None = None,
    ) -> None:
        self._take = take
        self._lost = lost
        self._unanswered = unanswered

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        """Pass a message on."""
        return self._take(message) or ACCEPTED

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        """Say that a message was dropped."""
        print(f"mcp-bindgen: {reason}", file=sys.stderr)
        return ACCEPTED

    def request_lost(self, id_: int | str, reason: TransportError | AuthorizationError) -> None:
        """Tell that a request will not be answered."""
        if self._unanswered is not None:
            self._unanswered(id_, str(reason))

    def connection_lost(self, reason: TransportError | None) -> None:
        """Tell that the transport has ended."""
        self._lost(reason)
