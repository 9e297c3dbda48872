"""File URIs and paths as text: what a peer may name, before any file is looked at.

Nothing here touches the file system, so that what holds on Windows can be tested elsewhere.
"""

import os
import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

Flavour: TypeAlias = type[PurePosixPath] | type[PureWindowsPath]

HERE: Final[Flavour] = PureWindowsPath if os.name == "nt" else PurePosixPath
"""How paths are written on this system."""
MAX_LENGTH: Final = 8192
"""How many characters a path or a URI may have."""

_ENCODED: Final = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_DRIVE: Final = re.compile(r"[A-Za-z]:")


class UnsafePath(ValueError):
    """A path or a URI that is not taken, whatever it names; the text says why without repeating it."""


def is_uri(text: str) -> bool:
    """Whether a text is a URI rather than a path; a single letter before a colon is a drive."""
    scheme = text.partition(":")[0]
    return len(scheme) > 1 and text != scheme and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) is not None


def read_path(text: str, flavour: Flavour = HERE) -> PurePath:
    """Return what a path or a file URI names, absolute or relative.

    Args:
        text: as a peer wrote it.
        flavour: how paths are written where the file is.

    Raises:
        UnsafePath: it is no file URI, or is written in a way that hides where it leads: with ``..``, with encoded dots
            or separators, with NUL, on another host.
    """
    if len(text) > MAX_LENGTH:
        raise UnsafePath("the path is too long")
    return read_uri(text, flavour) if is_uri(text) else _checked(text, flavour)


def read_uri(uri: str, flavour: Flavour = HERE) -> PurePath:
    """Return the absolute path that a file URI names (RFC 8089); raises as `read_path` does."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise UnsafePath("this is no URI") from None
    if parts.scheme != "file" or not uri[len("file:") :].startswith("/"):
        raise UnsafePath("this is no file URI (file:///path)")
    if parts.netloc.lower() not in ("", "localhost"):
        raise UnsafePath("the URI is one of another host")
    if parts.query or parts.fragment or "?" in uri or "#" in uri:
        raise UnsafePath("a file URI has no query and no fragment")
    if not parts.path.startswith("/") or parts.path.startswith("//"):
        raise UnsafePath("the URI names no absolute path of this host")
    _check_encoding(parts.path)
    try:
        path = unquote(parts.path, errors="strict")
    except UnicodeDecodeError:
        raise UnsafePath("what is encoded in the URI is not UTF-8") from None
    # In file:///C:/x, which many spell file:///c%3A/x, the first slash is no part of the path.
    if flavour is PureWindowsPath:
        path = path[1:]
        if not re.match(r"[A-Za-z]:/", path + "/"):
            raise UnsafePath("the URI names no drive")
        path = path if len(path) > len("C:") else f"{path}/"
    return _checked(path, flavour)


def _checked(path: str, flavour: Flavour) -> PurePath:
    if not path:
        raise UnsafePath("the path is empty")
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in path):
        raise UnsafePath("the path has characters that no path needs")
    _check_encoding(path)
    return _windows(path) if flavour is PureWindowsPath else _posix(path)


def _posix(path: str) -> PurePosixPath:
    if "\\" in path or _DRIVE.match(path):
        raise UnsafePath("the path is written as on another system")
    # More than one slash at the beginning may mean something else than one (POSIX, 4.13).
    _check_parts(path.split("/"))
    return PurePosixPath("/" + path.lstrip("/") if path.startswith("/") else path)


def _windows(path: str) -> PureWindowsPath:
    path = path.replace("/", "\\")
    if path.startswith("\\"):
        raise UnsafePath("the path has no drive, or is one of another host or a device")
    has_drive = _DRIVE.match(path) is not None
    inner = path[2:] if has_drive else path
    if has_drive and not inner.startswith("\\"):
        raise UnsafePath("the path depends on the current directory of a drive")
    parts = inner.split("\\")
    _check_parts(parts)
    if ":" in inner:
        raise UnsafePath("the path names a stream of a file")
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
