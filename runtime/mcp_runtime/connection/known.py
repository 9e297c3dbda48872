"""What is known of a peer, and how that is learned."""

from abc import ABC
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp_runtime.binding import Binding
from mcp_runtime.connection.inbound import Inbound
from mcp_runtime.connection.link import Link
from mcp_runtime.connection.requester import Requester
from mcp_runtime.protocol.legacy import Side

if TYPE_CHECKING:
    from mcp_runtime.bridge.wire import Wire


class KnowsPeer(ABC):
    """Has a requester: that of the handshake, in the legacy era."""

    _link: Link
    _inbound: Inbound

    @property
    def requester(self) -> Requester:
        """What is known of the peer: what it speaks, what it declared."""
        return self._link.requester

    @property
    def revision(self) -> str:
        """The revision that is spoken, empty until it is agreed upon."""
        return self._link.revision

    @property
    def current(self) -> Requester:
        """The requester of the message that is being handled: in the modern era each request has one."""
        return self._link.requester_for()

    @property
    def binding(self) -> Binding | None:
        """The generated revision that this side is written against, None until it is agreed upon."""
        return self.requester.binding

    @property
    def declared(self) -> Mapping[Side, Mapping[str, Any]]:
        """The capabilities of both sides, by wire names."""
        return self.requester.declared

    @property
    def peer_info(self) -> Mapping[str, Any]:
        """How the peer names itself, by wire names (``name``, ``version``, ...); empty until it has."""
        return self.requester.info

    @property
    def instructions(self) -> str | None:
        """What the server says on how to use it; None if nothing."""
        return self.requester.instructions

    @property
    def log_level(self) -> str | None:
        """The least severe level of log messages that the client wants; None until it says so."""
        return self.requester.log_level

    def bind(self, binding: Binding, stub: Any, context: Callable[..., Any], wire: "Wire | None" = None) -> None:
        """Speak a revision, or another one over a bridge.

        Args:
            binding: the revision that this side is written against; handlers of another one are forgotten.
            stub: the peer, as handlers see it.
            context: makes what a handler gets beside the params: of the stub, the id of a request, and its `Exchange`.
            wire: the bridge to the revision that is spoken.
        """
        if self.binding is not None and self.binding is not binding:
            self._inbound.forget(self.binding.methods)
        self._link.bind(binding, wire)
        answers = self._link.requester.answers
        answers.stub, answers.context = stub, context

    def learn(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> None:
        """Set what both sides can do, as they declared it, and what else is known of the peer.

        Args:
            own: the capabilities of this side, by wire names.
            peers: those of the peer.
            known: fields of its `Requester`.
        """
        self._link.requester = self._link.requester.declaring(own, peers, **known)

    def set_log_level(self, level: str) -> None:
        """Send only log messages that are at least so severe."""
        self._link.requester = self._link.requester._replace(log_level=level)

    @contextmanager
    def set_up_for(self, requester: Requester) -> Generator[None]:
        """Set up handlers and features for another requester than that of the handshake, within this context."""
        kept, self._link.requester = self._link.requester, requester
        try:
            yield
        finally:
            self._link.requester = kept
