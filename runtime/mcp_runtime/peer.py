"""The other side: as generated stubs see it, and as a transport that is not yet in use."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.options import Caller

if TYPE_CHECKING:
    from mcp_runtime.connection.connection import Connection
    from mcp_runtime.connection.notifications import NotificationStream
    from mcp_runtime.connection.transport import Transport
    from mcp_runtime.model import WireModel

__all__ = ["Peer"]


P = TypeVar("P")
MetaT = TypeVar("MetaT", bound="WireModel")


class Stub:
    """Base class of generated stubs: the peer as reached through a `Caller`.

    Args:
        caller: sends the messages.
    """

    __binding__: ClassVar[Binding]

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @property
    def __caller__(self) -> Caller:
        """The caller that sends the messages."""
        return self._caller

    @property
    def connection(self) -> "Connection":
        """The connection to the peer: its state, the peer's identity, vendor requests, and closing.

        Raises:
            TypeError: the stub uses a caller that is not a connection.
        """
        from mcp_runtime.connection.connection import Connection

        # A caller that adds something to each message wraps a connection itself.
        found = getattr(self._caller, "connection", self._caller)
        if not isinstance(found, Connection):
            raise TypeError(f"this stub uses a {type(self._caller).__name__}, not a connection")
        return found

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the peer declared, by wire names; in the modern era, with the current request."""
        requester = getattr(self._caller, "requester", None) or self.connection.requester
        declared: Mapping[str, Any] = requester.declared[requester.side.other]
        return declared

    def has(self, path: str) -> bool:
        """Whether the peer declared a capability.

        Args:
            path: its path, such as ``tools``, ``resources.subscribe`` or ``experimental.acme``.
        """
        from mcp_runtime.protocol.capabilities import declares

        return declares(self.capabilities, path)

    def notifications(self, method: NotificationMethod[P], *, limit: int = 1000) -> "NotificationStream[P]":
        """Iterate over the params of the notifications of one method that arrive from now on.

        Args:
            method: a record of the `methods` module of the revision's package.
            limit: how many notifications are buffered for a slow reader; the oldest are dropped and counted.
        """
        return self.connection.notifications(method, limit=limit)

    def _meta(self, type_: type[MetaT], meta: MetaT | Mapping[str, Any] | None) -> MetaT:
        """Return the metadata that was passed (an object, or keyed by wire names), with what every request must carry.

        Raises:
            LocalProtocolError: it names a revision other than the one in use.
            pydantic.ValidationError: it is not valid.
        """
        if meta is None:
            # Only connections share it. Looked up in the class, since a caller that delegates attributes to one may add
            # metadata in `request_meta`.
            plain: Callable[[Caller, type[MetaT]], MetaT] | None = getattr(type(self._caller), "plain_meta", None)
            if plain is not None:
                return plain(self._caller, type_)
        from mcp_runtime.protocol.modern import merged

        given = meta if isinstance(meta, Mapping) else meta.model_dump(mode="json") if meta is not None else {}
        return type_.model_validate(merged(self._caller.request_meta(), given))

    @staticmethod
    def _given(method: RequestMethod[P, Any], arguments: Mapping[str, Any]) -> P | None:
        """Build the params of a method from keyword arguments."""
        return method.params.build(arguments) if method.params else None


class Peer:
    """A peer that can be reached over a transport.

    Args:
        transport: carries the messages.
        again: returns another transport to the same peer, restarting it if necessary, or None if there is no other;
            None if there never is.

    Attributes:
        transport: carries the messages.
        connection: the conversation, once it has begun; None before.
    """

    def __init__(self, transport: "Transport", again: "Callable[[], Transport | None] | None" = None) -> None:
        self.transport = transport
        self._again = again
        self.connection: Connection | None = None

    def renew(self) -> bool:
        """Replace a lost transport with a new one; return whether that was possible."""
        found = self._again() if self._again is not None else None
        self.transport = found or self.transport
        return found is not None

    async def aclose(self) -> None:
        """Close the conversation and the transport; safe to call again."""
        if self.connection is not None:
            await self.connection.aclose()
        await self.transport.close()
