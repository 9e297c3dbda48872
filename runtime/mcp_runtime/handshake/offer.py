"""What a side offers when a conversation begins: its features, its capabilities, its name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.feature import Feature
from mcp_runtime.connection.transport import Channel
from mcp_runtime.features.keepalive import KeepAlive
from mcp_runtime.features.logs import Logging
from mcp_runtime.features.subscriptions import ListChanges, Subscriptions
from mcp_runtime.features.tasks.receiver import Tasks
from mcp_runtime.features.tasks.related import RelatedTasks
from mcp_runtime.handlers import ServerHandlers
from mcp_runtime.handshake.arguments import check_extensions
from mcp_runtime.protocol.capabilities import derive, merge, put
from mcp_runtime.protocol.names import AREAS
from mcp_runtime.settings import ServerOptions, Settings

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Bridges
    from mcp_runtime.bridge.wire import Wire


@dataclass(frozen=True, slots=True)
class Served:
    """The server that answers in a revision, over bridges if that is not its own."""

    server: ServerHandlers
    bridges: "Bridges | None" = None

    def era(self, revision: str) -> str:
        """Return how conversations in a revision begin: ``legacy`` or ``modern``."""
        return self.server.__binding__.era if self.bridges is None else self.bridges.era(revision)

    def wire(self, revision: str) -> "Wire | None":
        """Return the bridge to a revision; None if it is the server's own."""
        return wire_to(self.bridges, revision)


class Offer:
    """What one side offers over one connection, in the revision that it is bound to.

    Args:
        connection: the connection, with its revision and handlers.
        answered: the methods that this side's handlers answer.
        features: the runtime's built-in features, in the order of installation.
        settings: further capabilities.

    Attributes:
        capabilities: what is declared, keyed by wire names.
    """

    def __init__(
        self, connection: Connection, answered: Iterable[str], features: Sequence[Feature], settings: Settings
    ) -> None:
        self._connection = connection
        self._features = features
        self.capabilities = self._declare(answered, settings)

    def _declare(self, answered: Iterable[str], settings: Settings) -> dict[str, Any]:
        connection, wire = self._connection, self._connection.requester.wire
        spoken, own = connection.requester.spoken, connection.binding
        assert spoken is not None and own is not None
        # Where one era has a method, the other one may have a capability.
        known = spoken.methods if own.era == spoken.era else {**own.methods, **spoken.methods}
        declared = derive(connection.side, (known[name] for name in answered if name in known))
        for feature in self._features:
            for path in feature.declares(connection, declared):
                put(declared, path)
        merge(declared, settings.capabilities)
        if settings.experimental:
            declared["experimental"] = dict(settings.experimental)
        if spoken.era == "modern":
            check_extensions(declared)
        return wire.declarable(connection.side, declared) if wire else declared

    def settle(self, theirs: Mapping[str, Any], **known: Any) -> None:
        """Install the features, now that the peer has declared its capabilities.

        Args:
            theirs: the peer's capabilities, keyed by wire names.
            known: further information from the peer: fields of its `Requester`.
        """
        connection, wire = self._connection, self._connection.requester.wire
        theirs = wire.declared(connection.side.other, theirs) if wire else theirs
        connection.learn(self.capabilities, theirs, **known)
        for feature in self._features:
            feature.install(connection)


def common_features(settings: Settings) -> tuple[Feature, ...]:
    """Return the features that either side has."""
    return (*((Tasks(settings.tasks),) if settings.tasks is not None else ()), RelatedTasks(), KeepAlive())


def server_features(options: ServerOptions) -> tuple[Feature, ...]:
    """Return the runtime's built-in features for a server with these options."""
    changing = frozenset(AREAS) if options.list_changed is True else options.list_changed or frozenset[str]()
    logging = (Logging(),) if options.logging else ()
    return (ListChanges(changing), *logging, Subscriptions(options.resource_updates), *common_features(options))


def named(name: str, own: str, title: str) -> dict[str, str]:
    """Return this side's name and version, keyed by wire names; the default version is that of this distribution."""
    info = {"name": name, "version": own or own_version()}
    return {**info, "title": title} if title else info


def introduced(server: ServerHandlers, options: ServerOptions) -> dict[str, str]:
    """Return a server's name and version, keyed by wire names."""
    return named(options.name or type(server).__name__, options.version, options.title)


def wire_to(bridges: "Bridges | None", revision: str) -> "Wire | None":
    """Return the bridge to a revision; None if there are no bridges, or the revision is the implementation's own."""
    if bridges is None or revision == bridges.binding.revision:
        return None
    # Conversions cost nothing where none is needed.
    from mcp_runtime.bridge.wire import Wire

    return Wire(bridges, revision)


def identity(channel: Channel) -> tuple[str | None, Mapping[str, str]]:
    """Return the principal of a channel and the headers of its messages, as far as its transport has them."""
    return getattr(channel, "principal", None), getattr(channel, "headers", {})


@cache
def own_version() -> str:
    """Return the version of this distribution."""
    try:
        return version("mcp-bindgen")
    except PackageNotFoundError:
        return "0"
