"""Requests of a server that travel in its results (2026-07-28, basic/patterns/mrtr)."""

from typing import Final, NoReturn

from mcp_runtime.connection.answers import AskInside
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.work import Work
from mcp_runtime.errors import LocalProtocolError
from mcp_runtime.method import AnyMethod, Direction, MethodTable, RequestMethod

_EMBEDDED: Final = Direction.EMBEDDED  # once, since Python 3.11 runs code to find a member of an enumeration


def is_embedded(method: AnyMethod, requester: Requester) -> bool:
    """Whether a request is sent in the result of another one, in the negotiated revision."""
    sent = method if requester.wire is None else requester.wire.binding.methods.get(method.name)
    return sent is not None and sent.direction is _EMBEDDED


def carrier(work: Work | None, method: AnyMethod, requester: Requester) -> Work:
    """Return the request whose result may carry another one.

    Args:
        work: what is being handled; None if nothing is.
        method: the method of the question.
        requester: the client to ask.

    Raises:
        LocalProtocolError: there is no such request.
    """
    # A message of another client is handled for another requester.
    if work is None or not (work.is_open or work.is_suspended) or work.requester is not requester:
        _refuse(method, requester, "a server can only ask its client while it handles a request, and none is open")
    methods: MethodTable = requester.spoken.methods if requester.spoken else {}
    carrying = methods.get(work.method.name)
    if not (isinstance(carrying, RequestMethod) and carrying.multi_round_trip):
        able = " or ".join(
            sorted(m.name for m in methods.values() if isinstance(m, RequestMethod) and m.multi_round_trip)
        )
        _refuse(method, requester, f"the result of {work.method.name} cannot ask for input; that of {able} can")
    return work


def asker(method: AnyMethod, requester: Requester) -> AskInside:
    """Return what asks a client in results.

    Raises:
        LocalProtocolError: there is nothing to do so.
    """
    ask = requester.answers.ask_inside
    if ask is None:
        _refuse(method, requester, "cannot ask for input: ServerOptions(inputs=None) leaves that to the handlers")
    return ask


def _refuse(method: AnyMethod, requester: Requester, reason: str) -> NoReturn:
    raise LocalProtocolError(revision=requester.revision or "MCP", method=method.name, pointer="", reason=reason)
