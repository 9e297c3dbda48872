"""What generated stubs stand on: how a call leaves, and how a handler is found.

The session of a later layer implements `Caller`; the stubs know no more of it than that.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from mcp_runtime.method import NotificationMethod, RequestMethod

if TYPE_CHECKING:
    from mcp_runtime.model import WireModel

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")
PeerT = TypeVar("PeerT")
MetaT = TypeVar("MetaT", bound="WireModel")


class Progress(Protocol):
    """Is told how far a request has come: done so far, out of how much if known, and a message if there is one."""

    def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report."""


class CallOptions:
    """Options of one call that are not part of the message.

    Args:
        timeout: seconds to wait for the answer; None for the caller's default.
        progress: is told how far the request has come.
    """

    __slots__ = ("progress", "timeout")

    def __init__(self, *, timeout: float | None = None, progress: Progress | None = None) -> None:
        self.timeout = timeout
        self.progress = progress


class Caller(Protocol):
    """Sends requests and notifications to the peer."""

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request and wait for the result of its type."""
        ...

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request and wait for a result of another type than the usual one."""
        ...

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification."""
        ...

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry, by wire names; empty where none is required."""
        ...


class Stub:
    """The base of generated stubs: the peer as seen through a `Caller`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def _meta(self, type_: type[MetaT], meta: MetaT | None) -> MetaT:
        """Return the metadata that was passed, or what the caller puts on every request."""
        return type_.model_validate(dict(self._caller.request_meta())) if meta is None else meta

    @staticmethod
    def _given(method: RequestMethod[P, Any], arguments: Mapping[str, Any]) -> P | None:
        """Make the params of a method from keyword arguments."""
        return method.params.build(arguments) if method.params else None


class Context(Generic[PeerT]):
    """What a handler knows of the message it answers.

    Args:
        peer: the stub of the side that sent the message.
        request_id: the id of the request, None for a notification.
    """

    def __init__(self, peer: PeerT, request_id: int | str | None = None) -> None:
        self.peer = peer
        self.request_id = request_id


class Handlers:
    """The base of generated handler classes."""

    __handlers__: ClassVar[Mapping[str, str]] = {}
    """Method -> the name of the Python method that handles it."""

    @classmethod
    def implemented(cls) -> frozenset[str]:
        """Return the methods that this class handles itself, which decide what it advertises."""
        base = next(c for c in cls.__mro__ if "__handlers__" in c.__dict__)
        return frozenset(
            method for method, name in cls.__handlers__.items() if getattr(cls, name) is not getattr(base, name)
        )


async def iterate(
    page: Callable[[str | None], Awaitable[R]], read: Callable[[R], tuple[list[T], str | None]]
) -> AsyncIterator[T]:
    """Iterate over the items of all pages; only an absent cursor ends them, the empty string is one like any other."""
    cursor: str | None = None
    while True:
        items, cursor = read(await page(cursor))
        for item in items:
            yield item
        if cursor is None:
            return
