"""Options of clients and servers: who they are, what they declare, and how their connections behave."""

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
    """How a connection behaves, and what stands around its messages.

    Attributes:
        middleware: wraps every request and notification, the first one outermost.
        capabilities: what is declared beyond what the handlers say, by wire names: ``{"sampling": {"tools": {}}}``;
            None takes one back.
        experimental: capabilities that no revision knows.
        tasks: keeps the tasks that this side makes of requests (2025-11-25); None for no tasks.
    """

    middleware: tuple[Middleware, ...] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    experimental: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tasks: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions(Settings):
    """Who a client is, and how its connection behaves.

    Attributes:
        name: the name that the server is told.
        version: the version that the server is told; by default that of this distribution.
        title: a name for people; servers of 2025-06-18 and later are told.
        roots: the roots that the server may ask for, as ``Root`` objects or URIs; None for no roots at all.
        era: ``legacy`` to begin sessions only, ``modern`` to begin none; ``auto`` to find out what the server can do,
            if there are clients of both eras to choose from.
        minimum: the oldest revision that is spoken; empty for no limit.
        input_rounds: how often a server of the modern era may ask for input before it answers a call.
        probe_timeout: seconds in which a server must say that it is of the modern era, if a session is an alternative.
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
    """Who a server is, what it declares beyond what it implements, and how its connections behave.

    Attributes:
        name: the name that clients are told; by default that of the class.
        version: the version that clients are told; by default that of this distribution.
        title: a name for people; clients of 2025-06-18 and later are told.
        instructions: what a model should know to use the server.
        list_changed: whether clients are told when the lists of tools, prompts and resources change, or for which.
        resource_updates: whether clients of the modern era may listen for changes of resources (`resource_updated`); in
            the legacy era the handler of ``resources/subscribe`` says so.
        logging: whether the server sends log messages.
        cache: how long clients of the modern era may keep the results of a method (``tools/list``), where its handler
            says nothing of that; by default they may not keep them.
        inputs: how handlers of the modern era wait for what they ask their client: `Suspended` in this process, or not
            at all, so that any process with the keys can go on (`InputState`). None to leave it to them, who then
            return an ``InputRequiredResult`` and read ``input_responses`` and ``request_state``.
        fan_out: tells the other processes of this server what `resource_updated` and `list_changed` tell the clients of
            this one; None if there are no others.
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
