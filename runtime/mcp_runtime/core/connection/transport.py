"""The interface between transports and the runtime.

Both sides use callbacks without awaiting, since a hop through a queue would cost more than processing most messages.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, cast

from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.connection.timers import Gate, Journal
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.protocol.jsonrpc import Id, write_error


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
        scopes: the scopes for lack of which an answer or a cancellation was refused.
        is_answered: whether it is a request, so that an answer is, or was, sent on its channel.
        is_answer: whether it answers an open request of this side.
    """

    verdict: Verdict
    code: int = 0
    reason: str = ""
    is_answered: bool = False
    is_answer: bool = False
    scopes: tuple[str, ...] = ()

    @property
    def error(self) -> bytes:
        """The error response to a refused message, without an id."""
        return write_error(None, self.code, self.reason, null_id=False)

    @property
    def is_accepted(self) -> bool:
        """Whether the message was accepted."""
        return self.verdict is Verdict.ACCEPTED


NO_SCOPES: Final[frozenset[str]] = frozenset()
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
NO_CALLS: Final = cast("dict[Id, Any]", MappingProxyType({}))
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


class Sent(NamedTuple):
    """What a transport may want to know of a message besides its bytes.

    Attributes:
        id: the id of a request; None for other messages.
        method: the method of a request or notification; empty for an answer.
        code: the code of an error response; 0 for other messages.
        cancels: the id of the request of this side that a notification cancels; None for other messages.
        params: the params of a request, as an object; None if it has none.
        meta: what each request of the modern era carries, keyed by wire names; None in the legacy era.
        named: the property of the params that an extension repeats in the header ``Mcp-Name``; empty if none.
    """

    method: str = ""
    id: int | str | None = None
    code: int = 0
    cancels: int | str | None = None
    params: Any = None
    meta: Mapping[str, Any] | None = None
    named: str = ""


ANSWER_SENT: Final = Sent()
"""What is to be known of a result."""


MAX_UNREAD: Final = 1 << 20
"""How many bytes of answers are sent before this side checks whether the peer is reading."""


