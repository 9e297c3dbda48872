"""Options of clients and servers: their identity, their capabilities, how handlers wait for input."""

import heapq
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Literal, Protocol

from mcp_runtime.connection.calls import Proceed
from mcp_runtime.connection.connection import Middleware
from mcp_runtime.connection.on_behalf import Feature
from mcp_runtime.options import CacheHint, Limits, Trace

__all__ = [
    "ClientOptions",
    "InputState",
    "MemorySpentStates",
    "Middleware",
    "Proceed",
    "ServerOptions",
    "Settings",
    "SpentStates",
    "Suspended",
    "Trace",
]


KEY_BYTES: Final = 32
"""The length of a key in bytes: AES-256."""
_INSTALL: Final = "sealed states need cryptography: pip install 'mcp-bindgen[sealed]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Keep handlers that wait for input suspended in this process until the client comes back with the answers.

    Attributes:
        expiry: seconds within which a client must come back; after that the handler is cancelled.
        per_peer: how many handlers may wait for one peer (a principal, or the other end of a connection).
        overall: how many handlers may wait in total for one server object.
        shared: whether a client may come back on another connection to the same server object. Handlers then outlive
            their connection, and all clients without a principal count as one peer.
    """

    expiry: float = 600.0
    per_peer: int = 100
    overall: int = 10_000
    shared: bool = False


class SpentStates(Protocol):
    """Remembers which sealed states were used, across all processes that share the keys."""

    async def spend(self, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time.

        If two calls race, exactly one returns True.

        Args:
            state: identifies the state: 32 hexadecimal digits.
            until: when the state expires, as Unix time in seconds. It may be forgotten after that.

        Raises:
            Exception: whether the state was used cannot be determined. The call then fails, as it does if the answer
                takes longer than 5 seconds.
        """
        ...


class MemorySpentStates:
    """Remembers used states in this process only: for tests and single-process servers.

    Args:
        limit: how many states are remembered at once. Unexpired states are never evicted.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._ends: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._known)

    async def spend(self, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time.

        Args:
            state: identifies the state: 32 hexadecimal digits.
            until: when the state expires, as Unix time in seconds.

        Raises:
            OverflowError: the limit is reached.
        """
        now = time.time()
        while self._ends and self._ends[0][0] <= now:
            self._known.discard(heapq.heappop(self._ends)[1])
        if state in self._known:
            return False
        if len(self._known) >= self._limit:
            raise OverflowError(f"the limit of {self._limit:,} remembered states is reached")
        self._known.add(state)
        heapq.heappush(self._ends, (until, state))
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class InputState:
    """Let any process that has the keys continue: the answers so far travel with the client, encrypted.

    No handler stays suspended. When the client comes back, its handler runs again from the beginning and receives the
    recorded answers. Everything before a question is repeated, except work done through `Context.recorded`. Without
    `spent`, a client can replay a state, and the handler continues from it each time.

    Attributes:
        keys: secrets of 32 random bytes each (``secrets.token_bytes(32)``), the same in all processes. The first one
            encrypts; all of them decrypt.
        expiry: seconds within which a client must come back.
        rounds: how often a handler may ask before it answers.
        max_bytes: the maximum size of a state in bytes.
        spent: lets each state be used only once; None allows reuse until it expires.

    Raises:
        ModuleNotFoundError: `cryptography` is not installed (``mcp-bindgen[sealed]``).
        TypeError: a key is not bytes.
        ValueError: there is no key, a key has the wrong length or is repeated, or a limit is not positive.
    """

    keys: Sequence[bytes] = field(repr=False)
    expiry: float = 600.0
    rounds: int = 16
    max_bytes: int = 65_536
    spent: SpentStates | None = None

    def __post_init__(self) -> None:
        keys: Any = self.keys
        if isinstance(keys, bytes | str) or not all(isinstance(key, bytes) for key in keys):
            raise TypeError("keys: must be a sequence of bytes objects")
        if not self.keys:
            raise ValueError("keys: at least one key is needed; secrets.token_bytes(32) makes one")
        for number, key in enumerate(self.keys):
            if len(key) != KEY_BYTES:
                raise ValueError(f"keys[{number}]: a key must have {KEY_BYTES} bytes, not {len(key)}")
        if len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: the same key is given twice")
        for name, limit in (("expiry", self.expiry), ("rounds", self.rounds), ("max_bytes", self.max_bytes)):
            if not limit > 0:
                raise ValueError(f"{name}: must be more than 0, not {limit:g}")
        if find_spec("cryptography") is None:
            raise ModuleNotFoundError(_INSTALL)


