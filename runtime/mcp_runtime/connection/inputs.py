"""Requests of a server that travel inside its results (2026-07-28, basic/patterns/mrtr)."""

from typing import Final, NoReturn

from mcp_runtime.connection.answers import AskInside
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.work import Work
from mcp_runtime.errors import LocalProtocolError
from mcp_runtime.method import AnyMethod, Direction, MethodTable, RequestMethod

_EMBEDDED: Final = Direction.EMBEDDED  # once, since Python 3.11 runs code to find a member of an enumeration


def is_embedded(method: AnyMethod, requester: Requester) -> bool:
    """Whether a request leaves inside the result of another one, in the revision that is spoken."""
    sent = method if requester.wire is None else requester.wire.binding.methods.get(method.name)
    return sent is not None and sent.direction is _EMBEDDED


def carrier(work: Work | None, method: AnyMethod, requester: Requester) -> Work:
    """Return the request whose result may carry another one.

    Args:
        work: what is being handled, None if nothing.
        method: what is to be asked.
        requester: the client that is asked.

    Raises:
        LocalProtocolError: there is no such request.
    """
    # What another client sent is handled for another requester.
    if work is None or not (work.is_open or work.is_suspended) or work.requester is not requester:
        _refuse(method, requester, "a server asks a client while it handles a request of it, and none is open here")
    methods: MethodTable = requester.spoken.methods if requester.spoken else {}
    carrying = methods.get(work.method.name)
    if not (isinstance(carrying, RequestMethod) and carrying.multi_round_trip):
        able = " or ".join(
            sorted(m.name for m in methods.values() if isinstance(m, RequestMethod) and m.multi_round_trip)
        )
        _refuse(method, requester, f"the result of {work.method.name} cannot ask for input; that of {able} can")
    return work


def asker(method: AnyMethod, requester: Requester) -> AskInside:
    """Return what asks a client by results.

    Raises:
        LocalProtocolError: nothing does.
    """
    ask = requester.answers.ask_inside
    if ask is None:
        _refuse(method, requester, "nothing asks for input here: ServerOptions(inputs=None) leaves it to the handlers")
    return ask


def _refuse(method: AnyMethod, requester: Requester, reason: str) -> NoReturn:
    raise LocalProtocolError(revision=requester.revision or "MCP", method=method.name, pointer="", reason=reason)