class Channel(ABC):
    """A path to the peer, with its own sending, draining and pausing.

    The answer to a request is sent on the channel that the request came over, and so is all that belongs to the request
    while it is open. A transport with a single stream is its own only channel.

    Attributes:
        connection: the connection that it belongs to; None before its first message. It sets this and what follows.
        calls: the requests that are open on it, by id; of a transport only those of the modern era, since a session
            books the others.
        asked_bytes: the size of the requests sent since it was last drained.
        unread_bytes: the size of the answers sent immediately since then.
        owed_bytes: the size of the results that handlers' tasks wait for the peer to read.
        posted_bytes: the size of the log messages sent since it was last drained.
        is_reading_paused: whether reading from it is paused until it is drained.
        lacking: the scopes that its request needs, of which the sender lacks some; empty if it was not refused.
        needed: the scopes that the calls on it needed, and had.
        logs: the gate for log messages; None before the first.
        room: set when the peer has read most of the results; None while no handler waits for that.
    """

    connection: Any = None
    calls: dict[Id, Any] = NO_CALLS
    asked_bytes: int = 0
    unread_bytes: int = 0
    owed_bytes: int = 0
    posted_bytes: int = 0
    is_reading_paused: bool = False
    lacking: tuple[str, ...] = ()
    needed: frozenset[str] = NO_SCOPES
    logs: Gate[bytes] | None = None
    room: asyncio.Event | None = None

    principal: Principal | None = None
    """The authenticated sender of the next message; None if unknown."""

    address: str | None = None
    """Where the sender connects from: an IPv4 address or the /64 of an IPv6 address; None if no one else can."""

    headers: Mapping[str, str] = NO_HEADERS
    """What else the transport knows of the sender, such as the headers of its request."""

    has_authorization: ClassVar[bool] = True
    """Whether senders need scopes. Only a transport whose peer may call everything sets it to False, such as stdio."""

    can_resume: bool = False
    """Whether the peer can resume the channel, so that `close_stream` may be called."""

    @abstractmethod
    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Send one message; it is queued if the peer does not read.

        After the channel is lost or closed, messages are dropped silently, unless the transport can resume it.

        Args:
            message: a JSON text without line ends.
            about: what it is, so that no transport has to parse it.
        """

    async def drain(self) -> None:  # noqa: B027
        """Wait until few enough bytes are queued to continue sending, or the channel is lost."""

    def pause_reading(self) -> None:  # noqa: B027
        """Stop delivering messages that arrive on it; backpressure reaches the peer in time."""

    def resume_reading(self) -> None:  # noqa: B027
        """Resume delivering messages."""

    def lacks(self, scopes: Collection[str], principal: Principal | None) -> bool:
        """Whether a `principal` lacks one of these `scopes`; never where the transport has no authorization."""
        return self.has_authorization and bool(scopes) and (principal is None or not principal.has(scopes))

    def need(self, scopes: Collection[str]) -> None:
        """Remember scopes that reading it needs from now on.

        Args:
            scopes: the scopes.
        """
        self.needed = self.needed.union(scopes)

    def finish(self) -> None:  # noqa: B027
        """Handle that nothing is open on the channel any more; the last answer was sent before."""

    def close_stream(self) -> None:  # noqa: B027
        """Close the stream to the peer now; work on the request continues, and `send` keeps what it is given."""


class Receiver(ABC):
    """Receives what a transport carries; all calls come from the event loop's thread, in order."""

    @abstractmethod
    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        """Handle one whole message; return the outcome.

        Args:
            message: one JSON text in UTF-8, with nothing around it.
            channel: the channel that it came over.
            value: the same, if the transport has parsed it.
        """

    @abstractmethod
    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        """Handle that a message over the size limit was discarded; the transport continues.

        Args:
            reason: what was wrong, for people.
            channel: the channel that it came over.
            start: the first few kilobytes of the message, which may contain its id.
            end: the last few kilobytes of the message.
        """

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:  # noqa: B027
        """Handle that one of several channels has ended; the transport continues.

        Requests that came over it are cancelled or continue, depending on their revision.

        Args:
            channel: the channel.
            reason: what went wrong; None if it ended normally.
        """

    def request_lost(self, id_: int | str, reason: TransportError | AuthorizationError) -> None:  # noqa: B027
        """Handle that a request of this side will not be answered; the transport continues.

        Args:
            id_: the id of the request.
            reason: what went wrong.
        """

    def pause_timeouts(self) -> None:  # noqa: B027
        """Suspend the timeouts of all requests, since a person is asked something, until `resume_timeouts`."""

    def resume_timeouts(self) -> None:  # noqa: B027
        """Resume the timeouts, as often as they were suspended."""

    @abstractmethod
    def connection_lost(self, reason: TransportError | None) -> None:
        """Handle that the transport has ended. Called once, last.

        Args:
            reason: what went wrong; None if it ended normally.
        """


class Transport(Channel):
    """Carries whole messages in both directions, in order within each channel.

    It is itself the channel of messages that belong to no open request.
    """

    extensions: Collection[str] = ()
    """The extensions that a client declares because of how it connects: those of its authorization."""
    log_limit: Journal | None = None
    """Limits the log lines about all connections of an endpoint together; None if there is a single one."""
    remembers_era: bool = False
    """Whether it is a client's transport that detects the era of its server, and remembers it for later connections."""

    @abstractmethod
    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages to the receiver.

        Args:
            receiver: receives the messages.

        Raises:
            TransportError: the peer cannot be reached.
        """

    @abstractmethod
    async def close(self) -> None:
        """End the connection as the protocol specifies; safe to call again."""

    @property
    def can_still_send(self) -> bool:
        """Whether messages may still reach the peer after `connection_lost` was called without a reason."""
        return False

    @property
    def era(self) -> str:
        """The era of the server, ``legacy`` or ``modern``; empty until it is detected."""
        return ""

    def learn_era(self, era: str) -> None:
        """Remember the `era` that the server turned out to belong to; empty if it was not the expected one.

        Args:
            era: ``legacy`` or ``modern``; empty to forget it.
        """