class Relay(Protocol):
    """Relays changes between the processes of one server."""

    def publish(self, what: str, uri: str) -> None:
        """Publish a change to the other processes, asynchronously; see `features.listeners` for the kinds."""
        ...

    def listen(self) -> None:
        """Receive what the other processes publish, from now on."""
        ...

    async def heard(self) -> None:
        """Wait briefly until nothing is missed any more."""
        ...


class FanOut(Protocol):
    """Connects the processes of one server; `mcp_runtime.cluster.fan_out` has the base class of implementations."""

    def relay(self, server: Any, tell: Callable[[str, str], Coroutine[Any, Any, None]]) -> Relay:
        """Return what relays the changes of a server in this event loop.

        Args:
            server: the server, an object of a generated `Server`.
            tell: notifies the clients of this process of a change, with its kind and the resource.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """How a connection behaves, and the middleware around its messages.

    Attributes:
        middleware: wraps every request and notification; the first one is outermost.
        capabilities: declared in addition to those implied by the handlers, keyed by wire names: ``{"sampling":
            {"tools": {}}}``; None removes one.
        experimental: capabilities that are not part of any revision.
        extensions: what this side supports beyond the core: ``[Tasks(MemoryTaskStore())]`` runs requests as tasks
            (2025-11-25, `mcp_runtime.extensions.tasks`).
    """

    middleware: tuple[Middleware, ...] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    experimental: Mapping[str, Any] = field(default_factory=dict[str, Any])
    extensions: Sequence[Feature] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions(Settings):
    """A client's identity, and how its connection behaves.

    Attributes:
        name: the name sent to the server.
        version: the version sent to the server; by default that of this distribution.
        title: a display name, sent to servers of 2025-06-18 and later.
        roots: the roots that the server may ask for, as ``Root`` objects or URIs; None to declare no roots.
        era: ``legacy`` to begin sessions only, ``modern`` never to; ``auto`` to detect what the server supports if
            there are clients of both eras to choose from.
        minimum: the oldest acceptable revision; empty for no limit.
        input_rounds: how often a modern-era server may ask for input before it answers a call.
        probe_timeout: seconds to wait for a server to identify itself as modern before falling back to a session.
    """

    name: str = "mcp-bindgen"
    version: str = ""
    title: str = ""
    roots: Sequence[Any] | None = None
    era: Literal["auto", "legacy", "modern"] = "auto"
    minimum: str = ""
    input_rounds: int = 16
    probe_timeout: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions(Settings):
    """A server's identity, its capabilities beyond what it implements, and how its connections behave.

    Attributes:
        name: the name sent to clients; by default the class name.
        version: the version sent to clients; by default that of this distribution.
        title: a display name, sent to clients of 2025-06-18 and later.
        instructions: what a model should know in order to use the server.
        list_changed: whether clients are notified when the lists of tools, prompts and resources change; or the names
            of the lists for which they are.
        resource_updates: whether modern-era clients may listen for changes of resources (`resource_updated`); in the
            legacy era this follows from a handler for ``resources/subscribe``.
        logging: whether the server sends log messages.
        cache: how long modern-era clients may cache the results of a method (``tools/list``), unless its handler says
            so; by default they may not.
        inputs: how modern-era handlers wait for input from their client: `Suspended` in this process, or `InputState`
            to let any process with the keys continue. None leaves it to the handlers, which then return an
            ``InputRequiredResult`` and read ``input_responses`` and ``request_state``.
        fan_out: passes the changes that `resource_updated` and `list_changed` announce on to the other processes of
            this server; None if there are no others.
    """

    name: str = ""
    version: str = ""
    title: str = ""
    instructions: str | None = None
    list_changed: bool | frozenset[str] = False
    resource_updates: bool = False
    logging: bool = True
    cache: Mapping[str, CacheHint] = field(default_factory=dict[str, CacheHint])
    inputs: Suspended | InputState | None = field(default_factory=Suspended)
    fan_out: FanOut | None = None
