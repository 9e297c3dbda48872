"""Different spellings of one URI: escapes of other scripts, of spaces, and of characters that need none.

A server names a resource ``notes://café/my list``; a client may only send ``notes://caf%C3%A9/my%20list`` (RFC 3987,
3.1). Both are the same here, whatever the case of hexadecimal digits (RFC 3986, 6.2.2). Reserved characters and their
escapes stay different, so that ``%2F`` separates nothing. Dots are not removed from paths; scheme and host stay as they
are.
"""

import re
from typing import Final

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
