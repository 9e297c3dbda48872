"""What answers the messages of a requester."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from mcp_runtime.caller import CallOptions
from mcp_runtime.method import AnyMethod, RequestMethod

Handler: TypeAlias = Callable[[Any, Any], Coroutine[Any, Any, Any]]
"""Takes the typed params and the context; returns the typed result."""

AskInside: TypeAlias = Callable[
    [Any, RequestMethod[Any, Any], bytes | None, CallOptions | None], Coroutine[Any, Any, dict[str, Any]]
]
"""Asks the requester by the result of its own request (2026-07-28, basic/patterns/mrtr), and waits for the answer.

It takes the `Work` of that request, which is open, what is asked, its encoded params, and the options of the call. It
returns the answer as the requester gave it, and raises an `McpError` if there will be none.
"""


class Answers:
    """What answers the messages of a requester, in one revision.

    Attributes:
        handlers: the record and the handler of each method, by its name.
        stub: the requester, as handlers see it; None before a revision is agreed upon.
        context: makes what a handler gets beside the params: of the stub, the id of a request, and its `Exchange`.
        stamp: how each of their results begins, see `protocol.modern.stamp`; empty in the legacy era.
        ask_inside: asks the requester inside a result; None if nothing does, as in the legacy era.
    """

    __slots__ = ("ask_inside", "context", "handlers", "stamp", "stub")

    def __init__(self) -> None:
        self.handlers: dict[str, tuple[AnyMethod, Handler]] = {}
        self.stub: Any = None
        self.stamp = b""
        self.ask_inside: AskInside | None = None
        self.context: Callable[..., Any]
