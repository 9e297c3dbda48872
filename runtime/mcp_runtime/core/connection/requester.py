"""The other end, as a value: its revision, its capabilities, how its messages are read, and what answers them."""

import json
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_runtime.core import sources
from mcp_runtime.core.binding import Binding, Wire
from mcp_runtime.core.errors import UNDECLARED, LocalProtocolError, MissingCapability
from mcp_runtime.core.functions import scopes_of
from mcp_runtime.core.method import AnyMethod, AnyRequest, WireType
from mcp_runtime.core.options import CacheHint, CallOptions
from mcp_runtime.core.protocol.capabilities import is_open, sendable
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import named_in
from mcp_runtime.core.protocol.validation import Reader

Effect: TypeAlias = Callable[[str], Awaitable[Any]]
"""Does the work, given an idempotency key; returns a JSON value."""


def json_of(name: str, result: Any) -> Any:
    """Return the result of recorded work after a JSON round trip, so that it is the same each time.

    Raises:
        TypeError: it is not JSON.
    """
    try:
        return json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"recorded({name!r}): the work must return JSON: {error}") from None


Handler: TypeAlias = Callable[[Any, Any], Coroutine[Any, Any, Any]]
"""Takes the typed params and the context; returns the typed result."""


class ResultQuestions:
    """How handlers ask their requester in the results of its requests (2026-07-28, basic/patterns/mrtr): here, not.

    Sessions need no other, since their servers ask in requests, and since a handler does recorded work only once.
    """

    are_possible = False
    """Whether handlers can ask."""

    @property
    def outlive_requests(self) -> bool:
        """Whether handlers can also ask once the request was answered, as those of tasks can."""
        return False

    async def ask(
        self, call: Any, method: AnyRequest, type_: WireType[Any], params: bytes | None, options: CallOptions | None
    ) -> Any:
        """Ask in the result of a request, and wait for the answer.

        Args:
            call: the request, an `Exchange`.
            method: the method of the question.
            type_: the type of the answer.
            params: the encoded params.
            options: the options of the question.

        Raises:
            McpError: there will be no answer.
        """
        raise NotImplementedError

    def resume(self, received: Any, state: Any) -> bool:
        """Let the handler that asked continue with another request; return whether it does, or a new one is needed.

        Args:
            received: the request, an `Exchange`.
            state: its ``requestState``.

        Raises:
            PeerError: neither is allowed.
        """
        return False

    async def recorded(self, call: Any, name: str, effect: Effect) -> Any:
        """Do a piece of a handler's work, or return its recorded result; see `Context.recorded`.

        Args:
            call: the request, an `Exchange`.
            name: the name of the piece.
            effect: does it.
        """
        return json_of(name, await effect(sources.token_hex(16)))


NO_QUESTIONS: Final = ResultQuestions()
_NO_HINTS: Final[Mapping[str, CacheHint]] = MappingProxyType({})


def _unbound(*arguments: object) -> Any:
    raise RuntimeError("no revision is agreed on yet")


ScopesFor: TypeAlias = Callable[[str, str | None], tuple[str, ...]]


@dataclass(slots=True, eq=False)
class Answers:
    """What answers a requester's messages, in one revision.

    Attributes:
        handlers: the record and the handler of each method, by name.
        stub: the requester, as handlers see it; None before a revision is agreed on.
        context: builds the second argument of handlers from the stub, the id of a request, and its `Exchange`.
        hints: how long results may be cached, by method, unless handlers say so.
        stamp: the beginning of each result, see `jsonrpc.stamp`; empty in the legacy era.
        state: what the server's lifespan yielded, alone in a sequence; an empty one without a lifespan.
        questions: how handlers ask the requester in results.
        scopes_for: returns the scopes that a request needs, given its method and the name or URI in its params.
        notify_listeners: passes changes reported by a legacy-era handler to the listeners; None if that is an error.
    """

    handlers: dict[str, tuple[AnyMethod, Handler]] = field(default_factory=dict[str, tuple[AnyMethod, Handler]])
    stub: Any = None
    context: Callable[..., Any] = _unbound
    hints: Mapping[str, CacheHint] = field(default_factory=lambda: _NO_HINTS)
    stamp: bytes = b""
    state: Sequence[Any] = ()
    questions: ResultQuestions = NO_QUESTIONS
    scopes_for: ScopesFor = lambda method, name: ()
    notify_listeners: Callable[[AnyMethod, Any], None] | None = None

    def serve(self, state: Sequence[Any], scopes_for: ScopesFor) -> None:
        """Answer for a server with what its lifespan yielded, and the scopes that its functions need."""
        self.state, self.scopes_for = state, scopes_for

    def needed(self, method: str, params: Mapping[str, Any]) -> frozenset[str]:
        """Return the scopes that a request needs, whether or not its handler has checked them yet.

        Args:
            method: the method of the request.
            params: its params, keyed by wire names.
        """
        name, handler = named_in(params), self.handlers.get(method, (None, None))[1]
        return frozenset((*self.scopes_for(method, name), *scopes_of(handler, name)))


async def ignore(params: Any, context: Any) -> None:
    """Handle a notification that only middleware or a stream wants."""


_NO_SESSION: Final = "which clients declare in a session, and this server is stateless: it has none"
_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
_NOTHING: Final[Mapping[Side, Mapping[str, Any]]] = MappingProxyType({Side.CLIENT: _EMPTY, Side.SERVER: _EMPTY})


