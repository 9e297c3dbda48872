"""Errors of decorated functions: when they are defined, and when they run."""

import sys
from traceback import extract_stack, walk_stack
from types import TracebackType
from typing import Final

from mcp_runtime.core.errors import AuthorError, McpError, PeerError, clipped

_INVALID_PARAMS: Final = -32602
_MAX_SHOWN: Final = 100
_RESOURCE_NOT_FOUND: Final = -32002
"""The error code of the legacy era; the runtime translates it for clients of the modern era."""


class DefinitionError(AuthorError, TypeError):
    """A function cannot be a tool, a resource or a prompt.

    Args:
        where: the file and line of the function.
        what: what it should become: ``tool add``.
        reason: why it cannot, and what to change.
    """

    def __init__(self, where: str, what: str, reason: str) -> None:
        super().__init__(f"{where}: {what}: {reason}")
        self.where, self.what, self.reason = where, what, reason


def misuse(calls: int, what: str, reason: str) -> DefinitionError:
    """Return the error for a wrong call of an author, who is so many calls up from the caller of this function."""
    line = extract_stack(limit=calls + 2)[0]
    return DefinitionError(f"{line.filename}:{line.lineno}", what, reason)


def calling_line() -> str:
    """Return the file and line outside of the runtime that led to this call."""
    for frame, line in walk_stack(None):
        if not str(frame.f_globals.get("__name__")).startswith("mcp_runtime."):
            return f"{frame.f_code.co_filename}:{line}"
    return "this program"


class ResultError(AuthorError, TypeError):
    """A function returned something that is not what it declares, or that cannot be sent."""


class ToolFailure(McpError):
    """A tool raises it to report a failure to the model: the text becomes the tool's result.

    Any other exception is logged, and the client is only told that the tool failed.
    """


def for_author(error: Exception) -> Exception:
    """Return an error of the same type with the author's line; if it ends the program, only its text is shown."""
    kind: type[Exception] = type(type(error).__name__, (AuthorError, type(error)), {})
    return kind(f"{calling_line()}: {error}")


_before: Final = sys.excepthook


def _show_with_advice(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Show the error that ends a program, and the author's line and advice below it if a name of ours is misspelt."""
    _before(kind, error, where)
    if isinstance(error, TypeError | AttributeError | NameError | ImportError) and not isinstance(error, AuthorError):
        from mcp_runtime.app.advice import misspelt

        if line := misspelt(error):
            print(line, file=sys.stderr)


sys.excepthook = _show_with_advice


def invalid(reason: str, pointer: str) -> PeerError:
    """Return the error for params that a client got wrong."""
    return PeerError(_INVALID_PARAMS, reason, {"pointer": pointer})


def unknown(kind: str, name: str) -> PeerError:
    """Return the error for a tool or a prompt that a client names and that does not exist."""
    return invalid(f"there is no {kind} {clipped(name, _MAX_SHOWN)}", "/name")


class NotFound(PeerError):
    """The resource does not exist: raised by a function for a URI that matches its template but names nothing.

    Args:
        message: what is missing.
        uri: the URI, if it is not obvious.
    """

    def __init__(self, message: str, uri: str | None = None) -> None:
        super().__init__(_RESOURCE_NOT_FOUND, message, None if uri is None else {"uri": uri})
