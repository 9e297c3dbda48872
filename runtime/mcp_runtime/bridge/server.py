"""A server of one revision that talks to clients of several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.policy import Action, Bridging, OnLoss

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Bridges


class Bound(Protocol):
    """An object of a generated class, as far as a bridge uses it."""

    __binding__: ClassVar[Binding]


ServerT = TypeVar("ServerT", bound=Bound)
Server_co = TypeVar("Server_co", bound=Bound, covariant=True)


@dataclass(frozen=True, slots=True)
class BridgedServer(Generic[Server_co]):
    """A server bridged to other revisions. Serve it like the server itself; see `bridge`.

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
        revisions: the revisions to offer in addition to its own; None for all that are installed.
        policy: the action for each kind of value that a revision cannot express (docs/bridging.md); `Action.FALLBACK`
            by default.
        on_loss: called with each loss, once per kind, connection, method and place. Losses are also logged.

    Raises:
        ValueError: the server's package has no conversions, or the policy names an unknown kind.
        UnsupportedRevision: a revision is not installed.
    """
    from mcp_runtime.bridge.revisions import Bridges

    offered = None if revisions is None else tuple(revisions)
    bridging = Bridging(revisions=offered, policy=policy or {}, on_loss=on_loss)
    return BridgedServer(server, Bridges(server.__binding__, bridging))
