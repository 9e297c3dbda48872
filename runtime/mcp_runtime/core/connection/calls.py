"""Messages while they are open: received ones, and requests of this side; and the limits that peers share (`Pool`)."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from mcp_runtime.core.connection.requester import Handler, Principal, Requester
from mcp_runtime.core.connection.timers import Gate
from mcp_runtime.core.connection.transport import NO_SCOPES, Channel
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.method import AnyMethod, AnyRequest, WireType
from mcp_runtime.core.options import CallOptions, Progress
from mcp_runtime.core.protocol.dispatch import NEVER, Action, Batch, Booked, SentCall
from mcp_runtime.core.protocol.jsonrpc import INVALID_REQUEST, Id, Notification, Request, meta_of

ENDS: Final = (KeyboardInterrupt, SystemExit)
"""Exceptions that end the program, not only a handler."""
LIGHT: Final = 4096
"""Messages up to this size in bytes are not counted while they are handled, since their number is limited anyway."""
_VALUE: Final = 64
"""Approximate memory in bytes of a JSON value in addition to its text."""


def weight(text: bytes) -> int:
    """Return the approximate memory of a parsed message: each value follows a bracket, a colon or a comma."""
    values = text.count(b",") + text.count(b":") + text.count(b"[") + text.count(b"{")
    return 2 * len(text) + _VALUE * values


class Pool:
    """What peers share, such as requests or bytes: none of them gets more than half of it.

    A peer that is None is the only one that can connect; it may use all.

    Args:
        size: how much there is.

    Attributes:
        used: how much is in use.
    """

    __slots__ = ("_by_peer", "_share", "size", "used")

    def __init__(self, size: int) -> None:
        self.size: Final = size
        self.used = 0
        self._share = (size + 1) // 2
        self._by_peer: dict[str, int] = {}

    def has_room(self, peer: str | None, amount: int = 1) -> bool:
        """Whether a peer may use more."""
        if self.used + amount > self.size:
            return False
        return peer is None or self._by_peer.get(peer, 0) + amount <= self._share

    def has_its_share(self, peer: str | None) -> bool:
        """Whether a peer may not use more, however much there is."""
        return peer is not None and self._by_peer.get(peer, 0) >= self._share

    def take(self, peer: str | None, amount: int = 1) -> bool:
        """Use more for a peer if there is room; return whether there was."""
        if not self.has_room(peer, amount):
            return False
        self.add(peer, amount)
        return True

    def add(self, peer: str | None, amount: int) -> None:
        """Use more for a peer, even if there is no room; or less, if negative."""
        self.used += amount
        if peer is not None:
            self._by_peer[peer] = left = self._by_peer.get(peer, 0) + amount
            if not left:  # only peers that use something are remembered
                del self._by_peer[peer]


class ReservedBytes(Pool):
    """The approximate memory in bytes taken by the messages of a connection; a single message may exceed the size."""

    __slots__ = ()

    def reserve(self, text: bytes, parts: int, peer: str | None) -> Callable[[], None] | None:
        """Count a message, or one of `parts` in a batch; return what releases it, or None if there is no room."""
        more = weight(text) // parts
        if self.used and not self.has_room(peer, more):
            return None
        self.add(peer, more)
        return partial(self.add, peer, -more)


class Way(StrEnum):
    """The direction of a message."""

    RECEIVED = "received"
    SENT = "sent"


LACKING: Final = "the access token needs the scopes {}"


class Keeper(Protocol):
    """Keeps a call open after its handler has returned."""

    def hold(self, answer: bytes) -> None:
        """Keep the encoded answer, to be sent at the end."""

    def ended(self) -> None:
        """Handle that the call is no longer open, whatever the cause; called once."""


class Reply(Booked):
    """What answers a call; a handler that asks its client in a result goes on with the reply to another request.

    Args:
        connection: the connection that answers; None for what has no answer.
        message: the message as received.
        channel: the channel that it came over.
        batch: the batch that it belongs to.
        book: the open requests among which its id is unique; None for what has no answer.
        action: what happens to a request.

    Attributes:
        call: the call that it answers; None once it is not open any more.
    """

    channel: Channel

    def __init__(
        self,
        connection: Any,
        message: Request | Notification,
        channel: Channel,
        batch: Batch | None = None,
        *,
        book: dict[Id, Any] | None = None,
        action: Action = Action.DELIVER,
    ) -> None:
        self.message, self.name, self.id = message, message.method, message.id
        self.channel, self.batch, self.book, self.action = channel, batch, book, action
        meta: Any = None if book is None or message.params is None else message.params.get("_meta")
        token: Any = meta.get("progressToken") if meta.__class__ is dict else None
        self.token = token if token.__class__ is int or token.__class__ is str else None
        self.call: Call | None = None if connection is None else connection.call_type(connection, self)


class Call:
    """A request or a notification while it is handled; see `Exchange`, which handlers and middleware receive.

    Args:
        connection: the connection that it was received or is sent on.
        reply: what answers it; one that is not open, unless it is a request of the peer.

    Attributes:
        name: its method.
        requester: its sender, or the peer that it is sent to.
        text: the message, or the batch that contains it, until its params are read.
        parts: how many messages the text contains.
        principal: the authenticated sender, with what its token allows; None if unknown. It is the latest sender that
            began the call or let it continue: by a retry, or by an answer to a question.
        scopes: those that the functions that it called needed, and that whoever lets it continue needs too.
        held: its share of the limit on held messages; None if it has none.
        task: the task of its handler; None before that runs.
        gate: limits its progress reports; None before the first.
        has_wrong_progress: whether its handler reported invalid progress, which is logged once.
        resumed: done when a handler that asked its requester in a result can continue with another request, maybe on
            another connection; None if it never asked.
        keeper: keeps it open after its handler has returned; None for most.
    """

    method: AnyMethod
    params: Any
    requester: Requester
    task: "asyncio.Task[None]"
    way: Way = Way.RECEIVED
    scopes: frozenset[str] = NO_SCOPES
    text: bytes = b""
    parts: int = 1
    held: Callable[[], None] | None = None
    gate: Gate[tuple[float, float | None, str | None]] | None = None
    has_wrong_progress: bool = False
    is_cancelled: bool = False
    cancel_reason: str | None = None
    resumed: "asyncio.Future[None] | None" = None
    keeper: Keeper | None = None

    def __init__(self, connection: Any, reply: Reply) -> None:
        self.connection, self.reply, self.name = connection, reply, reply.name
        self.principal: Principal | None = reply.channel.principal

    @property
    def id(self) -> Any:
        """The id of the request that it answers now; None for a notification, and for what was not received."""
        return self.reply.id

    @property
    def channel(self) -> Channel:
        """The channel that it came over."""
        return self.reply.channel

    @property
    def is_open(self) -> bool:
        """Whether it is a request of the peer that is neither answered nor cancelled."""
        return self.reply.book is not None

    def lacks(self, scopes: Collection[str]) -> bool:
        """Return whether its sender lacks one of these `scopes`, where the transport has authorization."""
        return self.channel.lacks(scopes, self.principal)

    def require(self, scopes: Collection[str]) -> None:
        """Check that its sender was granted these `scopes`, where the transport has authorization.

        Raises:
            PeerError: it was not.
        """
        if self.lacks(scopes):
            self.channel.lacking = tuple(scopes)
            raise PeerError(INVALID_REQUEST, LACKING.format(" ".join(scopes)))
        if scopes:
            self.scopes = self.scopes.union(scopes)
            self.channel.need(self.scopes)

    def release(self) -> None:
        """Give back its share of the limit on held messages."""
        release, self.held = self.held, None
        if release is not None:
            release()

    def keep_open(self, keeper: Keeper) -> None:
        """Stay open after the handler has returned.

        Args:
            keeper: keeps the answer.
        """
        self.keeper = keeper

    def mark_closed(self) -> None:
        """Note that the request was answered or refused, or that its answer is no longer wanted."""
        keeper, self.keeper = self.keeper, None
        if keeper is not None:
            keeper.ended()

    def mark_cancelled(self, reason: str | None) -> None:
        """Note that the answer is no longer wanted, and the `reason`."""
        self.is_cancelled, self.cancel_reason = True, reason
        self.mark_closed()

    @property
    def is_suspended(self) -> bool:
        """Whether its handler waits for another request to continue with."""
        return self.resumed is not None and not self.resumed.done()

    def resume(self, other: "Call") -> None:
        """Continue with the reply to another request of the same requester, and with that one's capabilities.

        Args:
            other: the other request, whose handler is not called.
        """
        self.connection, self.requester, self.principal = other.connection, other.requester, other.principal
        self.reply = other.reply
        self.reply.call = self
        if self.resumed is not None and not self.resumed.done():
            self.resumed.set_result(None)

    def run(self, handler: Handler, middleware: "AnyMiddleware") -> Awaitable[Any]:
        """Run its `handler` through the `middleware`."""
        answers = self.requester.answers

        def proceed() -> Awaitable[Any]:
            return handler(self.params, answers.context(answers.stub, self.id, self))

        return through(middleware, self, proceed) if middleware else proceed()

    @property
    def raw_params(self) -> Mapping[str, Any]:
        """The params as received, keyed by wire names; empty if there were none."""
        return self.reply.message.params or {}

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the message, keyed by wire names; empty if it has none, or if it was not received."""
        return meta_of(self.reply.message.params)


