"""All servers of an agent behind one object: configured in a file, connected together, each failing alone."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import ClientStub
from mcp_runtime.host.approval import is_approved
from mcp_runtime.host.catalogue import Catalogue, catalogue_of
from mcp_runtime.host.config import ConfigurationError, Inputs, ServerEntry, parse, read_file
from mcp_runtime.host.policy import Policy
from mcp_runtime.host.servers import ClientT, HostServer
from mcp_runtime.host.skills import HostSkill, skills_of
from mcp_runtime.host.views import View, view_of

if TYPE_CHECKING:
    from typing import Self

    from mcp_runtime.extensions.extension import Extension
    from mcp_runtime.extensions.skills import Skill

C = TypeVar("C", bound=ClientStub[Any])

Approve = Callable[[ServerEntry], bool | Awaitable[bool]]
"""Decides whether a server may be started; `str(entry)` is the command or URL with secrets masked."""
Answer = Callable[[str, Any], Awaitable[Any]]
"""Answers what a server asks for: gets the server's name and the params, and returns the result."""

_CLOSING: Final = 15.0
"""How many seconds a host that is cancelled while it closes still waits for its servers to end."""


class HostFailed(McpError):
    """A server without which the host must not run has failed; the text says which, and why."""


class Host(Generic[ClientT]):
    """The servers of a configuration, as an async context manager: ``async with Host.from_file("mcp.json", Client)``.

    Args:
        servers: the servers.
        client: the generated client of any revision; other revisions are bridged to it.
        policy: decides about each call that a model makes: `allow_all`, `read_only`, ``ask_unless_read_only(ask)``, or
            your own.
        options: the identity of the clients, and how their connections behave.
        lazy: whether a server is only connected when it is first used.
        wait: seconds that entering the host waits for servers that are still connecting; required ones are waited for
            as long as they may take.
        approve: asked once per server, before it is started or reached; by default none is asked about.
        approvals: the file in which the answers of `approve` are kept, by `ServerEntry.digest`.
        auth: returns what signs in to a server over HTTP (`mcp_runtime.OAuth`), or None; not asked about servers
            that have a header ``Authorization``.
        sampling: answers `sampling/createMessage`, for all servers; None to declare no such capability.
        elicitation: answers `elicitation/create`.
        roots: answers `roots/list`.
        log: receives log messages.
        extensions: what the clients declare beside `Tasks`; `Skills` for `skills`.
        strict: whether one wrong entry refuses the configuration, and one invalid item the list of a server, as
            ``ClientOptions(strict=True)`` does. Otherwise they are left out; `HostServer.error` and `unusable` say why.

    Raises:
        ConfigurationError: two servers have the same name, `client` is of a revision without elicitation, or an entry
            is wrong and `strict` is set.
    """

    def __init__(
        self,
        servers: Iterable[ServerEntry],
        client: type[ClientT],
        *,
        policy: Policy,
        options: ClientOptions | None = None,
        lazy: bool = False,
        wait: float = 10.0,
        approve: Approve | None = None,
        approvals: Path | None = None,
        auth: Callable[[ServerEntry], Any] | None = None,
        sampling: Answer | None = None,
        elicitation: Answer | None = None,
        roots: Answer | None = None,
        log: Answer | None = None,
        extensions: "Iterable[Extension]" = (),
        strict: bool = False,
    ) -> None:
        self._client = client
        self._policy = policy
        options = ClientOptions() if options is None else options
        self._options = replace(options, strict=True) if strict else options
        self._wait = 0.0 if lazy else wait
        self._lazy = lazy
        self._approve = approve
        self._approvals = approvals
        self._extensions = tuple(extensions)
        answers = {"create_message": sampling, "elicit": elicitation, "list_roots": roots, "on_logging_message": log}
        self._answers = {name: answer for name, answer in answers.items() if answer is not None}
        self._handlers: Any = getattr(sys.modules[client.__module__], "ClientHandlers")  # noqa: B009
        if missing := [name for name in self._answers if not hasattr(self._handlers, name)]:
            raise ConfigurationError(f"{client.__binding__.revision} has no {' and no '.join(missing)}")
        self._servers: dict[str, HostServer[ClientT]] = {}
        for entry in servers:
            if entry.name in self._servers:
                raise ConfigurationError(f"two servers are called {entry.name}")
            if entry.error and strict:
                raise ConfigurationError(entry.error)
            is_open = not entry.url or any(name.lower() == "authorization" for name in entry.headers)
            signing_in = None if auth is None or is_open else auth(entry)
            self._servers[entry.name] = HostServer(entry, self._open, self._changed, signing_in)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asking = asyncio.Lock()
        self._on_change: Callable[[], None] = lambda: None
        self._catalogue = Catalogue(number=0)
        self._is_current = True

    @staticmethod
    def from_file(
        path: str | Path, client: type[C], *, policy: Policy, inputs: Inputs | None = None, **options: Any
    ) -> "Host[C]":
        """Return the host of a configuration file.

        Args:
            path: the file, such as ``mcp.json``.
            client: the generated client.
            policy: decides about each call that a model makes.
            inputs: asks for the values of ``inputs``.
            options: as for `Host`.

        Raises:
            ConfigurationError: the file cannot be read; or as for `Host`.
        """
        return _host(read_file(Path(path), inputs), client, policy, options)

    @staticmethod
    def from_mapping(
        value: Mapping[str, Any], client: type[C], *, policy: Policy, inputs: Inputs | None = None, **options: Any
    ) -> "Host[C]":
        """Return the host of a configuration given as JSON.

        Args:
            value: the configuration.
            client: the generated client.
            policy: decides about each call that a model makes.
            inputs: asks for the values of ``inputs``.
            options: as for `Host`.

        Raises:
            ConfigurationError: it has no servers; or as for `Host`.
        """
        return _host(parse(dict(value), inputs), client, policy, options)

    @property
    def servers(self) -> Mapping[str, HostServer[ClientT]]:
        """The servers by name."""
        return MappingProxyType(self._servers)

    @property
    def catalogue(self) -> Catalogue:
        """What all servers offer now; expired lists are fetched again, for the next snapshot."""
        if not self._is_current:
            listings = {name: server.listing for name, server in self._servers.items()}
            self._catalogue = catalogue_of(self._catalogue.number + 1, listings)
            self._is_current = True
        now = sources.now()
        for server in self._servers.values():
            if server.listing.until < now:
                server.refresh()
        return self._catalogue

    def view(self, allow: Sequence[str] = ("*",), deny: Sequence[str] = (), limit: int | None = None) -> View:
        """Return the tools of the current catalogue that a model may use.

        Args:
            allow: which tools, as globs over their names: ``github__*``.
            deny: which of those not.
            limit: how many at the most; `View.omitted` counts the rest.
        """
        return view_of(self, self.catalogue, allow, deny, limit)

    async def use(self, name: str) -> HostServer[ClientT]:
        """Return a server, which is connected first if the host is lazy.

        Args:
            name: its name in the configuration.

        Raises:
            KeyError: there is no such server.
        """
        server = self._servers[name]
        if server.state == "waiting":
            self._start(server)
            await server.settled()
        return server

    async def skills(self) -> Mapping[tuple[str, str], HostSkill]:
        """Return the skills that the connected servers list, by server and URI; see `mcp_runtime.extensions.skills`."""
        clients = {name: server.client for name, server in self._servers.items() if server.state == "ready"}
        return await skills_of(clients)

    async def load_skill(self, server: str, uri: str, *, dynamic: bool = False, cache: Path | None = None) -> "Skill":
        """Load a skill from its server, listed or not, and verify it.

        Args:
            server: the name of the server.
            uri: the URI of its SKILL.md.
            dynamic: whether to load skills whose files have no digests.
            cache: a folder that keeps verified files.

        Raises:
            KeyError: there is no such server.
            SkillError: something differs from the entry of the skill, or a limit is exceeded.
            McpError: the server is not connected, has no skills, or not this one.
        """
        from mcp_runtime.extensions.skills import Cache, load_skill

        kept = None if cache is None else Cache(cache, server)
        return await load_skill((await self.use(server)).client, uri, dynamic=dynamic, cache=kept)

    @property
    def client_class(self) -> type[ClientT]:
        """The class of the clients."""
        return self._client

    def answer_by(self, answers: Mapping[str, Answer], on_change: Callable[[], None]) -> None:
        """Let an App answer what the servers ask, and learn when their lists change; `mount_host` does it.

        Args:
            answers: what answers, by the names of the client's handlers.
            on_change: called when lists have changed.

        Raises:
            ValueError: the host answers itself, or is entered already.
        """
        if self._answers or self._tasks:
            raise ValueError("the host must be new, without sampling=, elicitation=, roots= and log=")
        self._answers = {name: answer for name, answer in answers.items() if hasattr(self._handlers, name)}
        self._on_change = on_change

    @property
    def policy(self) -> Policy:
        """What decides about calls."""
        return self._policy

    async def aclose(self) -> None:
        """End all connections, and every process that was started; safe to call again."""
        tasks = list(self._tasks.values())
        for server in self._servers.values():
            server.close()
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            await asyncio.wait(tasks, timeout=_CLOSING)
            raise

    async def __aenter__(self) -> "Self":
        await self.start(self._wait)
        return self

    async def start(self, wait: float) -> None:
        """Start connecting to the servers; entering the host does it.

        Args:
            wait: seconds to wait for servers that are still connecting; required ones are waited for in any case.

        Raises:
            HostFailed: a required server failed.
        """
        try:
            await self._connect(wait)
        except BaseException:
            await self.aclose()
            raise

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def _connect(self, wait: float) -> None:
        wanted = [server for server in self._servers.values() if server.state == "waiting"]
        required = [one for one in self._servers.values() if one.entry.is_required and one.state != "disabled"]
        for server in wanted:
            if server.entry.is_required or not self._lazy:
                self._start(server)
        for server in required:
            await server.settled()
            if server.state != "ready":
                raise HostFailed(f"{server.entry.name} is required, but failed: {server.error}")
        if wait and wanted:
            waiting = [asyncio.create_task(server.settled()) for server in wanted]
            try:
                await asyncio.wait(waiting, timeout=wait)
            finally:
                for task in waiting:
                    task.cancel()

    def _start(self, server: HostServer[ClientT]) -> None:
        if server.entry.name not in self._tasks:
            # The connection serves all calls, so it must not inherit what belongs to the one that is first.
            self._tasks[server.entry.name] = asyncio.create_task(
                self._run(server), name=f"mcp {server.entry.name}", context=Context()
            )

    async def _run(self, server: HostServer[ClientT]) -> None:
        try:
            if not await self._is_approved(server.entry):
                return server.refuse("its start was not approved")
        except Exception as error:
            return server.refuse(f"approve failed: {type(error).__name__}: {error}")
        await server.run()

    async def _is_approved(self, entry: ServerEntry) -> bool:
        if self._approve is None:
            return True
        async with self._asking:  # one question at a time
            return await is_approved(entry, self._approve, self._approvals)

    def _changed(self) -> None:
        self._is_current = False
        self._on_change()

    async def _open(self, entry: ServerEntry, peer: Peer) -> ClientT:
        options = self._options
        if entry.timeout is not None:
            options = replace(options, timeout=entry.timeout)
        if entry.revision:
            options = replace(options, revisions=(entry.revision,))

        def bound(answer: Answer) -> Callable[..., Awaitable[Any]]:
            async def handle(_: Any, params: Any, ctx: Any) -> Any:
                return await answer(entry.name, params)

            return handle

        from mcp_runtime.extensions.tasks import Tasks  # no program that opens no server pays for it

        extensions = self._extensions
        if not any(isinstance(each, Tasks) for each in extensions):
            extensions = (*extensions, Tasks())  # servers may run a tool only as a task
        answers = {name: bound(answer) for name, answer in self._answers.items()}
        handlers = type("HostHandlers", (self._handlers,), answers)() if answers else None
        return await self._client.open(peer, handlers=handlers, options=options, extensions=extensions)


def _host(servers: Iterable[ServerEntry], client: type[C], policy: Policy, options: dict[str, Any]) -> Host[C]:
    refuse_unknown(options, signature(Host).parameters)
    return Host(servers, client, policy=policy, **options)
