"""Open a client of one of several revisions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.core.handlers import Handlers
from mcp_runtime.core.stub import ClientStub

if TYPE_CHECKING:
    from mcp_runtime.core.handshake.client import Peer
    from mcp_runtime.core.settings import ClientOptions

A = TypeVar("A", bound=ClientStub[Any])
B = TypeVar("B", bound=ClientStub[Any])
C = TypeVar("C", bound=ClientStub[Any])
D = TypeVar("D", bound=ClientStub[Any])


class OpenOptions(TypedDict, total=False):
    """How `open_any` opens a conversation.

    Attributes:
        handlers: answer the server's requests; at most one object per revision.
        options: the client's identity and how its connection behaves.
        require: capabilities that the server must declare, as paths such as ``tools`` or ``resources.subscribe``.
    """

    handlers: Sequence[Handlers]
    options: "ClientOptions | None"
    require: Sequence[str]


@overload
async def open_any(peer: "Peer", first: type[A], second: type[B], /, **how: Unpack[OpenOptions]) -> A | B: ...
@overload
async def open_any(
    peer: "Peer", first: type[A], second: type[B], third: type[C], /, **how: Unpack[OpenOptions]
) -> A | B | C: ...
@overload
async def open_any(
    peer: "Peer", first: type[A], second: type[B], third: type[C], fourth: type[D], /, **how: Unpack[OpenOptions]
) -> A | B | C | D: ...
async def open_any(peer: "Peer", *clients: type[Any], **how: Unpack[OpenOptions]) -> Any:
    """Open a conversation in the newest revision that both sides support.

    If `clients` span both eras, the server is first asked which of them it supports; see `ClientOptions.era`.

    Args:
        peer: the server, as `connect_stdio` yields it.
        clients: the generated clients to choose from, one per revision.
        how: see `OpenOptions`.

    Raises:
        UnsupportedRevision: the server supports none of these revisions.
        ValueError: the options exclude all of `clients`.
        MissingCapability: the server did not declare a required capability.
    """
    from mcp_runtime.core.handshake.client import Opening
    from mcp_runtime.core.settings import ClientOptions

    refuse_unknown(how, OpenOptions.__optional_keys__)
    opening = Opening(peer, how.get("options") or ClientOptions())
    return await opening.open(clients, how.get("handlers", ()), how.get("require", ()), others=False)
