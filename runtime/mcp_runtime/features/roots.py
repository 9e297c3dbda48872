"""Parses paths and file URIs from a peer, before the file system is accessed.

Nothing here touches the file system, so the rules for Windows can be tested on any system.
"""

import asyncio
import errno
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from mcp_runtime.binding import Binding
from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import LocalProtocolError, PeerError, RemoteProtocolError
from mcp_runtime.handlers import Context
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.capabilities import declares
from mcp_runtime.protocol.jsonrpc import INVALID_PARAMS
from mcp_runtime.protocol.legacy import Side, State
from mcp_runtime.protocol.names import NOTIFICATIONS_ROOTS_LIST_CHANGED, ROOTS_LIST

__all__ = ["PathRefused", "Root", "Roots", "inside"]

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


MAX_TRIES: Final = 3
"""How often the roots are requested again because they changed in the meantime."""
MAX_ROOTS: Final = 1_000
"""How many roots of a client are accepted."""
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
        tells = spoken is not None and NOTIFICATIONS_ROOTS_LIST_CHANGED in spoken.methods
        return ("roots.listChanged",) if tells else ("roots",)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root of a client, as its server sees it.

    Attributes:
        uri: the URI, as sent by the client.
        path: the path on this system; it need not exist.
        name: a display name; None if it has none.
    """

    uri: str
    path: Path
    name: str | None = None


class PathRefused(PeerError):
    """A path is outside the roots. Unless a handler catches it, the client gets -32602 and the reason."""


class Roots:
    """The roots of one client, as seen by its server.

    They are requested when first needed, and again after the client announced a change. If it does not announce changes
    (``roots.listChanged``), they are requested each time. In the modern era they belong to one request.

    `Roots.of` returns them; the constructor takes the `connection` and its `binding`.
    """

    @classmethod
    def of(cls, connection: Connection) -> "Roots":
        """Return the roots of a connection's client.

        In the legacy era the object is the same each time; in a handler of the modern era it is a new one.

        Args:
            connection: the connection to the client (``ctx.connection``).

        Raises:
            ValueError: this is not the server side.
        """
        if connection.side is not Side.SERVER:
            raise ValueError("Roots works on the server side only; a client sets its roots with set_roots()")
        requester = connection.current
        if requester.is_modern:
            return cls(connection, requester.binding)
        found: Roots | None = connection.features.get(_FEATURE)
        if found is None:
            found = connection.features[_FEATURE] = cls(connection, requester.binding)
        return found

    def __init__(self, connection: Connection, binding: Binding | None) -> None:
        assert binding is not None
        self._connection = connection
        self._method = cast("RequestMethod[Any, Any]", binding.methods[ROOTS_LIST])
        self._roots: tuple[Root, ...] | None = None
        self._changes = 0
        self._asking = asyncio.Lock()
        self._is_of_a_request = binding.era == "modern"
        if self._is_of_a_request:
            return
        own = connection.handler(NOTIFICATIONS_ROOTS_LIST_CHANGED)

        async def changed(params: Any, ctx: Context[Any]) -> None:
            self._changes += 1
            self._roots = None
            if own is not None:
                await own(params, ctx)

        connection.handle(binding.methods[NOTIFICATIONS_ROOTS_LIST_CHANGED], changed)

    async def list(self, options: CallOptions | None = None) -> tuple[Root, ...]:
        """Return the roots. Those that are not valid file URIs, or too many, are omitted and reported.

        Args:
            options: timeouts of the request.

        Raises:
            MissingCapability: the client has no roots.
            PeerError: the client answered with an error.
            RequestTimeout: it did not answer in time.
        """
        async with self._asking:
            if self._roots is not None:
                return self._roots
            changes = -1
            roots: tuple[Root, ...] = ()
            for _ in range(MAX_TRIES):
                changes = self._changes
                result = await self._connection.request(self._method, None, options)
                roots = self._read(result.roots)
                # If the roots changed while the answer was on its way, it may be outdated.
                if changes == self._changes:
                    break
            if changes == self._changes and self._may_be_kept():
                self._roots = roots
            return roots

    def _may_be_kept(self) -> bool:
        """Whether the roots stay valid until the client announces a change, or the request that they belong to ends."""
        return self._is_of_a_request or declares(self._connection.declared[Side.CLIENT], "roots.listChanged")

    async def resolve(self, path: str, options: CallOptions | None = None) -> Path:
        """Return the real path of a file or directory inside the roots, which need not exist.

        Paths that lead outside are refused: ``..``, symbolic links, encoded dots and separators, NUL, other hosts. The
        returned path has no symbolic links; anyone who can write inside the roots could still add one before it is
        opened.

        Args:
            path: an absolute path, a file URI, or a path relative to a root: the first root in which it exists, or else
                the first root.
            options: timeouts of the request for the roots.

        Raises:
            PathRefused: it is outside the roots. If a handler does not catch it, the client gets -32602.
            MissingCapability: the client has no roots. Further errors are those of `list`.
        """
        try:
            named = read_path(path)
        except UnsafePath as error:
            raise PathRefused(INVALID_PARAMS, str(error)) from error
        try:
            found = inside(Path(named), [root.path for root in await self.list(options)])
        except OSError as error:
            reason = f"the path cannot be resolved: {error.strerror}"
            raise PathRefused(INVALID_PARAMS, reason) from error
        if found is None:
            raise PathRefused(INVALID_PARAMS, "the path is outside the roots")
        return found

    def _read(self, listed: Sequence[Any]) -> tuple[Root, ...]:
        roots: list[Root] = []
        reason = f"there are more than {MAX_ROOTS:,}" if len(listed) > MAX_ROOTS else ""
        for each in listed[:MAX_ROOTS]:
            try:
                roots.append(Root(uri=each.uri, path=Path(read_uri(each.uri)), name=each.name))
            except UnsafePath as error:
                reason = reason or str(error)
        if reason:
            left_out = len(listed) - len(roots)
            reason = f"{left_out} root{'s were' if left_out > 1 else ' was'} left out: {reason}"
            revision = self._connection.revision
            self._connection.report_error(
                RemoteProtocolError(revision=revision, method=ROOTS_LIST, pointer="/roots", reason=reason)
            )
        return tuple(roots)


def inside(path: Path, roots: Sequence[Path]) -> Path | None:
    """Return the real path if it is inside one of the roots, otherwise None; symbolic links are followed.

    Args:
        path: an absolute path, or one relative to any of the roots.
        roots: absolute paths of directories and files.

    Raises:
        OSError: the system cannot look up the path, for example because a name is too long.
    """
    real_roots = [_real(root) for root in roots]
    if path.is_absolute():
        real = _real(path)
        candidates = [real] if any(real.is_relative_to(root) for root in real_roots) else []
        new = real if candidates else None
    else:
        led = [(_real(root / path), root) for root in real_roots if not os.path.isfile(root)]
        candidates = [real for real, root in led if real.is_relative_to(root)]
        # A path that does not exist yet must not resolve next to a link of the same name that leads out.
        new = candidates[0] if candidates and len(candidates) == len(led) else None
    return next(filter(_exists, candidates), new)


def _exists(path: Path) -> bool:
    """Whether a path exists; unlike `Path.exists`, it raises in every Python release if the path is impossible."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        raise
    return True


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
