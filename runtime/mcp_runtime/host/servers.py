"""One server of a host: it is connected, listed, watched, and connected again when it is lost."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.errors import McpError, Unusable, clipped
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol import names
from mcp_runtime.core.stub import ClientStub
from mcp_runtime.host.calls import callable_tools
from mcp_runtime.host.catalogue import ServerListing
from mcp_runtime.host.config import ConfigurationError, ServerEntry, read_regular
from mcp_runtime.tools import EndlessList, digest, list_items
from mcp_runtime.tools.errors import CONTRACT

ClientT = TypeVar("ClientT", bound=ClientStub[Any])
State: TypeAlias = Literal["disabled", "waiting", "connecting", "ready", "failed", "closed"]

MIN_REFRESH: Final = 1.0
"""How many seconds there are at least between two fetches of the lists of a server that keeps changing them."""
_FIRST_DELAY, _MAX_DELAY = 0.5, 60.0
LISTENING: Final = 2.0
"""Seconds to wait for a server to report changes before its lists are read."""
_STEADY: Final = 30.0
"""After how many seconds a connection counts as one that held."""
_MAX_TOOL: Final = 256
_LISTS: Final[Mapping[str, tuple[str, str, str]]] = {
    **{area: (area, names.listing(area), area) for area in names.AREAS},
    "templates": ("resources", names.RESOURCES_TEMPLATES_LIST, "resourceTemplates"),
}
"""For each list of an `ServerListing`: the capability, the method, and the property of its result."""

_log = logging.getLogger("mcp_runtime.host")


class ServerUnavailable(McpError):
    """A server of the host is not connected; the text says why."""


class HostServer(Generic[ClientT]):
    """A server of a host, and its connection.

    Args:
        entry: how it is started or reached.
        open_: opens a client with it.
        on_change: called when what it offers has changed.
        auth: signs in to it over HTTP; None if it needs nobody to.

    Attributes:
        entry: its configuration.
        state: ``disabled``, ``waiting`` (until its first use), ``connecting``, ``ready``, ``failed`` or ``closed``.
        error: why it is not ready, or why a list could not be fetched; None if all is well.
        revision: the revision spoken with it; empty before.
        since: when the state changed last.
        listing: what it lists: the latest lists that could be fetched.
        withheld: the tools that differ from the lock file, or are locked and cannot be read.
        unusable: what it lists and what cannot be used, by list: ``tools``, ``templates``.
        as_tasks: the tools that must run as tasks, by their names on the server.
    """

    def __init__(
        self,
        entry: ServerEntry,
        open_: Callable[[ServerEntry, Peer], Awaitable[ClientT]],
        on_change: Callable[[], None],
        auth: Any = None,
    ) -> None:
        self.entry = entry
        self.state: State = "disabled" if entry.is_disabled else "waiting"
        self.error: str | None = None
        self.revision = ""
        self.since = datetime.now(UTC)
        self.listing = ServerListing(is_trusted=entry.is_trusted)
        self.withheld: tuple[str, ...] = ()
        self.unusable: Mapping[str, tuple[Unusable, ...]] = {}
        self.as_tasks: frozenset[str] = frozenset()
        self._open = open_
        self._on_change = on_change
        self._auth = auth
        self._client: ClientT | None = None
        self._settled = asyncio.Event()
        self._ready = asyncio.Event()
        self._dirty = asyncio.Event()
        self._accepted: set[str] = set()
        self._said: deque[str] = deque(maxlen=3)
        if entry.error:
            self.refuse(entry.error)

    @property
    def client(self) -> ClientT:
        """The client of the open connection.

        Raises:
            ServerUnavailable: there is none.
        """
        if self._client is None:
            name = clipped(self.entry.name, 100)
            raise ServerUnavailable(f"the server {name} is not connected: {self.error or self.state}")
        return self._client

    async def settled(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._settled.wait()

    async def ready(self, timeout: float) -> None:
        """Wait until it is connected.

        Raises:
            ServerUnavailable: it is not after `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._ready.wait()
        except TimeoutError:
            _ = self.client

    def refresh(self) -> None:
        """Fetch its lists again, soon."""
        self._dirty.set()

    def accept(self, *tools: str) -> None:
        """Offer tools although they differ from the lock file.

        Args:
            tools: their names on the server; without any, all that are withheld.
        """
        self._accepted.update(tools or self.withheld)
        self.refresh()

    def refuse(self, reason: str) -> None:
        """Mark it as failed without connecting.

        Args:
            reason: what `error` then says.
        """
        self._change("failed", reason)
        self._settled.set()

    def close(self) -> None:
        """Mark it as closed, which is what losing its connection means from here on."""
        self._client = None
        self._change("closed", "the host is closed")

    async def run(self) -> None:
        """Keep it connected until cancelled."""
        attempt = 0
        while True:
            began = sources.now()
            self._lost(await self._connect())
            self._settled.set()
            attempt = 0 if sources.now() - began > _STEADY else attempt + 1
            await asyncio.sleep(min(_MAX_DELAY, _FIRST_DELAY * 2.0**attempt) * sources.jitter(0.5, 1))

    async def _connect(self) -> str:
        """Connect, and return why the connection ended or could not be opened."""
        self._change("connecting", self.error)
        self._said.clear()
        try:
            async with self.entry.connect(self._said.append, self._auth) as peer, AsyncExitStack() as stack:
                async with asyncio.timeout(self.entry.startup_timeout):
                    client = await self._open(self.entry, peer)
                    await stack.enter_async_context(self._noticing(client))
                    listing = await self._fetch(client, ServerListing(is_trusted=self.entry.is_trusted))
                client.connection.on_close(self._lost)
                self._client = client
                self.revision = client.connection.revision
                self._change("ready", None)
                self._take(listing)
                self._ready.set()
                self._settled.set()
                watching = asyncio.create_task(self._watch(client))
                try:
                    return await client.connection.wait_closed()
                finally:
                    watching.cancel()
                    await asyncio.wait((watching,))
        except TimeoutError:
            return f"not ready within {self.entry.startup_timeout:g} s{self._last_words()}"
        except (McpError, ConfigurationError) as error:
            return str(error)
        except Exception as error:  # One server must not stop the others.
            _log.debug("%s", self.entry.name, exc_info=True)
            return f"{type(error).__name__}: {error}"

    def _lost(self, reason: str) -> None:
        if self.state == "closed":
            return
        self._client = None
        self._ready.clear()
        self._change("failed", clipped(" ".join(reason.split())))

    def _last_words(self) -> str:
        return clipped(f" ({self._said[-1].strip()})", 200) if self._said else ""

    def _change(self, state: State, error: str | None) -> None:
        if state != self.state:
            self.state, self.since = state, datetime.now(UTC)
        if error is not None and error != self.error and state == "failed":
            _log.warning("%s: %s", clipped(self.entry.name, 100), error)
        self.error = error

    def _take(self, listing: ServerListing) -> None:
        has_changed = listing != self.listing
        self.listing = listing
        if has_changed:
            self._on_change()

    async def _watch(self, client: ClientT) -> None:
        """Fetch the lists when they change or expire."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            self._take(await self._fetch(client, self.listing))
            await asyncio.sleep(MIN_REFRESH)

    @asynccontextmanager
    async def _noticing(self, client: ClientT) -> AsyncGenerator[None]:
        """Notice changes of lists, those before the first list is read too."""
        listens = asyncio.Event()
        listening = asyncio.create_task(self._listen(client, listens))
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LISTENING):
                    await listens.wait()
            listens.set()
            yield
        finally:
            listening.cancel()
            await asyncio.wait((listening,))

    async def _listen(self, client: ClientT, listens: asyncio.Event) -> None:
        """Notice changes of lists; `listens` is set once none can be missed, or if the server does not report them."""
        areas = [area for area in names.AREAS if client.has(f"{area}.listChanged")]
        methods = client.__binding__.methods
        if names.SUBSCRIPTIONS_LISTEN not in methods:
            streams = [client.notifications(_notification(methods, area), limit=1) for area in areas]
            listens.set()
            await asyncio.gather(*map(self._notice, streams))
            return
        while areas:
            try:
                tools, prompts, resources = (area in areas for area in ("tools", "prompts", "resources"))
                async with await client.listen(tools=tools, prompts=prompts, resource_list=resources) as changes:
                    if listens.is_set():
                        self.refresh()  # Something may have changed before.
                    listens.set()
                    await self._notice(changes)
            except McpError as error:
                _log.debug("%s: does not report changes: %s", self.entry.name, error)
            listens.set()
            await asyncio.sleep(_MAX_DELAY)
            self.refresh()
        listens.set()

    async def _notice(self, changes: Any) -> None:
        async for _ in changes:
            self._dirty.set()

    async def _fetch(self, client: ClientT, old: ServerListing) -> ServerListing:
        """Return the lists; a list that cannot be fetched stays as it was, and marks the offer as stale."""
        expiry = float("inf")
        unusable: dict[str, list[Unusable]] = {name: [] for name in _LISTS}

        def page(name: str, result: Mapping[str, Any], left_out: Sequence[Unusable]) -> None:
            nonlocal expiry
            unusable[name] += left_out
            found: Any = result.get("ttlMs")
            if isinstance(found, int | float) and found > 0:
                expiry = min(expiry, sources.now() + found / 1000)

        async def listed(name: str) -> Sequence[Mapping[str, Any]]:
            capability, method, items = _LISTS[name]
            if not client.has(capability) or method not in client.__binding__.methods:
                return ()
            found: list[Mapping[str, Any]] = []
            try:
                async for item in list_items(client, method, items, on_page=partial(page, name)):
                    found.append(item)
            except EndlessList as error:
                if client.connection.limits.strict:
                    raise
                unusable[name].append(Unusable(pointer="/nextCursor", reason=str(error)))
            return found

        results = await asyncio.gather(*map(listed, _LISTS), return_exceptions=True)
        lists: dict[str, Any] = {}
        for name, result in zip(_LISTS, results, strict=True):
            if not isinstance(result, BaseException):
                lists[name] = tuple(result)
            elif not isinstance(result, McpError) or (name == "tools" and self._client is None):
                raise result
            else:
                self.error = clipped(f"{name}: {result}")
                _log.warning("%s: %s", clipped(self.entry.name, 100), self.error)
        is_stale = len(lists) < len(_LISTS)
        if not is_stale:
            self.error = None
        if "tools" in lists:
            possible, self.as_tasks = callable_tools(client, lists["tools"], unusable["tools"])
            lists["tools"] = self._chosen(possible, unusable["tools"])
        self.unusable = {name: tuple(left_out) for name, left_out in unusable.items() if left_out}
        return replace(old, **lists, until=expiry, is_stale=is_stale)

    def _chosen(self, tools: Sequence[Mapping[str, Any]], unusable: list[Unusable]) -> tuple[Mapping[str, Any], ...]:
        """Return the tools that the configuration takes, without those that differ from the lock file.

        Args:
            tools: the tools.
            unusable: those that are listed, but cannot be used; completed.
        """
        by_name: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            name = tool["name"]
            if not 0 < len(name) <= _MAX_TOOL:
                reason = f"its name has {len(name):,} characters; from 1 to {_MAX_TOOL} are possible"
                unusable.append(Unusable(pointer="/tools", name=name, reason=reason))
            elif self.entry.takes(name):
                by_name.setdefault(name, tool)
        locked = self._locked()
        if locked is None:
            withheld: tuple[str, ...] = ()
        else:
            differing = [name for name, tool in by_name.items() if _digests(tool) != locked.get(name)]
            differing += [one.name for one in unusable if one.name in locked and one.name not in by_name]
            withheld = tuple(name for name in dict.fromkeys(differing) if name not in self._accepted)
        if withheld and withheld != self.withheld:
            shown = clipped(", ".join(withheld), 200)
            _log.warning(
                "%s: %d tools differ from %s and are withheld: %s. `mcp-bindgen tools check` says who would break.",
                clipped(self.entry.name, 100),
                len(withheld),
                self.entry.lock,
                shown,
            )
        self.withheld = withheld
        return tuple(tool for name, tool in by_name.items() if name not in withheld)

    def _locked(self) -> Mapping[str, Mapping[str, str]] | None:
        if self.entry.lock is None:
            return None
        try:
            found = json.loads(read_regular(self.entry.lock))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"{self.entry.lock}: cannot be read: {clipped(str(error), 200)}") from None
        tools = found.get("tools") if is_object(found) else None
        if not is_array(tools):
            raise ConfigurationError(f"{self.entry.lock}: is not a lock file of mcp-bindgen tools")
        return {str(tool.get("name")): _digests(tool) for tool in tools if is_object(tool)}


def _digests(tool: Mapping[str, Any]) -> dict[str, str]:
    """Identify what callers and models rely on; descriptions too, since models follow them."""
    return {name: digest(tool[name]) for name in (*CONTRACT, "title", "description") if tool.get(name) is not None}


def _notification(methods: Mapping[str, Any], area: str) -> Any:
    return methods[names.list_changed(area)]
