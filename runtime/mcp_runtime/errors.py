"""The errors of the runtime: what a peer answered, what a peer broke, what we were asked to break."""

from typing import Any, Final

from mcp_runtime.printable import printable

__all__ = [
    "BindingFormatError",
    "ConnectionClosed",
    "LocalProtocolError",
    "McpError",
    "MethodNotImplemented",
    "MissingCapability",
    "PeerError",
    "ProtocolViolation",
    "RemoteProtocolError",
    "RequestTimeout",
    "UnsupportedRevision",
]

SITE: Final = "https://modelcontextprotocol.io/specification"
_MAX_SHOWN: Final = 4000
"""How many characters of an error are shown; a peer's message may have any number."""


def _shown(text: str) -> str:
    return printable(text[:_MAX_SHOWN]) + ("..." if len(text) > _MAX_SHOWN else "")


class McpError(Exception):
    """The base of every error that the runtime raises; its text has no control characters, whoever wrote it."""

    def __str__(self) -> str:
        text = super().__str__()
        return _shown(text)


class BindingFormatError(McpError):
    """Generated bindings do not fit this runtime."""

    def __init__(self, package: str, revision: str, *, found: int, expected: int) -> None:
        super().__init__(
            f"{package} was generated in format {found}, this runtime reads format {expected};"
            f" generate it again: mcp-bindgen generate {revision}".rstrip()
        )


class PeerError(McpError):
    """A peer answered a request with a JSON-RPC error (JSON-RPC 2.0, section 5.1).

    Args:
        code: the error code.
        message: the peer's own words.
        data: what the peer added, of any JSON type; None if nothing.

    A handler raises it to answer with an error of its own. One that came from the peer it asked is not passed on so.
    """

    is_from_peer = False

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.code, self.message, self.data))


class ProtocolViolation(McpError):
    """A message breaks the protocol.

    Args:
        revision: the revision that was spoken, `MCP` where that is not known.
        method: the method of the message, None if it has none.
        pointer: where in the message, as a JSON pointer.
        reason: what is wrong there.
    """

    def __init__(self, *, revision: str, method: str | None, pointer: str, reason: str) -> None:
        what = f"{method} of {revision}" if method else f"a message of {revision}"
        super().__init__(f"{what}: {pointer or '/'}: {reason}")
        self.revision = revision
        self.method = method
        self.pointer = pointer
        self.reason = reason

    @property
    def link(self) -> str:
        """The page of the specification on the messages of the revision, or on all of it before one is agreed upon."""
        return f"{SITE}/{self.revision}/schema" if self.revision[:1].isdigit() else SITE


class LocalProtocolError(ProtocolViolation):
    """We were asked to send what the protocol forbids."""


class RemoteProtocolError(ProtocolViolation):
    """The peer sent what the protocol forbids."""


class MethodNotImplemented(McpError):
    """No handler answers a method."""

    def __init__(self, method: str) -> None:
        super().__init__(f"{method} is not implemented here")
        self.method = method


class ConnectionClosed(McpError):
    """The connection to the peer is gone; the text says why, in several lines if a server has crashed."""

    def __str__(self) -> str:
        return "\n".join(map(_shown, Exception.__str__(self).split("\n")))


class RequestTimeout(McpError, TimeoutError):
    """A peer did not answer in time; it was told that the answer is no longer wanted."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: no answer within {seconds:g} s")
        self.method = method
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.method, self.seconds))


_MORE_REVISIONS = (
    "pass open_any() a client of each revision that the peer may speak, or use a bridge: Client.open(peer, bridge=True)"
)


class UnsupportedRevision(McpError):
    """The two sides have no revision in common.

    Args:
        wanted: the revisions that this side speaks.
        offered: the revisions that the peer speaks, as far as it said so.
        because: what it did instead of saying so; empty if nothing is known of that.
    """

    def __init__(self, wanted: tuple[str, ...], offered: tuple[str, ...], because: str = "") -> None:
        said = f"the peer speaks {' or '.join(offered)}" if offered else "the peer did not say what it speaks"
        theirs = because or said
        super().__init__(f"no revision in common: this side speaks {' or '.join(wanted)}, {theirs}; {_MORE_REVISIONS}")
        self.wanted = wanted
        self.offered = offered
        self.because = because

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.wanted, self.offered, self.because))


class MissingCapability(McpError):
    """A peer did not declare a capability that is needed.

    Args:
        capability: the path of the capability (``server.tools``).
        purpose: what needs it: a method, or what the program required.
        more: the paths of further ones that are needed and were not declared.
    """

    def __init__(self, capability: str, purpose: str, *more: str) -> None:
        needed = f"the capabilities {', '.join((capability, *more))}" if more else f"the capability {capability}"
        super().__init__(f"{purpose} needs {needed}, which the peer did not declare")
        self.capability = capability
        self.capabilities = (capability, *more)
        self.purpose = purpose

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.capability, self.purpose, *self.capabilities[1:]))
