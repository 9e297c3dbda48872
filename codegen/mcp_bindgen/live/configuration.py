"""The configuration file of a client: entries of servers are added to it, and its comments are kept."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.ir.diagnostics import InputError, refuse_os_errors

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


def with_yaml_entries(path: Path, key: str, entries: dict[str, Any]) -> str:
    """Return a configuration in YAML with the entries, otherwise unchanged; see `with_entries`."""
    yaml: Any = import_module("yaml")

    with refuse_os_errors(path):
        text = path.read_text("utf-8") if path.exists() else ""
    try:
        before = _object(yaml.safe_load(text) or {}, path, "it", "YAML mapping")
    except yaml.YAMLError as error:
        raise InputError.at(path, f"not valid YAML: {' '.join(str(error).split())}") from None
    servers = _object(before.get(key) or {}, path, key, "YAML mapping")
    lines = [re.sub(rf"^({re.escape(key)}:)\s*(\{{\s*\}}|null|~)", r"\1", line) for line in text.splitlines()]
    lines += [] if key in before else [f"{key}:"]
    for name, entry in entries.items():
        if name in servers:
            del lines[slice(*_yaml_place(lines, key, name))]
        start = next(
            (number for number, line in enumerate(lines) if re.match(rf"{re.escape(key)}:\s*(#.*)?$", line)), 0
        )
        first = next((line for line in lines[start + 1 :] if line.strip() and not line.lstrip().startswith("#")), "")
        indent = first[: len(first) - len(first.lstrip())] or "  "
        spelled = yaml.safe_dump({name: entry}, sort_keys=False, allow_unicode=True).splitlines()
        lines[start + 1 : start + 1] = [f"{indent}{line}" for line in spelled]
    made, whole = "\n".join(lines) + "\n", before | {key: servers | entries}
    try:
        is_whole = yaml.safe_load(made) == whole
    except yaml.YAMLError:
        is_whole = False
    if not is_whole:
        raise InputError.at(path, f"{key} is not in lines of its own there; add the entry that install prints yourself")
    return made


def _yaml_place(lines: list[str], key: str, name: str) -> tuple[int, int]:
    """Return the lines of an entry, the first and the one after the last; none if it has no lines of its own."""
    start = next((number for number, line in enumerate(lines) if line.startswith(f"{key}:")), 0)
    wanted = re.compile(rf"(\s+)(['\"]?){re.escape(name)}\2:\s*(#.*)?$")
    for number, line in enumerate(lines[start + 1 :], start + 1):
        if found := wanted.match(line):
            rest = range(number + 1, len(lines))
            inner = len(found[1])
            end = next(
                (n for n in rest if lines[n].strip() and len(lines[n]) - len(lines[n].lstrip()) <= inner), len(lines)
            )
            return number, end
    return 0, 0


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


def _object(value: Any, path: Path, name: str, kind: str = "JSON object") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError.at(path, f"{name} is not a {kind}")
    return cast("dict[str, Any]", value)
