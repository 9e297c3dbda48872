"""What is known of a peer, read from its requester."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from mcp_runtime.binding import Binding
from mcp_runtime.connection.requester import Requester
from mcp_runtime.protocol.legacy import Side


class KnowsPeer(ABC):
    """Has a requester: that of the handshake, in the legacy era."""

    @property
    @abstractmethod
    def requester(self) -> Requester:
        """What is known of the peer: what it speaks, what it declared."""

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
