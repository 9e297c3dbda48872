"""A server of one revision that talks to clients of several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.policy import Action, Bridging, OnLoss

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Bridges


class Bound(Protocol):
    """An object of a generated class, as far as a bridge has to know it."""

    __binding__: ClassVar[Binding]


ServerT = TypeVar("ServerT", bound=Bound)
Server_co = TypeVar("Server_co", bound=Bound, covariant=True)


@dataclass(frozen=True, slots=True)
class BridgedServer(Generic[Server_co]):
    """A server with bridges to other revisions, to be served like the server itself; see `bridge`.

    Attributes:
        server: the implementation.
        bridges: its bridges.
    """

    server: Server_co
    bridges: "Bridges"


def bridge(
    server: ServerT,
    revisions: Sequence[str] | None = None,
    *,
    policy: Mapping[str, Action] | None = None,
    on_loss: OnLoss | None = None,
) -> BridgedServer[ServerT]:
    """Let a server of one revision talk to clients of several.

    Args:
        server: an object of a generated `Server`; its handlers see only the types of its own revision.
        revisions: the revisions to offer beside its own; None for all that are installed with it.
        policy: what is done with what a revision cannot say, by kind (docs/bridging.md); `Action.FALLBACK` for kinds
            that are not named.
        on_loss: is told of every loss, each kind once per connection, method and place; the log is told too.

    Raises:
        ValueError: the package of the server has no conversions, or the policy names a kind that does not exist.
        UnsupportedRevision: a revision is not installed.
    """
    from mcp_runtime.bridge.revisions import Bridges

    offered = None if revisions is None else tuple(revisions)
    bridging = Bridging(revisions=offered, policy=policy or {}, on_loss=on_loss)
    return BridgedServer(server, Bridges(server.__binding__, bridging))