UNKNOWN_CLIENT: Final[Mapping[str, Any]] = {"name": "unknown", "version": ""}
"""The `info` of a legacy client without a session, of which a stateless server knows nothing."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated sender of a message. Two are equal if they have the same `key`.

    Attributes:
        subject: who it is, as the issuer calls it; empty for a client that acts for itself.
        issuer: the URL of the authorization server that says so; empty if the program says so.
        client: the id of the OAuth client; empty if unknown.
        scopes: what was granted, including what that implies.
        expires: when this is no longer accepted, in seconds since the epoch; None if unknown.
        claims: what the issuer says of it, keyed by the names of the claims.
        key: identifies it among all issuers.
    """

    subject: str = field(compare=False)
    issuer: str = field(default="", compare=False)
    client: str = field(default="", compare=False)
    scopes: frozenset[str] = field(default=frozenset(), compare=False)
    expires: float | None = field(default=None, compare=False)
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)
    key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # URLs have no blanks, and begin with neither of these words.
        own = f"{self.issuer} {self.subject}" if self.issuer else self.subject
        object.__setattr__(self, "key", own if self.subject else f"client {self.issuer} {self.client}")

    def __str__(self) -> str:
        return self.key

    def has(self, scopes: Collection[str]) -> bool:
        """Whether it was granted all of these `scopes`."""
        return self.scopes.issuperset(scopes)


class Requester(NamedTuple):
    """What is known of the sender of a message.

    The legacy era has one per handshake, the modern era one per request, and equal ones are shared. It is a tuple,
    since `dataclasses.replace` takes a tenth of the row "open a session in memory".

    Attributes:
        side: this side of the conversation, not the requester's.
        reader: reads what the peer sends.
        answers: answers its messages.
        binding: the generated revision that this side is written against; None before one is agreed on.
        wire: the bridge to the revision in use; None if that is this side's own.
        spoken: the revision in use; None before one is agreed on.
        revision: its name; may be empty.
        is_modern: whether it has no handshake.
        result_tag: the property that distinguishes the kinds of result of one request; may be empty.
        declared: the capabilities of both sides, keyed by wire names.
        may_send: the methods that this side may send, given the capabilities.
        may_receive: the methods that the peer may send.
        info: its name and version, keyed by wire names (``name``, ``version``, ...); empty if it has sent none.
        instructions: the server's instructions for use; None if it has none.
        log_level: the minimum level of log messages that the client wants; None until it sets one.
        meta: the `_meta` that every request to it must carry.
        principal: the `Principal.key` of the sender, or None; its scopes and claims belong to each message.
        address: where it connects from: an IPv4 address or the /64 of an IPv6 address; None if no one else can connect.
        headers: further information from the transport about its messages.
    """

    side: Side
    reader: Reader
    answers: Answers
    binding: Binding | None = None
    wire: Wire | None = None
    spoken: Binding | None = None
    revision: str = ""
    is_modern: bool = False
    result_tag: str = ""
    declared: Mapping[Side, Mapping[str, Any]] = _NOTHING
    may_send: frozenset[str] = frozenset()
    may_receive: frozenset[str] = frozenset()
    info: Mapping[str, Any] = _EMPTY
    instructions: str | None = None
    log_level: str | None = None
    meta: Mapping[str, Any] = _EMPTY
    principal: str | None = None
    address: str | None = None
    headers: Mapping[str, str] = _EMPTY

    @property
    def peer(self) -> str | None:
        """The name that limits per peer use: the principal, or else the address; None for the connection itself."""
        return self.address if self.principal is None else self.principal

    def method(self, name: str) -> AnyMethod | None:
        """Return the record of a method in this side's own revision, or else in the one in use."""
        own = self.binding.methods.get(name) if self.binding is not None else None
        return self.wire.binding.methods.get(name) if own is None and self.wire is not None else own

    def has(self, method: AnyMethod) -> bool:
        """Whether the revision in use has a method of this side's."""
        return self.wire is None or self.wire.has(method)

    def is_open(self, path: str, sender: Side) -> bool:
        """Whether a side may send what needs a capability."""
        return is_open(path, sender, self.declared)

    def lacks(self, purpose: str, path: str, *more: str) -> MissingCapability:
        """Return the error for capabilities that it did not declare."""
        because = UNDECLARED if self.info != UNKNOWN_CLIENT else _NO_SESSION
        return MissingCapability(path, purpose, *more, because=because)

    def forbids(self, method: AnyMethod, reason: str) -> LocalProtocolError:
        """Return the error for a message that must not be sent to it."""
        return LocalProtocolError(revision=self.revision or "MCP", method=method.name, reason=reason)

    def speaking(self, binding: Binding, wire: Wire | None, reader: Reader) -> "Requester":
        """Return the requester with its revision: that of the binding, or the one at the other end of a bridge."""
        spoken = binding if wire is None else wire.binding
        return self._replace(
            binding=binding,
            wire=wire,
            reader=reader,
            spoken=spoken,
            revision=spoken.revision,
            is_modern=spoken.era == "modern",
            result_tag=spoken.result_tag,
        )

    def declaring(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> "Requester":
        """Return the same requester, with declared capabilities and other information."""
        declared, spoken = {self.side: own, self.side.other: peers}, self.spoken
        assert spoken is not None
        return self._replace(
            declared=declared,
            may_send=sendable(spoken, self.side, declared),
            may_receive=sendable(spoken, self.side.other, declared),
            **known,
        )
