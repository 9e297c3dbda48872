"""What a part of the runtime is that plays its part of the protocol by itself."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from mcp_runtime.connection.connection import Connection


class Feature(Protocol):
    """A part of the protocol that the runtime plays by itself; a value that serves any number of connections.

    Both methods are called once the revision and this side's own handlers are known, `install` also once the peer has
    declared what it can do.
    """

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Return the capabilities that this side has because of it.

        Args:
            connection: the connection, with its revision and handlers.
            declared: what this side declares so far, by wire names.
        """
        ...

    def install(self, connection: Connection) -> None:
        """Answer methods on a connection, in front of this side's own handlers or in their place."""
        ...
