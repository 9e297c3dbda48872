"""What a transport is to the runtime, and the runtime to a transport.

Both sides are callbacks without awaiting, since a hop through a queue would cost more than most messages do. A custom
transport needs no base class: it is any object with the methods of `Transport`.
"""

from typing import Protocol, runtime_checkable

from mcp_runtime.protocol.outcome import Outcome


class TransportError(Exception):
    """The transport failed: the text says what happened to it, for people."""


class Channel(Protocol):
    """A way to the peer, which is sent, drained and paused by itself.

    The answer to a request leaves by the channel that the request came over, and so does all that belongs to the
    request while it is open. A transport with a single stream is its own only channel.
    """

    def send(self, message: bytes) -> None:
        """Take one message to send, a JSON text without line ends; it is queued if the peer does not read.

        After the channel is lost or closed, messages are dropped silently, unless the transport can resume it.
        """
        ...

    async def drain(self) -> None:
        """Wait until few enough bytes are queued to go on sending, or the channel is lost."""
        ...

    def pause_reading(self) -> None:
        """Stop delivering messages that come over it; the peer will feel it in time."""
        ...

    def resume_reading(self) -> None:
        """Deliver messages again."""
        ...


class Receiver(Protocol):
    """Takes what a transport carries; all calls come from the event loop's thread, in order."""

    def message_received(self, message: bytes, channel: Channel) -> Outcome:
        """Take one whole message: one JSON text in UTF-8, with nothing around it; returns what became of it."""
        ...

    def message_refused(self, reason: str, channel: Channel) -> Outcome:
        """Learn that a message was thrown away, since it was over the size limit; the transport goes on."""
        ...

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        """Learn that nothing more comes or goes by one of several channels; the transport goes on.

        `reason` is None if it ended in good order. Requests that came over it are cancelled or go on, as their revision
        has it.
        """
        ...

    def connection_lost(self, reason: TransportError | None) -> None:
        """Learn that nothing more comes or goes; `reason` is None if it ended in good order. Called once, last."""
        ...


@runtime_checkable
class LosesRequests(Protocol):
    """A receiver that can lose one request and go on, as a transport with an exchange for each request needs it."""

    def request_lost(self, id_: int | str, reason: TransportError) -> None:
        """Learn that a request of this side will not be answered."""
        ...


class Transport(Channel, Protocol):
    """Carries whole messages in both directions, in order within each channel.

    It is itself the channel of messages that belong to no open request.
    """

    async def start(self, receiver: Receiver) -> None:
        """Begin to carry messages to the receiver.

        Raises:
            TransportError: the peer cannot be reached.
        """
        ...

    async def close(self) -> None:
        """End the connection in the order that the protocol asks for; harmless when called again."""
        ...


@runtime_checkable
class Identifying(Protocol):
    """A receiver that finds out which request a message was about that was over the size limit."""

    def message_skipped(self, reason: str, channel: Channel, start: bytes, end: bytes) -> Outcome:
        """Learn what `message_refused` tells, and the first and last few kilobytes of the message."""
        ...


@runtime_checkable
class Probing(Protocol):
    """A client's transport that finds out which era its server is of, and remembers it for later connections."""

    @property
    def era(self) -> str:
        """``legacy`` or ``modern``; empty if nothing has told yet."""
        ...

    def learn_era(self, era: str) -> None:
        """Learn what the server turned out to be; empty if it is not what it was taken for."""
        ...


@runtime_checkable
class HalfOpen(Protocol):
    """A transport whose peer may close the end that it sends by, and still read what it asked for."""

    @property
    def can_still_send(self) -> bool:
        """Whether messages may still reach the peer after `connection_lost` was told without a reason."""
        ...


@runtime_checkable
class Finite(Protocol):
    """A channel that ends with what is open on it: the last request that came over it was answered or cancelled."""

    def finish(self) -> None:
        """Learn that nothing belongs to the channel any more; the last answer was sent before."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A channel that the peer can come back to: what is sent after it was closed is kept until then."""

    def close_early(self) -> None:
        """Close the stream to the peer now; work on the request goes on, and `send` keeps what it is given."""
        ...
