"""Files of a folder as resources: a template for all of them, and the folder itself, which lists what is in it."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Final

from mcp_runtime.app.completions import completed
from mcp_runtime.app.errors import NotFound
from mcp_runtime.app.functions import said_of
from mcp_runtime.app.resources import contents
from mcp_runtime.app.uri_templates import UriTemplate
from mcp_runtime.binding import Binding
from mcp_runtime.errors import PeerError
from mcp_runtime.handlers import Context

MAX_BYTES: Final = 1 << 20
"""How many bytes a file may have to be sent, by default."""
MAX_ENTRIES: Final = 10_000
"""How many entries of a folder are listed."""
VARIABLE: Final = "path"

_INVALID_PARAMS: Final = -32602
_DIRECTORY: Final = "inode/directory"
_TEXTS: Final = ("json", "xml", "yaml", "toml", "javascript", "ecmascript", "sql", "x-sh", "graphql")
"""What a media type ends in whose files are texts, though it is not one of ``text/``."""
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened: a pipe in the folder blocks nobody."""


@dataclass(frozen=True, slots=True)
class _File:
    """What is sent of a file or a folder."""

    content: str | bytes
    mime_type: str


class Folder:
    """The files of a folder.

    Symbolic links are followed as long as they stay inside. Names that begin with a dot are hidden.

    Args:
        binding: the revision that is served.
        name: its name, which is the scheme of the URIs as well: ``docs:///guides/start.md``.
        root: the folder.
        max_bytes: how many bytes a file may have to be sent.
        hidden: whether hidden files are sent too.
        description: what is in it.

    Raises:
        ValueError: there is no such folder.
        ModuleNotFoundError: the extra ``app`` is not installed.
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

    @cached_property
    def itself(self) -> "FolderItself":
        """The folder as a resource."""
        return FolderItself(self, {"uri": self.uri, "name": str(self.listed["name"]), "mime_type": _DIRECTORY})

    async def read(self, uri: str, values: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return a file, or the names of what is in a folder, those of folders with a slash at the end.

        Raises:
            NotFound: there is no such file that may be seen.
            PeerError: it is too large.
        """
        from mcp_runtime.threads import THREADS

        file = await THREADS.run(self._load, values.get(VARIABLE, ""))
        return contents(self._binding, uri, file.content, file.mime_type)

    async def complete(self, value: str, others: dict[str, str], ctx: Context[Any]) -> Any:
        """Complete a path by what is in its folder."""
        from mcp_runtime.threads import THREADS

        return completed(self._binding, await THREADS.run(self._complete, value))

    def _load(self, path: str) -> _File:
        real = self._find(path)
        try:
            descriptor = os.open(real, _FLAGS) if not real.is_dir() else None
            if descriptor is None:
                return _File("".join(f"{name}\n" for name in self._names(real)), _DIRECTORY)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise NotFound("this is not a file")
                data = file.read(self._max_bytes + 1)
        except OSError as error:
            raise NotFound(f"it cannot be read: {error.strerror}") from None
        if len(data) > self._max_bytes:
            raise PeerError(_INVALID_PARAMS, f"the file has more than {self._max_bytes:,} bytes", {"pointer": "/uri"})
        return _typed(real.name, data)

    def _find(self, path: str) -> Path:
        """Return where a path of a client leads.

        Raises:
            NotFound: it is unsafe, leads out of the folder, is hidden, or is not there.
        """
        from mcp_runtime.features.file_paths import UnsafePath, is_uri, read_path
        from mcp_runtime.features.roots import inside

        if not path.strip("/"):
            return self._root
        try:
            relative = read_path(path)
        except UnsafePath as error:
            raise NotFound(str(error)) from None
        try:
            real = None if is_uri(path) or relative.is_absolute() else inside(Path(relative), [self._root])
            is_seen = real is not None and real.exists() and self._is_seen(relative.parts)
        except OSError:
            real, is_seen = None, False
        # What a link leads to may be hidden as well.
        if real is None or not is_seen or not self._is_seen(real.relative_to(self._root).parts):
            raise NotFound("there is no such file")
        return real

    def _is_seen(self, parts: tuple[str, ...]) -> bool:
        return self._shows_hidden or not any(part.startswith(".") for part in parts)

    def _names(self, folder: Path) -> Iterator[str]:
        names: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                # A name that is not UTF-8 has no URI.
                if self._is_seen((entry.name,)) and entry.name.isprintable() and len(names) < MAX_ENTRIES:
                    names.append(f"{entry.name}/" if entry.is_dir() else entry.name)
        yield from sorted(names)

    def _complete(self, value: str) -> list[str]:
        folder, slash, begin = value.rpartition("/")
        try:
            real = self._find(folder)
            return [f"{folder}{slash}{name}" for name in self._names(real) if name.startswith(begin)]
        except (NotFound, OSError):
            return []


class FolderItself:
    """A folder as a resource, which lists what is in it.

    Args:
        folder: the folder.
        listed: what clients are told of it.
    """

    template: UriTemplate | None = None

    def __init__(self, folder: Folder, listed: Mapping[str, Any]) -> None:
        self._folder = folder
        self.listed = listed
        self.where = folder.where

    async def read(self, uri: str, values: Mapping[str, str], ctx: Context[Any]) -> Any:
        """Return the names of what is in the folder."""
        return await self._folder.read(uri, values, ctx)


def _typed(name: str, data: bytes) -> _File:
    """Return a file as a text if it is one: by its name, and since it is UTF-8."""
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
