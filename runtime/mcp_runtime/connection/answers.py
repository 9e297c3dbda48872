"""What answers the messages of a requester."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from mcp_runtime.method import AnyMethod

Handler: TypeAlias = Callable[[Any, Any], Coroutine[Any, Any, Any]]
"""Takes the typed params and the context; returns the typed result."""


class Answers:
    """What answers the messages of a requester, in one revision.

    Attributes:
        handlers: the record and the handler of each method, by its name.
        stub: the requester, as handlers see it; None before a revision is agreed upon.
        context: makes what a handler gets beside the params: of the stub, the id of a request, and its `Exchange`.
    """

    __slots__ = ("context", "handlers", "stub")

    def __init__(self) -> None:
        self.handlers: dict[str, tuple[AnyMethod, Handler]] = {}
        self.stub: Any = None
        self.context: Callable[..., Any]
