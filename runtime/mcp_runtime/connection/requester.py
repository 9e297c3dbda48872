"""Who is at the other end, as a value: what it speaks, what it declared, how its messages are read."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_runtime.binding import Binding
from mcp_runtime.connection.answers import Answers
from mcp_runtime.method import AnyMethod, Direction
from mcp_runtime.protocol.capabilities import is_open, sendable
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.validation import Reader

if TYPE_CHECKING:
    from mcp_runtime.bridge.wire import Wire

_EMBEDDED: Final = Direction.EMBEDDED  # once, since Python 3.11 runs code to find a member of an enumeration
_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
_NOTHING: Final[Mapping[Side, Mapping[str, Any]]] = MappingProxyType({Side.CLIENT: _EMPTY, Side.SERVER: _EMPTY})


class Requester(NamedTuple):
    """What is known of whoever sent a message.

    The legacy era has one for each handshake, the modern era one for each request, and equal ones are shared. It is a
    tuple, since `dataclasses.replace` would cost a tenth of opening a session.

    Attributes:
        side: this side of the conversation, not the requester's.
        reader: reads what the peer sends.
        answers: what answers it.
        binding: the generated revision that this side is written against; None before one is agreed upon.
        wire: the bridge to the revision that is spoken; None if that is this side's own.
        declared: the capabilities of both sides, by wire names.
        may_send: the methods that this side may send, as far as capabilities go.
        may_receive: the methods that the peer may send.
        info: how the peer names itself, by wire names (``name``, ``version``, ...); empty if it has not.
        instructions: what the server says on how to use it; None if nothing.
        log_level: the least severe level of log messages that the client wants; None until it says so.
        meta: the `_meta` that every request to it must carry.
        principal: who it is for the transport, None if that does not know.
        headers: what else the transport says of its messages.
    """

    side: Side
    reader: Reader
    answers: Answers
    binding: Binding | None = None
    wire: "Wire | None" = None
    declared: Mapping[Side, Mapping[str, Any]] = _NOTHING
    may_send: frozenset[str] = frozenset()
    may_receive: frozenset[str] = frozenset()
    info: Mapping[str, Any] = _EMPTY
    instructions: str | None = None
    log_level: str | None = None
    meta: Mapping[str, Any] = _EMPTY
    principal: str | None = None
    headers: Mapping[str, str] = _EMPTY

    @property
    def is_modern(self) -> bool:
        """Whether it speaks a revision of the modern era, over a bridge or not."""
        binding = self.binding if self.wire is None else self.wire.binding
        return binding is not None and binding.era == "modern"

    @property
    def spoken(self) -> Binding | None:
        """The generated revision that is spoken, None before one is agreed upon."""
        return self.wire.binding if self.wire is not None else self.binding

    @property
    def revision(self) -> str:
        """The revision that is spoken, empty before one is agreed upon."""
        spoken = self.spoken
        return spoken.revision if spoken is not None else ""

    @property
    def result_tag(self) -> str:
        """The property that tells the results of a request apart in the revision that is spoken; empty if none does."""
        spoken = self.spoken
        return spoken.result_tag if spoken is not None else ""

    def method(self, name: str) -> AnyMethod | None:
        """Return the record of a method in this side's own revision, else in the one that is spoken."""
        own = self.binding.methods.get(name) if self.binding is not None else None
        return self.wire.binding.methods.get(name) if own is None and self.wire is not None else own

    def has(self, method: str) -> bool:
        """Whether the revision that is spoken has a method of this side's."""
        return self.wire is None or self.wire.has(method)

    def may_ask(self, method: AnyMethod) -> bool:
        """Whether the peer may send a request, as far as capabilities go."""
        sent = method if self.wire is None else self.wire.spoken(method)
        return sent.direction is not _EMBEDDED and (not method.capability or method.name in self.may_receive)

    def is_open(self, path: str, sender: Side) -> bool:
        """Whether a side may send what needs a capability."""
        return is_open(path, sender, self.declared)

    def declaring(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> "Requester":
        """Return the same requester, with what both sides declared and what else is known of it."""
        declared, spoken = {self.side: own, self.side.other: peers}, self.spoken
        assert spoken is not None
        return self._replace(
            declared=declared,
            may_send=sendable(spoken.methods, self.side, declared),
            may_receive=sendable(spoken.methods, self.side.other, declared),
            **known,
        )
