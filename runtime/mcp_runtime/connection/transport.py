"""The outcome of a received message, for the transport that carried it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from mcp_runtime.connection.journal import Journal

__all__ = [
    "ACCEPTED",
    "Channel",
    "Finite",
    "HalfOpen",
    "Identifying",
    "LostRequestReceiver",
    "Outcome",
    "Probing",
    "Receiver",
    "Resumable",
    "Transport",
    "TransportError",
    "Verdict",
]


class Verdict(StrEnum):
    """Whether a message was accepted."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """It is a message, but violates the protocol."""
    MALFORMED = "malformed"
    """It is not a message at all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a received message.

    A request that was accepted may still be answered with an error. The error response for a message that was not
    accepted has already been sent on its channel.

    Attributes:
        verdict: whether it was accepted.
        code: the JSON-RPC error code for it; 0 if it was accepted.
        reason: what is wrong, for people; empty if it was accepted.
        is_answered: whether it is a request, so that an answer is, or was, sent on its channel.
        is_answer: whether it answers an open request of this side.
    """

    verdict: Verdict
    code: int = 0
    reason: str = ""
    is_answered: bool = False
    is_answer: bool = False

    @property
    def is_accepted(self) -> bool:
        """Whether the message was accepted."""
        return self.verdict is Verdict.ACCEPTED


ACCEPTED: Final = Outcome(Verdict.ACCEPTED)
"""The outcome of a message that was accepted."""

ANSWERED: Final = Outcome(Verdict.ACCEPTED, is_answered=True)
"""The outcome of a request that was accepted."""

ANSWER: Final = Outcome(Verdict.ACCEPTED, is_answer=True)
"""The outcome of an answer that was accepted."""


def of_batch(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome of several messages that arrived as one: accepted if any was, answered if any is."""
    if any(outcome.is_answered for outcome in outcomes):
        return ANSWERED
    return next((outcome for outcome in outcomes if outcome.is_accepted), outcomes[0] if outcomes else ACCEPTED)


class TransportError(Exception):
    """The transport failed: the text says what happened, for people."""


class Channel(Protocol):
    """A path to the peer, with its own sending, draining and pausing.

    The answer to a request is sent on the channel that the request came over, and so is all that belongs to the request
    while it is open. A transport with a single stream is its own only channel.
    """

    def send(self, message: bytes) -> None:
        """Send one message; it is queued if the peer does not read.

        After the channel is lost or closed, messages are dropped silently, unless the transport can resume it.

        Args:
            message: a JSON text without line ends.
        """
        ...

    async def drain(self) -> None:
        """Wait until few enough bytes are queued to continue sending, or the channel is lost."""
        ...

    def pause_reading(self) -> None:
        """Stop delivering messages that arrive on it; backpressure reaches the peer in time."""
        ...

    def resume_reading(self) -> None:
        """Resume delivering messages."""
        ...


class Receiver(Protocol):
    """Receives what a transport carries; all calls come from the event loop's thread, in order."""

    def message_received(self, message: bytes, channel: Channel) -> Outcome:
        """Handle one whole message; return the outcome.

        Args:
            message: one JSON text in UTF-8, with nothing around it.
            channel: the channel that it came over.
        """
        ...

    def message_refused(self, reason: str, channel: Channel) -> Outcome:
        """Handle that a message over the size limit was discarded; the transport continues.

        Args:
            reason: what was wrong, for people.
            channel: the channel that it came over.
        """
        ...

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        """Handle that one of several channels has ended; the transport continues.

        Requests that came over it are cancelled or continue, depending on their revision.

        Args:
            channel: the channel.
            reason: what went wrong; None if it ended normally.
        """
        ...

    def connection_lost(self, reason: TransportError | None) -> None:
        """Handle that the transport has ended. Called once, last.

        Args:
            reason: what went wrong; None if it ended normally.
        """
        ...


@runtime_checkable
class LostRequestReceiver(Protocol):
    """A receiver that can lose one request and continue, for transports with an exchange per request."""

    def request_lost(self, id_: int | str, reason: TransportError) -> None:
        """Handle that a request of this side will not be answered.

        Args:
            id_: the id of the request.
            reason: what went wrong.
        """
        ...


class Transport(Channel, Protocol):
    """Carries whole messages in both directions, in order within each channel.

    It is itself the channel of messages that belong to no open request.
    """

    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages to the receiver.

        Args:
            receiver: receives the messages.

        Raises:
            TransportError: the peer cannot be reached.
        """
        ...

    async def close(self) -> None:
        """End the connection as the protocol specifies; safe to call again."""
        ...


@runtime_checkable
class Identifying(Protocol):
    """A receiver that can identify the request of a message over the size limit."""

    def message_skipped(self, reason: str, channel: Channel, start: bytes, end: bytes) -> Outcome:
        """Handle that a message over the size limit was discarded, as `message_refused` does.

        Args:
            reason: what was wrong, for people.
            channel: the channel that it came over.
            start: the first few kilobytes of the message.
            end: the last few kilobytes of the message.
        """
        ...


@runtime_checkable
class Probing(Protocol):
    """A client's transport that detects the era of its server, and remembers it for later connections."""

    @property
    def era(self) -> str:
        """``legacy`` or ``modern``; empty until it is detected."""
        ...

    def learn_era(self, era: str) -> None:
        """Remember the `era` that the server turned out to belong to; empty if it was not the expected one."""
        ...


@runtime_checkable
class OneOfMany(Protocol):
    """The transport of one of the connections of an endpoint, whose log lines have a common limit."""

    @property
    def journal(self) -> Journal:
        """Limits the log lines about all of them."""
        ...


@runtime_checkable
class HalfOpen(Protocol):
    """A transport whose peer may close its sending end, and still read answers."""

    @property
    def can_still_send(self) -> bool:
        """Whether messages may still reach the peer after `connection_lost` was called without a reason."""
        ...


@runtime_checkable
class Finite(Protocol):
    """A channel that ends with what is open on it, when the last request that came over it is answered or cancelled."""

    def finish(self) -> None:
        """Handle that nothing is open on the channel any more; the last answer was sent before."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A channel that the peer can resume: what is sent after it was closed is kept until then."""

    def close_stream(self) -> None:
        """Close the stream to the peer now; work on the request continues, and `send` keeps what it is given."""
        ...
