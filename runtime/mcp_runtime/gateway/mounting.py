"""Mounts the servers of a host in an App."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from mcp_runtime.app.application import Application
from mcp_runtime.app.changes import reached_by, tell
from mcp_runtime.app.errors import for_author
from mcp_runtime.core import sources
from mcp_runtime.core.handlers import ServerHandlers, Serving
from mcp_runtime.core.protocol import names
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.gateway.asking import OpenCalls
from mcp_runtime.gateway.part import HostPart
from mcp_runtime.host.catalogue import Catalogue, ServerListing
from mcp_runtime.host.host import Host
from mcp_runtime.host.servers import HostServer
from mcp_runtime.host.views import View

_STARTING: Final = 5.0
"""How many seconds lists wait for servers that are starting, counted from the start of the host."""
_AREAS: Final = {"tools": ("tools",), "prompts": ("prompts",), "resources": ("resources", "templates")}
"""What of a listing belongs to each list that clients are notified of."""


def mount_host(app: Application[Any], host: Host[Any]) -> None:
    """Offer the tools, resources and prompts of all servers of a host as an App's own, as they change.

    Tools and prompts have the names of the host's catalogue: ``git__log``. The host is entered with the App's lifespan
    and does not delay it: lists wait at most five seconds for servers that are starting; later ones are announced. A
    server that fails is missing, and calls of its tools say so. The policy of the host decides about each call, and
    gets the context of the client's request as ``call.ctx``. What servers ask, log and report reaches the client whose
    call they mean; where that is not clear, a question is refused.

    Args:
        app: the App.
        host: the host, not entered yet, with the `Client` of the App's revision.

    Raises:
        ValueError: they are of different revisions, the host answers its servers itself (`elicitation` and others) or
            is entered, the App is being served, or another part has the name of a server.
    """
    if reached_by(app):
        raise for_author(ValueError("mount a host before the App is served"))
    _HostMount(app, host).install()


class _HostMount(ServerHandlers):
    """Keeps the host open for as long as the App is served: a part with a lifespan, and nothing else."""

    def __init__(self, app: Application[Any], host: Host[Any]) -> None:
        super().__init__()
        self.app = app
        self.calls = OpenCalls(self._asks_in_results)
        self.options = ServerOptions(lifespan=self._open)
        self._host = host
        self._parts: list[HostPart] = []
        self._listings: dict[str, ServerListing] = {}
        self._until = 0.0
        self._view: tuple[Catalogue | None, View | None] = None, None

    def install(self) -> None:
        """Add the servers to the App."""
        host, binding = self._host, self.app.__binding__
        if host.client_class.__binding__ is not binding:
            own = host.client_class.__binding__.revision
            raise for_author(
                ValueError(f"a Host with a Client of {own} cannot be mounted in an App of {binding.revision}")
            )
        self.app.__check_prefixes__(host.servers)
        host.answer_by(self.calls.answers(), self._changed)
        self._parts = [HostPart(self, server) for server in host.servers.values()]
        Serving.of(self.app).mounted.append(self)
        for part in self._parts:
            self.app.__mount__(part)

    def view(self) -> View:
        """Return all tools of the host."""
        catalogue = self._host.catalogue
        if self._view[0] is not catalogue or self._view[1] is None:
            self._view = catalogue, View(tools=catalogue.tools, omitted=0, host=self._host)
        assert self._view[1] is not None
        return self._view[1]

    def _asks_in_results(self, name: str) -> bool:
        server = self._host.servers[name]
        return server.state == "ready" and bool(server.client.connection.requester.is_modern)

    async def started(self, server: HostServer[Any]) -> None:
        """Wait for a server that is starting, but not for long."""
        if server.state in ("waiting", "connecting") and sources.now() < self._until:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._until - sources.now()):
                    await server.settled()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None]:
        self._until = sources.now() + _STARTING
        try:
            await self._host.start(0)
            yield
        finally:
            for part in self._parts:
                part.close()
            await self._host.aclose()

    def _changed(self) -> None:
        """Tell clients which lists have changed."""
        changed: set[str] = set()
        for name, server in self._host.servers.items():
            before, now = self._listings.get(name, ServerListing()), server.listing
            self._listings[name] = now
            changed |= {
                area
                for area, lists in _AREAS.items()
                if any(getattr(before, one) != getattr(now, one) for one in lists)
            }
        for area in sorted(changed & set(names.AREAS)):
            tell(self.app, asyncio.get_running_loop(), area)
