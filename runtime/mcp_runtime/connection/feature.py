"""The interface of features, which implement parts of the protocol."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from mcp_runtime.connection.connection import Connection


class Feature(Protocol):
    """A part of the protocol that the runtime implements; one object serves any number of connections.

    Both methods are called once the revision and this side's own handlers are known, `install` also after the peer has
    declared its capabilities.
    """

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Return the capabilities that this side has because of the feature.

        Args:
            connection: the connection, with its revision and handlers.
            declared: what this side declares so far, keyed by wire names.
        """
        ...

    def install(self, connection: Connection) -> None:
        """Register handlers on a connection, before or instead of this side's own."""
        ...
