"""The roots of a client (client/roots), and paths and file URIs before the file system is accessed.

Nothing here touches the file system, so the rules for Windows can be tested on any system.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.method import NotificationMethod, RequestMethod
from mcp_runtime.core.protocol.dispatch import State
from mcp_runtime.core.protocol.names import NOTIFICATIONS_ROOTS_LIST_CHANGED, ROOTS_LIST

Flavour: TypeAlias = type[PurePosixPath] | type[PureWindowsPath]

HERE: Final[Flavour] = PureWindowsPath if os.name == "nt" else PurePosixPath
"""The syntax of paths on this system."""
MAX_LENGTH: Final = 8192
"""The maximum length of a path or URI in characters."""

_ENCODED: Final = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_DRIVE: Final = re.compile(r"[A-Za-z]:")


class UnsafePath(ValueError):
    """A path or URI is refused, whatever it names; the text gives the reason without quoting it."""


def is_uri(text: str) -> bool:
    """Whether a text is a URI rather than a path; a single letter before a colon is a drive."""
    scheme = text.partition(":")[0]
    return len(scheme) > 1 and text != scheme and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) is not None


def read_path(text: str, flavour: Flavour = HERE) -> PurePath:
    """Return what a path or a file URI names, absolute or relative.

    Args:
        text: the path or URI from the peer.
        flavour: the syntax of paths where the file is.

    Raises:
        UnsafePath: it is not a file URI, or is written in a way that disguises the target: with ``..``, with encoded
            dots or separators, with NUL, or on another host.
    """
    if len(text) > MAX_LENGTH:
        raise UnsafePath("the path is too long")
    return read_uri(text, flavour) if is_uri(text) else _checked(text, flavour)


def read_uri(uri: str, flavour: Flavour = HERE) -> PurePath:
    """Return the absolute path that a file URI names (RFC 8089); raises like `read_path`."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise UnsafePath("not a URI") from None
    if parts.scheme != "file" or not uri[len("file:") :].startswith("/"):
        raise UnsafePath("not a file URI (file:///path)")
    if parts.netloc.lower() not in ("", "localhost"):
        raise UnsafePath("the URI belongs to another host")
    if parts.query or parts.fragment or "?" in uri or "#" in uri:
        raise UnsafePath("a file URI cannot have a query or a fragment")
    if not parts.path.startswith("/") or parts.path.startswith("//"):
        raise UnsafePath("the URI does not name an absolute path on this host")
    _check_encoding(parts.path)
    try:
        path = unquote(parts.path, errors="strict")
    except UnicodeDecodeError:
        raise UnsafePath("the encoded bytes in the URI are not UTF-8") from None
    # In file:///C:/x, often written file:///c%3A/x, the first slash is not part of the path.
    if flavour is PureWindowsPath:
        path = path[1:]
        if not re.match(r"[A-Za-z]:/", path + "/"):
            raise UnsafePath("the URI has no drive")
        path = path if len(path) > len("C:") else f"{path}/"
    return _checked(path, flavour)


def _checked(path: str, flavour: Flavour) -> PurePath:
    if not path:
        raise UnsafePath("the path is empty")
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in path):
        raise UnsafePath("the path contains control characters")
    _check_encoding(path)
    return _windows(path) if flavour is PureWindowsPath else _posix(path)


def _posix(path: str) -> PurePosixPath:
    if "\\" in path or _DRIVE.match(path):
        raise UnsafePath("the path has the syntax of another system")
    # POSIX gives exactly two leading slashes a special meaning (4.13).
    _check_parts(path.split("/"))
    return PurePosixPath("/" + path.lstrip("/") if path.startswith("/") else path)


def _windows(path: str) -> PureWindowsPath:
    path = path.replace("/", "\\")
    if path.startswith("\\"):
        raise UnsafePath("the path has no drive, or belongs to another host or a device")
    has_drive = _DRIVE.match(path) is not None
    inner = path[2:] if has_drive else path
    if has_drive and not inner.startswith("\\"):
        raise UnsafePath("the path depends on the current directory of a drive")
    parts = inner.split("\\")
    _check_parts(parts)
    if ":" in inner:
        raise UnsafePath("the path names a file stream")
    if any(part != part.rstrip(". ") for part in parts if part != "."):
        raise UnsafePath("a part of the path ends in a dot or a space, which Windows drops")
    if any(part.partition(".")[0].rstrip().upper() in _DEVICES for part in parts):
        raise UnsafePath("the path names a device")
    return PureWindowsPath(path)


def _check_parts(parts: list[str]) -> None:
    if ".." in parts:
        raise UnsafePath("the path goes up (..)")


def _check_encoding(text: str) -> None:
    if _ENCODED.search(text):
        raise UnsafePath("dots and separators must not be encoded")


_PORTS: Final = (f"{port}{n}" for port in ("COM", "LPT") for n in "0123456789¹²³")
_DEVICES: Final = frozenset(("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", *_PORTS))


_FEATURE: Final = "roots"


@dataclass(frozen=True, slots=True)
class RootsList:
    """Answers ``roots/list`` for a client; `set_roots` changes the answer on one connection.

    Attributes:
        roots: the roots, keyed by wire names.
    """

    roots: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, roots: Sequence[Any]) -> "RootsList":
        """Return the feature for ``Root`` objects or URIs.

        Raises:
            ValueError: a URI is not a ``file:`` URI.
        """
        return cls(tuple(map(_root, roots)))

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare roots, and announcements of changes where the revision has them."""
        spoken = connection.requester.spoken
        notifies = spoken is not None and NOTIFICATIONS_ROOTS_LIST_CHANGED in spoken.methods
        return ("roots.listChanged",) if notifies else ("roots",)

    def install(self, connection: Connection) -> None:
        """Answer with these roots until others are set."""
        binding = connection.binding
        assert binding is not None
        method = cast("RequestMethod[Any, Any]", binding.methods[ROOTS_LIST])
        connection.features[_FEATURE] = self.roots

        async def list_roots(params: Any, ctx: Context[Any]) -> Any:
            return method.result.build({"roots": list(connection.features[_FEATURE])})

        connection.handle(method, list_roots)


async def set_roots(connection: Connection, roots: Sequence[Any]) -> None:
    """Set the roots, and notify the server of the change; see `ClientStub.set_roots`."""
    checked = tuple(map(_root, roots))
    if _FEATURE not in connection.features:
        reason = "this client did not declare roots: open it with options=ClientOptions(roots=[...])"
        raise LocalProtocolError(revision=connection.revision, method=ROOTS_LIST, pointer="", reason=reason)
    connection.features[_FEATURE] = checked
    if connection.binding is not None and connection.state is State.READY:
        method = connection.requester.method(NOTIFICATIONS_ROOTS_LIST_CHANGED)
        if not isinstance(method, NotificationMethod):
            return
        await connection.notify(method, None)


def _root(root: Any) -> dict[str, Any]:
    """Return a root keyed by wire names.

    Raises:
        ValueError: the URI is not a ``file:`` URI, or disguises its target.
    """
    made: dict[str, Any] = {"uri": root} if isinstance(root, str) else root.model_dump(mode="json")
    try:
        read_uri(made["uri"])
    except UnsafePath as error:
        raise ValueError(f"a root must be a file URI (file:///path), not {made['uri']!r}: {error}") from error
    return made
