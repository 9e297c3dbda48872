"""Serves the files of a folder: a template for the files, and a resource that lists them."""

import os
import stat
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Final

from mcp_runtime.app.completions import completed
from mcp_runtime.app.errors import NotFound, invalid
from mcp_runtime.app.functions import said_of
from mcp_runtime.app.uri_templates import UriTemplate
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.handlers import Context

MAX_BYTES: Final = 1 << 20
"""The default maximum size of a file, in bytes."""
MAX_ENTRIES: Final = 10_000
"""The maximum number of listed folder entries."""
VARIABLE: Final = "path"

_DIRECTORY: Final = "inode/directory"
_TEXTS: Final = ("json", "xml", "yaml", "toml", "javascript", "ecmascript", "sql", "x-sh", "graphql")
"""Suffixes of media types whose files are text, though the types do not begin with ``text/``."""
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened: opening a pipe must not block."""


@dataclass(frozen=True, slots=True)
class _File:
    """The contents of a file or folder, as sent."""

    content: str | bytes
    mime_type: str


class Folder:
    """The files of a folder.

    Symbolic links are followed as long as they stay inside. Names that begin with a dot are hidden.

    Args:
        binding: the revision being served.
        name: its name, also used as the scheme of its URIs: ``docs:///guides/start.md``.
        root: the folder.
        max_bytes: the maximum size of a file in bytes.
        hidden: whether to serve hidden files too.
        description: what the folder contains.

    Raises:
        ValueError: `root` is not a folder.
    """

    def __init__(
        self, binding: Binding, name: str, *, root: Path, max_bytes: int, hidden: bool, description: str | None
    ) -> None:
        if not root.is_dir():
            raise ValueError(f"files({name!r}): {root} is not a folder")
        self.where = str(root)
        self.uri = f"{name}:///"
        self.template: UriTemplate | None = UriTemplate(f"{self.uri}{{+{VARIABLE}}}")
        self._binding = binding
        self._root = Path(os.path.realpath(root))
        self._max_bytes = max_bytes
        self._shows_hidden = hidden
        self.listed: Mapping[str, Any] = said_of(
            uri_template=self.template.text, name=name, description=description or f"Files of {name}, by their path."
        )

    def itself(self) -> "Folder":
        """Return the folder as a resource, which lists its contents."""
        resource = copy(self)
        resource.template = None
        resource.listed = {"uri": self.uri, "name": self.listed["name"], "mime_type": _DIRECTORY}
        return resource

    async def read(self, uri: str, values: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return a file, or the names in a folder; names of folders end with a slash.

        Raises:
            NotFound: there is no such visible file.
            PeerError: it is too large.
        """
        from mcp_runtime.app.content import contents  # It loads pydantic.
        from mcp_runtime.core.connection.background import THREADS

        file = await THREADS.run(self._load, values.get(VARIABLE, ""))
        return contents(self._binding, uri, file.content, file.mime_type)

    async def complete(self, value: str, others: dict[str, str], ctx: Context[Any]) -> Any:
        """Complete a path with the names in its folder."""
        from mcp_runtime.core.connection.background import THREADS

        return completed(self._binding, await THREADS.run(self._complete, value))

    def _load(self, path: str) -> _File:
        real = self._find(path)
        try:
            with self._opened(real) as target:
                mode = os.stat(target).st_mode
                if stat.S_ISDIR(mode):
                    return _File("".join(f"{name}\n" for name in self._names(target)), _DIRECTORY)
                if not stat.S_ISREG(mode):
                    raise NotFound("not a file")
                with open(target, "rb", closefd=isinstance(target, Path)) as file:
                    data = file.read(self._max_bytes + 1)
        except OSError as error:
            raise NotFound(f"cannot be read: {error.strerror}") from None
        if len(data) > self._max_bytes:
            raise invalid(f"the file has more than {self._max_bytes:,} bytes", "/uri")
        return _typed(real.name, data)

    def _find(self, path: str) -> Path:
        """Return the file that a client's path names.

        Raises:
            NotFound: the path is unsafe, leads out of the folder, or is hidden, or the file does not exist.
        """
        if not path.strip("/"):
            return self._root
        real = safe_join(self._root, path)
        # The target of a link may be hidden as well.
        if not self._is_seen(Path(path).parts) or not self._is_seen(real.relative_to(self._root).parts):
            raise NotFound("no such file")
        return real

    @contextmanager
    def _opened(self, real: Path) -> Generator[int | Path]:
        """Open a file or folder, following no link: one may have replaced a part of the path since it was checked.

        Raises:
            OSError: it cannot be opened, or its path has changed.
        """
        if sys.platform == "win32":  # Folders have no descriptors there, and links need a privilege.
            yield real
            return
        descriptor = os.open(self._root, _FLAGS)
        try:
            for part in real.relative_to(self._root).parts:
                inner = os.open(part, _FLAGS | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _is_seen(self, parts: tuple[str, ...]) -> bool:
        return self._shows_hidden or not any(part.startswith(".") for part in parts)

    def _names(self, folder: int | Path) -> list[str]:
        names: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                # A name that is not UTF-8 has no URI, and a link to itself (OSError) leads nowhere.
                if self._is_seen((entry.name,)) and entry.name.isprintable() and len(names) < MAX_ENTRIES:
                    with suppress(OSError):
                        names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
        return sorted(names)

    def _complete(self, value: str) -> list[str]:
        folder, slash, begin = value.rpartition("/")
        try:
            with self._opened(self._find(folder)) as target:
                return [f"{folder}{slash}{name}" for name in self._names(target) if name.startswith(begin)]
        except (NotFound, OSError):
            return []


def safe_join(root: Path, path: str) -> Path:
    """Return the real path of a file or folder inside a folder, for a path that a client gave.

    Symbolic links are followed as long as they stay inside.

    Args:
        root: the folder.
        path: a path relative to it, with slashes.

    Raises:
        NotFound: the path is absolute, unsafe or leads out of the folder, or nothing is there.
    """
    from mcp_runtime.client_features.roots import inside
    from mcp_runtime.core.protocol.uris import UnsafePath, is_uri, read_path

    try:
        relative = read_path(path)
        is_relative = not is_uri(path) and not relative.is_absolute()
        real = inside(Path(relative), [root]) if is_relative else None
    except UnsafePath as error:
        raise NotFound(str(error)) from None
    except OSError:
        real = None
    if real is None or not real.exists():
        raise NotFound("no such file")
    return real


def _typed(name: str, data: bytes) -> _File:
    """Return a file as text if its name says so and it is UTF-8, as bytes otherwise."""
    guessed, encoding = guess_type(name, strict=False)
    kind = "application/octet-stream" if encoding else guessed
    if kind is None or kind.startswith("text/") or kind.endswith(_TEXTS):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            pass
        else:
            if "\0" not in text:
                return _File(text, kind or "text/plain")
        return _File(data, "application/octet-stream")
    return _File(data, kind)
