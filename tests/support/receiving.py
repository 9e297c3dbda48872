"""The base class of receivers in tests."""

from typing import Any

from mcp_runtime.core.connection.transport import ACCEPTED, Channel, Outcome, Receiver, TransportError


class OneStream(Receiver):
    """A receiver for a transport with a single stream: oversized messages and separate channels fail the test."""

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        self.receive(message)
        return ACCEPTED

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        self.refuse(reason)
        return ACCEPTED

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        raise AssertionError("a transport with one stream loses only the connection")

    def receive(self, message: bytes) -> None:
        """Handle one message."""
        raise NotImplementedError

    def refuse(self, reason: str) -> None:
        """Fail because of a message that is too large."""
        raise AssertionError(reason)
