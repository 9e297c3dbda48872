"""What is known of a peer, and how it is learned."""

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
    inbound: Inbound

    @property
    def requester(self) -> Requester:
        """What is known of the peer: its revision, its capabilities."""
        return self._link.requester

    @property
    def revision(self) -> str:
        """The revision in use; empty until it is agreed on."""
        return self._link.revision

    @property
    def current(self) -> Requester:
        """The requester of the message being handled: in the modern era each request has one."""
        return self._link.requester_for()

    @property
    def binding(self) -> Binding | None:
        """The generated revision that this side is written against; None until it is agreed on."""
        return self.requester.binding

    @property
    def declared(self) -> Mapping[Side, Mapping[str, Any]]:
        """The capabilities of both sides, keyed by wire names."""
        return self.requester.declared

    @property
    def peer_info(self) -> Mapping[str, Any]:
        """The peer's name and version, keyed by wire names (``name``, ``version``, ...); empty until received."""
        return self.requester.info

    @property
    def instructions(self) -> str | None:
        """The server's instructions for use; None if it has none."""
        return self.requester.instructions

    @property
    def log_level(self) -> str | None:
        """The minimum level of log messages that the client wants; None until it sets one."""
        return self.requester.log_level

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""
        return self.requester.meta

    def bind(self, binding: Binding, stub: Any, context: Callable[..., Any], wire: "Wire | None" = None) -> None:
        """Use a revision, or another one over a bridge.

        Args:
            binding: the revision that this side is written against; handlers of any other are removed.
            stub: the peer, as handlers see it.
            context: builds the second argument of handlers from the stub, the id of a request, and its `Exchange`.
            wire: the bridge to the revision in use; None if there is none.
        """
        if self.binding is not None and self.binding is not binding:
            self.inbound.forget(self.binding.methods)
        self._link.bind(binding, wire)
        answers = self._link.requester.answers
        answers.stub, answers.context = stub, context

    def learn(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> None:
        """Set the declared capabilities of both sides, and what else is known of the peer.

        Args:
            own: the capabilities of this side, keyed by wire names.
            peers: the capabilities of the peer.
            known: fields of its `Requester`.
        """
        self._link.requester = self._link.requester.declaring(own, peers, **known)

    def set_log_level(self, level: str) -> None:
        """Send only log messages of at least this level.

        Args:
            level: the RFC 5424 name of the level.
        """
        self._link.requester = self._link.requester._replace(log_level=level)

    @contextmanager
    def set_up_for(self, requester: Requester) -> Generator[None]:
        """Set up handlers and features for a requester other than that of the handshake, within this context.

        Args:
            requester: the requester.
        """
        kept, self._link.requester = self._link.requester, requester
        try:
            yield
        finally:
            self._link.requester = kept
