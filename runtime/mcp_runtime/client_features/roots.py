"""The roots of a client as its server sees them, and paths inside them."""

import asyncio
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import PeerError, RemoteProtocolError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS
from mcp_runtime.core.protocol.names import NOTIFICATIONS_ROOTS_LIST_CHANGED, ROOTS_LIST
from mcp_runtime.core.protocol.uris import UnsafePath, read_path, read_uri

__all__ = ["PathRefused", "Root", "Roots", "inside"]

MAX_ROOTS: Final = 1_000
"""How many roots of a client are accepted."""
MAX_TRIES: Final = 3
"""How often the roots are requested again because they changed in the meantime."""
_FEATURE: Final = "roots"


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
        requester = connection.requester_for()
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
            self._connection.report(
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
