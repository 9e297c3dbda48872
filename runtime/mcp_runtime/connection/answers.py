"""What answers the messages of a requester."""

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
"""Asks the requester by the result of its own request (2026-07-28, basic/patterns/mrtr), and waits for the answer.

It takes the `Work` of that request, what is asked, the type of the answer, the encoded params, and the options of the
call. It returns the answer, and raises an `McpError` if there will be none.
"""

GoOn: TypeAlias = Callable[[Any, Any], bool]
"""Lets a handler go on that asked its requester inside a result.

It takes a request as it arrived, and the ``requestState`` in it. It returns whether a handler that waited goes on with
the request; otherwise a handler begins with it. It raises a `PeerError` if neither may be.
"""

Recorder: TypeAlias = Callable[[Any, str, Effect], Coroutine[Any, Any, Any]]
"""Does a piece of a handler's work, or returns what it returned before; see `Context.recorded`.

It takes the `Work` of the request, the name of the piece, and what does it.
"""

_NO_HINTS: Final[Mapping[str, CacheHint]] = MappingProxyType({})


class Answers:
    """What answers the messages of a requester, in one revision.

    Attributes:
        handlers: the record and the handler of each method, by its name.
        stub: the requester, as handlers see it; None before a revision is agreed upon.
        context: makes what a handler gets beside the params: of the stub, the id of a request, and its `Exchange`.
        hints: how long results may be kept, by method, where handlers say nothing of that.
        stamp: how each of their results begins, see `protocol.modern.stamp`; empty in the legacy era.
        ask_inside: asks the requester inside a result; None if nothing does, as in the legacy era.
        go_on: lets the handler that asked go on; None to hand what comes to a handler as it is.
        record: does recorded work; by default each time it is asked to.
        tell_listeners: tells those who listen of a change that a handler of the legacy era told; None for an error.
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