CURRENT: Final[ContextVar[Call | None]] = ContextVar("mcp_exchange", default=None)
"""The message being handled; tasks and `asyncio.to_thread` inherit it."""


class Pending(SentCall):
    """A request of this side, and the caller that waits for its answer.

    Attributes:
        asker: the call of the same client that asks, and continues with the answer; or None.
        method: its record.
        type: the type of the result.
        future: done with the answer.
        options: the options of the call.
        channel: the channel that it is sent on.
        limit: seconds until it expires.
        latest: when it expires regardless of progress; None until the first report.
        whole: the timeout of the whole call that it belongs to; None if it is alone.
    """

    asker: Call | None = None
    limit: float = 0.0
    latest: float | None = None

    def __init__(
        self,
        method: AnyRequest,
        type_: WireType[Any],
        future: "asyncio.Future[Any]",
        *,
        options: CallOptions,
        channel: Channel,
        whole: asyncio.Timeout | None,
    ) -> None:
        self.name, self.progress = method.name, None if options.progress is None else NEVER
        self.method, self.type, self.future = method, type_, future
        self.options, self.channel, self.whole = options, channel, whole

    def refused(self, channel: Channel) -> tuple[str, ...]:
        """Return the scopes of the call that asks, if the sender of the answer lacks some.

        Otherwise that call continues for this sender.
        """
        asker = self.asker
        if asker is not None and channel.lacks(asker.scopes, channel.principal):
            return tuple(sorted(asker.scopes))
        if asker is not None:
            asker.principal = channel.principal
        return ()


class Lasting(SentCall):
    """What is reported under a token that outlives its request."""

    def __init__(self, listener: Progress) -> None:
        super().__init__("", NEVER)
        self.listener = listener


Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Passes a message on: to the next middleware, and finally to the handler or the peer."""


AnyMiddleware: TypeAlias = Sequence[Callable[[Any, Proceed], Awaitable[Any]]]
"""What wraps the messages of a connection; the first one is outermost."""


def through(middleware: AnyMiddleware, message: Any, last: Proceed) -> Awaitable[Any]:
    """Pass a message through middleware, the first one first, and then to `last`."""
    for each in reversed(middleware):
        last = partial(each, message, last)
    return last()
