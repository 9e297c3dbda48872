"""The errors of the runtime, and how untrusted text is made safe to show."""

import re
import sys
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any, Final, Self


def printable(text: str) -> str:
    """Make untrusted text safe to print: control and bidirectional characters become escapes."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in text)


MAX_TEXT: Final = 600
"""How many characters of a peer's own words are quoted."""


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """Return a peer's text as it may be shown: without control characters, and not longer than `limit`."""
    shown = printable(text[:limit])
    return shown if len(text) <= limit else f"{shown}..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Something that a peer listed and that cannot be used; as text, one line that identifies it and says why.

    Attributes:
        pointer: its location in the result, as a JSON pointer.
        name: its name or URI, as listed; empty if unknown.
        reason: what is wrong with it.
    """

    pointer: str
    name: str = ""
    reason: str

    def __str__(self) -> str:
        name = f" ({clipped(self.name, 100)})" if self.name else ""
        return f"{self.pointer}{name}: {clipped(' '.join(self.reason.split()))}"


SITE: Final = "https://modelcontextprotocol.io/specification"
_MAX_SHOWN: Final = 4000
"""The maximum length of a displayed error, in characters. A peer's message may have any length."""


class McpError(Exception):
    """Base class of all runtime errors. Its text never contains raw control characters, even from the peer.

    Attributes:
        first: what else failed, and led to this; the text of the error begins with it. Usually empty.
    """

    first = ""

    def __str__(self) -> str:
        text = super().__str__()
        return clipped(f"{self.first}: {text}" if self.first else text, _MAX_SHOWN)

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (type(self), self.args), self.__dict__


def _copied(kind: type[McpError], arguments: tuple[Any, ...]) -> McpError:
    """Return an error without the constructor of its class, whose parameters are not its arguments."""
    error = kind.__new__(kind)
    error.args = arguments
    return error


class AuthorError(McpError):
    """A mistake in a server's own code. If it ends the program, only its text is shown, which says where to look."""

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Create the error, and let a program that it ends show only its text."""
        _show_without_traceback()
        return super().__new__(cls, *arguments)


@cache
def _show_without_traceback() -> None:
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if isinstance(error, AuthorError):
            print(error, file=sys.stderr)
        else:
            before(kind, error, where)

    sys.excepthook = show


class LifespanError(AuthorError):
    """The lifespan of a server raised an exception before its first request; the cause has it."""


class BindingFormatError(McpError):
    """The generated bindings are in a format that this runtime does not read.

    Args:
        package: the package of the bindings.
        revision: the revision they were generated from.
        found: their format.
        expected: the format that this runtime reads.
    """

    def __init__(self, package: str, revision: str, *, found: int, expected: int) -> None:
        super().__init__(
            f"{package} was generated in format {found}, but this runtime reads format {expected};"
            f" regenerate it: mcp-bindgen generate {revision}".rstrip()
        )


class PeerError(McpError):
    """The peer answered a request with a JSON-RPC error (JSON-RPC 2.0, section 5.1).

    Args:
        code: the error code.
        message: the peer's error message.
        data: what the peer added, any JSON value; None if nothing.

    Raise it in a handler to answer with that error. A `PeerError` that a handler received from another peer is not
    forwarded as is.
    """

    is_from_peer = False

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class ProtocolViolation(McpError):
    """A message violates the protocol.

    Args:
        revision: the revision in use, or `MCP` if none has been agreed yet.
        method: the method of the message; None if it has none.
        pointer: the location in the message, as a JSON pointer.
        reason: what is wrong there.
    """

    def __init__(self, *, revision: str, method: str | None, pointer: str = "", reason: str) -> None:
        what = f"{method} of {revision}" if method else f"a message of {revision}"
        super().__init__(f"{what}: {pointer or '/'}: {reason}")
        self.revision = revision
        self.method = method
        self.pointer = pointer
        self.reason = reason

    @property
    def link(self) -> str:
        """The specification page for the messages of the revision, or for the whole protocol if none is agreed."""
        return f"{SITE}/{self.revision}/schema" if self.revision[:1].isdigit() else SITE


class LocalProtocolError(ProtocolViolation):
    """This side tried to send something that the protocol forbids."""


class RemoteProtocolError(ProtocolViolation):
    """The peer sent something that the protocol forbids.

    Attributes:
        raw: the result as received, if it is a result that is not valid; otherwise None.
    """

    raw: Any = None


class MethodNotImplemented(McpError):
    """No handler implements a method.

    Args:
        method: the name of the method.
    """

    def __init__(self, method: str) -> None:
        super().__init__(f"{method} is not implemented here")
        self.method = method


class InvalidToken(McpError):
    """An access token is not valid here, or has expired. The text says why, without anything of the token."""


class ConnectionClosed(McpError):
    """The connection to the peer is closed. The text says why; after a server crash it has several lines."""

    def __str__(self) -> str:
        return "\n".join(clipped(line, _MAX_SHOWN) for line in Exception.__str__(self).split("\n"))


class AuthorizationError(McpError):
    """A step of authorization over HTTP failed. The text has no secrets, and nothing of a URL behind its path.

    Args:
        step: what was done: ``registering a client``.
        url: the URL that it was done at; may be empty.
        problem: what went wrong.
        remedy: what to do about it; empty if that is obvious.
    """

    def __init__(self, step: str, url: str, problem: str, remedy: str = "") -> None:
        place = clipped(re.sub(r"[?#].*|(?<=//)[^/?#]*@", "", url), 300)
        where = f" ({place})" if place else ""
        super().__init__(f"{step}{where}: {problem}{f'; {remedy}' if remedy else ''}")
        self.step = step
        self.url = place
        self.problem = problem
        self.remedy = remedy


class RequestTimeout(McpError, TimeoutError):
    """The peer did not answer in time. The request was cancelled.

    Args:
        method: the method of the request.
        seconds: how long the call waited.
    """

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: no answer within {seconds:g} s")
        self.method = method
        self.seconds = seconds


_MORE_REVISIONS = (
    "pass open_any() a client of each revision that the peer may speak, or allow more: ClientOptions(revisions='all')"
)


class UnsupportedRevision(McpError):
    """The two sides have no revision in common.

    Args:
        wanted: the revisions that this side supports.
        offered: the revisions that the peer says it supports.
        because: what the peer did instead of naming revisions; empty if unknown.
    """

    def __init__(self, wanted: tuple[str, ...], offered: tuple[str, ...], because: str = "") -> None:
        theirs = f"the peer speaks {' or '.join(offered)}" if offered else "the peer did not say what it speaks"
        ours = f"no revision in common: this side speaks {' or '.join(wanted)}"
        if both := [revision for revision in offered if revision in wanted]:
            super().__init__(f"the peer refused {' and '.join(both)}, which it lists as supported")
        else:
            super().__init__(f"{ours}, {because or theirs}; {_MORE_REVISIONS}")
        self.wanted = wanted
        self.offered = offered
        self.because = because


UNDECLARED: Final = "which the peer did not declare"


class MissingCapability(McpError):
    """The peer did not declare a capability that is needed.

    Args:
        capability: the path of the capability (``server.tools``).
        purpose: what needs it: a method, or a requirement of the program.
        more: the paths of further capabilities that are needed and were not declared.
        because: why they are missing.
    """

    def __init__(self, capability: str, purpose: str, *more: str, because: str = UNDECLARED) -> None:
        needed = f"the capabilities {', '.join((capability, *more))}" if more else f"the capability {capability}"
        super().__init__(f"{purpose} needs {needed}, {because}")
        self.capability, self.because = capability, because
        self.capabilities = (capability, *more)
        self.purpose = purpose
