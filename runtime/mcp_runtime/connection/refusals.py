"""The error responses for exceptions of handlers."""

import logging
from typing import Any, Final, Protocol

from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.results import WrongResult
from mcp_runtime.errors import MethodNotImplemented, MissingCapability, PeerError, clipped
from mcp_runtime.protocol import jsonrpc
from mcp_runtime.protocol.capabilities import declarer, put
from mcp_runtime.protocol.modern import MISSING_CAPABILITY
from mcp_runtime.protocol.rules import broken_error

UNAVAILABLE: Final = "this method is not available here"


_RESOURCE_NOT_FOUND: Final = -32002
"""The error code for it in the legacy era."""


class Complain(Protocol):
    """Writes a line to the log."""

    def __call__(self, level: int, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Write a line."""


def refusal(error: BaseException, method: str, requester: Requester, complain: Complain) -> PeerError:
    """Return the error for the peer, and log it; the text of an error that was not meant for the peer is not sent.

    Args:
        error: the exception of the handler.
        method: the method of the request.
        requester: what is known of the peer.
        complain: writes to the log.
    """
    error = _judged(error)
    if isinstance(error, PeerError) and not error.is_from_peer:
        return _allowed(error, method, requester, complain) if requester.is_modern else _older(error, method, requester)
    if isinstance(error, MethodNotImplemented):
        return PeerError(jsonrpc.METHOD_NOT_FOUND, UNAVAILABLE, {"method": error.method})
    if isinstance(error, MissingCapability) and _is_of_peer(error, requester):
        text = "%s needs the capability %s, which the peer did not declare"
        complain(logging.WARNING, text, method, " and ".join(error.capabilities))
        return _missing(error, requester)
    if isinstance(error, WrongResult):
        complain(logging.ERROR, "the handler of %s %s", method, error)
    elif isinstance(error, MissingCapability):
        text = "the handler of %s failed: %s: %s"
        complain(logging.ERROR, text, method, type(error).__name__, clipped(str(error)))
    else:
        complain(logging.ERROR, "the handler of %s failed", method, exc_info=error)
    return PeerError(jsonrpc.INTERNAL_ERROR, "internal error")


def _allowed(error: PeerError, method: str, requester: Requester, complain: Complain) -> PeerError:
    """Return an error with a code of the modern era; codes outside of -32000 to -32099 belong to the application.

    What is missing is an invalid param there; other codes of earlier revisions and implementations become internal
    errors (2026-07-28, basic/index, "Error Codes").
    """
    code = error.code
    if code == _RESOURCE_NOT_FOUND:
        return PeerError(jsonrpc.INVALID_PARAMS, error.message, error.data)
    if -32099 <= code <= -32000 and (requester.spoken is None or code not in requester.spoken.errors):
        text = "the handler of %s raised error %d, which %s does not have"
        complain(logging.ERROR, text, method, code, requester.revision)
        return PeerError(jsonrpc.INTERNAL_ERROR, error.message, error.data)
    return error


def _older(error: PeerError, method: str, requester: Requester) -> PeerError:
    """Return an error as a legacy-era peer expects it."""
    if requester.wire is None:
        return error
    return PeerError(requester.wire.outgoing_code(error.code, method, error.data), error.message, error.data)


def _judged(error: BaseException) -> BaseException:
    """Return a handler's exception, or the error for one that would show a user something unsafe."""
    broken = broken_error(error.code, error.data) if isinstance(error, PeerError) else None
    return (
        error if broken is None else WrongResult(f"raised an error that is wrong at {broken.pointer}: {broken.reason}")
    )


def _is_of_peer(error: MissingCapability, requester: Requester) -> bool:
    """Whether the peer that sent the request lacks it, rather than one that the handler called in turn."""
    peer = requester.side.other
    return bool(error.capability) and declarer(error.capability, requester.side) is peer


def _missing(error: MissingCapability, requester: Requester) -> PeerError:
    needed: dict[str, Any] = {}
    for path in error.capabilities:
        put(needed, path.partition(".")[2])
    data = {"requiredCapabilities": needed}
    code = MISSING_CAPABILITY if requester.is_modern else jsonrpc.INVALID_REQUEST
    return PeerError(code, str(error), data)
