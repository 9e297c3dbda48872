"""URIs: the spellings of one resource, and what a file URI or a path names.

A server names a resource ``notes://café/my list``; a client may only send ``notes://caf%C3%A9/my%20list`` (RFC 3987,
3.1). Both are the same here, whatever the case of hexadecimal digits (RFC 3986, 6.2.2). Reserved characters and their
escapes stay different, so that ``%2F`` separates nothing. Dots are not removed from paths; scheme and host stay as they
are.

Nothing here touches the file system, so the rules for Windows can be tested on any system.
"""

import os
import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_RESERVED: Final = frozenset(":/?#[]@!$&'()*+,;=%\\")
"""Characters with another meaning if they are not escaped; and the backslash, which some programs read as a slash."""
_ILLEGAL: Final = re.compile(r"[^\x21-\x7e]+")


def canonical(uri: str) -> str:
    """Return the same text for all spellings of a URI: without the escapes that it does not need.

    Args:
        uri: a URI or a part of one; may contain spaces and characters of any script.
    """
    return _ESCAPES.sub(_read, uri) if "%" in uri else uri


def _read(found: re.Match[str]) -> str:
    text = bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "surrogateescape")
    return "".join(each if each.isprintable() and each not in _RESERVED else _escaped(each) for each in text)


def _escaped(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def within(held: str, uri: str) -> str | None:
    """Return a URI as the holder of another one spells it, if it is the same resource or a part of it; None otherwise.

    Args:
        held: the URI that a client named.
        uri: the URI to spell.
    """
    base = held if held.endswith("/") else f"{held}/"
    if uri == held or uri.startswith(base):
        return uri
    whole, own = canonical(uri), canonical(base)
    if whole == canonical(held):
        return held
    if not whole.startswith(own):
        return None
    return base + _ILLEGAL.sub(lambda found: _escaped(found[0]), whole.removeprefix(own))


def listed(uri: str, uris: frozenset[str]) -> bool:
    """Return whether a URI is one of several, in whichever spelling.

    Args:
        uri: the URI.
        uris: the others.
    """
    return uri in uris or (bool(uris) and canonical(uri) in map(canonical, uris))


Flavour: TypeAlias = type[PurePosixPath] | type[PureWindowsPath]

HERE: Final[Flavour] = PureWindowsPath if os.name == "nt" else PurePosixPath
"""The syntax of paths on this system."""
MAX_LENGTH: Final = 8192
"""The maximum length of a path or URI in characters."""

_DISGUISED: Final = ("%2e", "%2f", "%5c", "%00")
_DRIVE: Final = r"[A-Za-z]:"


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
    if "\\" in path or re.match(_DRIVE, path):
        raise UnsafePath("the path has the syntax of another system")
    # POSIX gives exactly two leading slashes a special meaning (4.13).
    _check_parts(path.split("/"))
    return PurePosixPath("/" + path.lstrip("/") if path.startswith("/") else path)


def _windows(path: str) -> PureWindowsPath:
    path = path.replace("/", "\\")
    if path.startswith("\\"):
        raise UnsafePath("the path has no drive, or belongs to another host or a device")
    has_drive = re.match(_DRIVE, path) is not None
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
    if any(code in text.lower() for code in _DISGUISED):
        raise UnsafePath("dots and separators must not be encoded")


_PORTS: Final = (f"{port}{n}" for port in ("COM", "LPT") for n in "0123456789¹²³")
_DEVICES: Final = frozenset(("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", *_PORTS))
