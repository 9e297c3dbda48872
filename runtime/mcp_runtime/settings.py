"""Options of clients and servers: their identity, their capabilities, and how their connections behave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from mcp_runtime.caching import CacheHint
from mcp_runtime.connection.chain import Proceed
from mcp_runtime.connection.connection import Middleware
from mcp_runtime.inputs import InputState, Suspended
from mcp_runtime.limits import Limits, Trace

if TYPE_CHECKING:
    from mcp_runtime.fan_out import FanOut

__all__ = ["ClientOptions", "Middleware", "Proceed", "ServerOptions", "Settings", "Trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """How a connection behaves, and the middleware around its messages.

    Attributes:
        middleware: wraps every request and notification; the first one is outermost.
        capabilities: declared in addition to those implied by the handlers, keyed by wire names: ``{"sampling":
            {"tools": {}}}``; None removes one.
        experimental: capabilities that are not part of any revision.
        tasks: stores the tasks that this side creates for requests (2025-11-25); None disables tasks.
    """

    middleware: tuple[Middleware, ...] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    experimental: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tasks: Any = None


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
    fan_out: "FanOut | None" = None
