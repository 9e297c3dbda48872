"""What a transport is to the runtime, and the runtime to a transport.

Both sides are callbacks without awaiting, since a hop through a queue would cost more than most messages do. A
transport of your own needs no base class: it is any object with the methods of `Transport`.
"""

from typing import Protocol, runtime_checkable


class TransportError(Exception):
    """The transport failed: the text says what happened to it, for people."""


class Receiver(Protocol):
    """Takes what a transport carries; all calls come from the event loop's thread, in order."""

    def message_received(self, message: bytes) -> None:
        """Take one whole message: one JSON text in UTF-8, with nothing around it."""
        ...

    def message_refused(self, reason: str) -> None:
        """Learn that a message was thrown away, since it was over the size limit; the transport goes on."""
        ...

    def connection_lost(self, reason: TransportError | None) -> None:
        """Learn that nothing more comes or goes; `reason` is None if it ended in good order. Called once, last."""
        ...


class Transport(Protocol):
    """Carries whole messages in both directions, in order."""

    async def start(self, receiver: Receiver) -> None:
        """Begin to carry messages to the receiver.

        Raises:
            TransportError: the peer cannot be reached.
        """
        ...

    def send(self, message: bytes) -> None:
        """Take one message to send, a JSON text without line ends; it is queued if the peer does not read.

        After the connection is lost or closed, messages are dropped without a word: `connection_lost` has said so.
        """
        ...

    async def drain(self) -> None:
        """Wait until few enough bytes are queued to go on sending, or the connection is lost."""
        ...

    def pause_reading(self) -> None:
        """Stop delivering messages, since the receiver has enough to do; the peer will feel it in time."""
        ...

    def resume_reading(self) -> None:
        """Deliver messages again."""
        ...

    async def close(self) -> None:
        """End the connection in the order that the protocol asks for; harmless when called again."""
        ...


@runtime_checkable
class HalfOpen(Protocol):
    """A transport whose peer may close the end that it sends by, and still read what it asked for."""

    @property
    def can_still_send(self) -> bool:
        """Whether messages may still reach the peer after `connection_lost` was told without a reason."""
        ...
