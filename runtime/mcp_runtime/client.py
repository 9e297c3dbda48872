"""Open a conversation with a server in the newest of several revisions."""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from mcp_runtime.handlers import Handlers
from mcp_runtime.handshake.client import Opening
from mcp_runtime.peer import Peer
from mcp_runtime.settings import ClientOptions
from mcp_runtime.stub import ClientStub

__all__ = ["ClientOptions", "open_any"]

A = TypeVar("A", bound=ClientStub[Any])
B = TypeVar("B", bound=ClientStub[Any])
C = TypeVar("C", bound=ClientStub[Any])
D = TypeVar("D", bound=ClientStub[Any])


@overload
async def open_any(
    peer: Peer,
    first: type[A],
    second: type[B],
    /,
    *,
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> A | B: ...
@overload
async def open_any(
    peer: Peer,
    first: type[A],
    second: type[B],
    third: type[C],
    /,
    *,
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> A | B | C: ...
@overload
async def open_any(
    peer: Peer,
    first: type[A],
    second: type[B],
    third: type[C],
    fourth: type[D],
    /,
    *,
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> A | B | C | D: ...
async def open_any(
    peer: Peer,
    *clients: type[Any],
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> Any:
    """Begin the conversation in the newest revision that both sides speak.

    With clients of both eras, the server is asked once which of them it is of; see `ClientOptions.era`.

    Args:
        peer: where the server is.
        clients: the generated clients to choose from, one per revision.
        handlers: answer what the server asks: of each revision at most one object.
        options: who the client is, and how its connection behaves.
        require: capabilities that the server must have, as paths.

    Raises:
        UnsupportedRevision: the server speaks none of these revisions.
        ValueError: the options leave none of them.
        MissingCapability: the server lacks a capability that is required.
    """
    opening = Opening(peer, ClientOptions() if options is None else options)
    return await opening.open(clients, handlers, require)
