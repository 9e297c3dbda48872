"""Folders of skills on disk: their files, the entries that describe them, and whether they have changed."""

import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from mcp_runtime.extensions.skills.frontmatter import read_frontmatter

log: Final = logging.getLogger("mcp_runtime")
SKILL: Final = "SKILL.md"
NAME: Final = re.compile(r"(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
MAX_FILES: Final = 512
MAX_BYTES: Final = 16 << 20
"""The limits of a skill that every host accepts (SEP-2640, Limits); longer files are not sent."""
MAX_WALKED: Final = 10_000
"""How many files a skill may have at all."""
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class File(NamedTuple):
    """A file, and what identifies its state: device, inode, size, time of its last change."""

    path: str
    state: tuple[int, int, int, int]

    def open(self) -> BufferedReader:
        """Open it; raises OSError if something else is at its path by now."""
        opened = os.fdopen(os.open(self.path, _FLAGS), "rb")
        if _state(os.fstat(opened.fileno())) != self.state:
            opened.close()
            raise OSError(f"{self.path} has just changed")
        return opened


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Folder:
    """A skill: its path in URIs, its folder, and what was computed from the files last.

    Attributes:
        entry: its entry in ``skills/list``.
        files: its files, by URI.
        children: the names in each of its directories, with their media types, by URI.
    """

    def __init__(self, path: str, root: Path, *, is_dynamic: bool) -> None:
        self.base = f"skill://{quote(path)}"
        self.uri = f"{self.base}/{SKILL}"
        self.entry: Mapping[str, Any] = {}
        self.files: dict[str, File] = {}
        self.children: dict[str, list[str]] = {}
        self._name, self._root, self._is_dynamic = path.rpartition("/")[2], root.resolve(), is_dynamic
        self._digests: dict[File, str] = {}

    def look(self) -> bool:
        """Look at the files; return whether any has changed. Raises OSError or ValueError if it is not valid."""
        children: dict[str, list[str]] = {}
        left: list[str] = []
        files = dict(self._walk(str(self._root), self.base, children, left))
        if (files, children) == (self.files, self.children):
            return False
        if left and not self.files:
            log.warning("%s: hidden files and links are left out: %s", self._root, ", ".join(left[:10]))
        if self.uri not in files:
            raise ValueError(f"{self._root}: there is no {SKILL}")
        self._digests = {file: self._digests.get(file) or _digest(file) for file in files.values()}
        try:
            with files[self.uri].open() as opened:
                frontmatter = read_frontmatter(opened.read(MAX_BYTES))
            name, description = frontmatter.get("name"), frontmatter.get("description")
            if name != self._name or not NAME.fullmatch(self._name):
                raise ValueError(
                    f"/name: {name!r:.80} must be {self._name!r}, in lower-case letters, digits and hyphens"
                )
            if not isinstance(description, str) or not description:
                raise ValueError("/description: must be a text")
        except ValueError as error:
            raise ValueError(f"{self._root / SKILL}: {error}") from None
        found = [{"uri": uri, "digest": self._digests[file], "size": file.state[2]} for uri, file in files.items()]
        if len(found) > MAX_FILES or sum(file.state[2] for file in files.values()) > MAX_BYTES:
            log.warning("%s: clients may refuse a skill of over %d files or %d bytes", self._root, MAX_FILES, MAX_BYTES)
        self.entry = {"uri": self.uri, "frontmatter": frontmatter, "resources": found}
        if self._is_dynamic:
            self.entry["resources"] = "dynamic"
        self.files, self.children = files, children
        return True

    def forget(self) -> None:
        """Forget what was computed."""
        self.entry, self.files, self.children = {}, {}, {}

    def _walk(
        self, folder: str, uri: str, children: dict[str, list[str]], left: list[str]
    ) -> Iterator[tuple[str, File]]:
        """Iterate over the files below a directory by URI; left out are hidden ones, and links out of the skill."""
        names = children.setdefault(uri, [])
        for each in sorted(os.scandir(folder), key=lambda entry: entry.name):
            path, found = each.path, each.stat(follow_symlinks=False)
            if is_link := stat.S_ISLNK(found.st_mode):
                path = os.path.realpath(path)
                with suppress(OSError):
                    found = os.stat(path, follow_symlinks=False)
            inside = path.startswith(f"{self._root}{os.sep}")
            is_folder = stat.S_ISDIR(found.st_mode)
            if each.name[0] == "." or not inside or not ((is_folder and not is_link) or stat.S_ISREG(found.st_mode)):
                left.append(each.path)
                continue
            names.append(each.name + "/" * is_folder)
            if len(left) + len(children) + sum(map(len, children.values())) > MAX_WALKED:
                raise ValueError(f"{self._root}: a skill must not have more than {MAX_WALKED:,} files")
            if is_folder:
                yield from self._walk(path, f"{uri}/{quote(each.name)}", children, left)
            else:
                yield f"{uri}/{quote(each.name)}", File(path, _state(found))


def _digest(file: File) -> str:
    with file.open() as opened:
        return f"sha256:{file_digest(opened, 'sha256').hexdigest()}"
