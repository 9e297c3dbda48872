"""The configuration file of a client: entries of servers are added to it, and its comments are kept."""

import json
import re
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.diagnostics import InputError, refuse_os_errors

_SPACE = re.compile(r"\s*")


def with_entries(path: Path, key: str, entries: dict[str, Any]) -> str:
    """Return a configuration with the entries; one that does not exist, or is empty, has no others.

    A file with comments is edited in place; another one is written again.

    Args:
        path: the configuration.
        key: the object that holds the servers.
        entries: the entries to add or to replace, by name.

    Raises:
        InputError: it cannot be read, or is not a configuration.
    """
    from mcp_runtime.host.config import read_regular, without_comments

    text = ""
    if path.exists():
        try:
            with refuse_os_errors(path):
                text = read_regular(path).decode("utf-8-sig")
        except ValueError as error:
            raise InputError.at(path, f"not valid JSON: {error}") from None
    plain = without_comments(text)
    try:
        settings = _object(json.loads(plain) if plain.strip() else {}, path, "it")
    except (ValueError, RecursionError) as error:
        raise InputError.at(path, f"not valid JSON: {error}") from None
    servers = _object(settings.get(key, {}), path, key)
    if plain == text:
        return json.dumps(settings | {key: servers | entries}, indent=2, ensure_ascii=False) + "\n"
    if not plain.strip():
        return text.rstrip() + "\n" + json.dumps({key: entries}, indent=2, ensure_ascii=False) + "\n"
    members = _places(plain, _space(plain, 0))
    if key not in members:
        return _inserted(text, plain.index("{"), key, entries, depth=1, is_empty=not members)
    start, _ = members[key]
    known = _places(plain, start)
    for name, entry in entries.items():
        if name in known:
            begin, end = known[name]
            text = text[:begin] + _spelled(entry, 2) + text[end:]
        else:
            text = _inserted(text, start, name, entry, depth=2, is_empty=not known)
    return text


def _places(text: str, at: int) -> dict[str, tuple[int, int]]:
    """Return where the values of an object begin and end, by name; it begins at `at`, and is valid JSON."""
    decoder, found = json.JSONDecoder(), dict[str, tuple[int, int]]()
    at = _space(text, at + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = _space(text, _space(text, at) + 1)
        end = decoder.raw_decode(text, start)[1]
        found[name] = start, end
        at = _space(text, end)
        at = _space(text, at + 1) if text[at] == "," else at
    return found


def _space(text: str, at: int) -> int:
    """Return where the white space at a place ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _inserted(text: str, at: int, name: str, value: Any, *, depth: int, is_empty: bool) -> str:
    """Return a text with a member at the beginning of the object that begins at `at`."""
    comma = "" if is_empty else ","
    member = f"\n{'  ' * depth}{json.dumps(name, ensure_ascii=False)}: {_spelled(value, depth)}{comma}"
    return text[: at + 1] + member + text[at + 1 :]


def _spelled(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)


def _object(value: Any, path: Path, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError.at(path, f"{name} is not a JSON object")
    return cast("dict[str, Any]", value)
