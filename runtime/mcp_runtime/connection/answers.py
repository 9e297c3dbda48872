"""What answers a requester's messages."""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from mcp_runtime.caching import CacheHint
from mcp_runtime.caller import CallOptions
from mcp_runtime.connection.recorded import Effect, run_once
from mcp_runtime.method import AnyMethod, RequestMethod, WireType

Handler: TypeAlias = Callable[[Any, Any], Coroutine[Any, Any, Any]]
"""Takes the typed params and the context; returns the typed result."""

AskInside: TypeAlias = Callable[
    [Any, RequestMethod[Any, Any], WireType[Any], bytes | None, CallOptions | None], Coroutine[Any, Any, Any]
]
"""Asks the requester in the result of its own request (2026-07-28, basic/patterns/mrtr), and waits for the answer.

It takes the `Work` of that request, the question's method, the type of the answer, the encoded params, and the options
of the call. It returns the answer, and raises an `McpError` if there will be none.
"""

GoOn: TypeAlias = Callable[[Any, Any], bool]
"""Resumes a handler that asked its requester in a result.

It takes a received request, and its ``requestState``. It returns whether a waiting handler continues with the request;
otherwise the request gets a new handler. It raises a `PeerError` if neither is allowed.
"""

Recorder: TypeAlias = Callable[[Any, str, Effect], Coroutine[Any, Any, Any]]
"""Does a piece of a handler's work, or returns its recorded result; see `Context.recorded`.

It takes the `Work` of the request, the name of the piece, and the function that does it.
"""

_NO_HINTS: Final[Mapping[str, CacheHint]] = MappingProxyType({})


class Answers:
    """What answers a requester's messages, in one revision.

    Attributes:
        handlers: the record and the handler of each method, by name.
        stub: the requester, as handlers see it; None before a revision is agreed on.
        context: builds the second argument of handlers from the stub, the id of a request, and its `Exchange`.
        hints: how long results may be cached, by method, unless handlers say so.
        stamp: the beginning of each result, see `protocol.modern.stamp`; empty in the legacy era.
        ask_inside: asks the requester in a result; None if that is not possible, as in the legacy era.
        go_on: resumes the handler that asked; None to pass each request to a new handler.
        record: does recorded work; by default on each call.
        tell_listeners: passes changes reported by a legacy-era handler to the listeners; None if that is an error.
    """

    __slots__ = ("ask_inside", "context", "go_on", "handlers", "hints", "record", "stamp", "stub", "tell_listeners")

    def __init__(self) -> None:
        self.handlers: dict[str, tuple[AnyMethod, Handler]] = {}
        self.stub: Any = None
        self.hints: Mapping[str, CacheHint] = _NO_HINTS
        self.stamp = b""
        self.ask_inside: AskInside | None = None
        self.go_on: GoOn | None = None
        self.record: Recorder = run_once
        self.tell_listeners: Callable[[AnyMethod, Any], None] | None = None
        self.context: Callable[..., Any]


async def ignore(params: Any, context: Any) -> None:
    """Handle a notification that only middleware or a stream wants."""
