"""Arguments of a tool or a prompt as they are typed at a command line: ``key=value``, read by the tool's schema."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import InputError, clip, did_you_mean
from mcp_bindgen.ir.json_values import NOT_JSON, as_list, as_object
from mcp_bindgen.ir.scalars import is_of
from mcp_bindgen.live.reloading.serving import split_target, why_foreign
from mcp_bindgen.tool_clients.listing import MAX_SHOWN, spell_type, types_of

MAX_TEXT: Final = 60
"""The number of characters of a value that are shown."""
_BOOLEANS: Final = {"true": True, "false": False}


def parse_arguments(tool: Mapping[str, Any], pairs: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a tool.

    Args:
        tool: the tool as its server lists it.
        pairs: the arguments, each as ``key=value``.

    Raises:
        InputError: they do not match the tool's schema.
    """
    schema = as_object(tool.get("inputSchema"))
    properties = as_object(schema.get("properties"))
    found: dict[str, Any] = {}
    for name, text in _split(pairs):
        is_closed = properties or schema.get("additionalProperties") is False
        if name not in properties and is_closed and not schema.get("additionalProperties"):
            raise _unknown(str(tool.get("name")), name, list(properties))
        found[name] = read_value(name, text, as_object(properties.get(name)), schema)
    for name in as_list(schema.get("required")):
        if isinstance(name, str) and name not in found:
            what = spell_type(as_object(properties.get(name)), schema)
            raise InputError.at(name, f"{tool.get('name')} requires this argument: {name}={what}")
    _check(schema, found)
    return found


def prompt_arguments(prompt: Mapping[str, Any], pairs: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a prompt, which are all texts.

    Raises:
        InputError: the prompt does not take one of them, or needs another one.
    """
    known = {str(one.get("name")): one for one in map(as_object, as_list(prompt.get("arguments")))}
    found = dict(_split(pairs))
    for name in found:
        if name not in known:
            raise _unknown(str(prompt.get("name")), name, list(known))
    for name, argument in known.items():
        if argument.get("required") is True and name not in found:
            raise InputError.at(name, f"{prompt.get('name')} requires this argument: {name}=TEXT")
    return found


def _split(pairs: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise InputError.at(pair, "must be key=value; give the server after -- or as a URL")
        if name in seen:
            raise InputError.at(name, "is given twice")
        seen.add(name)
        yield name, text


def read_value(name: str, text: str, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Read a value as the type that its schema asks for; a schema that asks for none takes JSON, or else a text.

    Args:
        name: what is read, for errors.
        text: the value as it was typed.
        schema: its schema.
        root: the document with the definitions of that schema; the schema itself by default.

    Raises:
        InputError: the text is not of that type.
    """
    root = schema if root is None else root
    types = types_of(schema, root)
    if types == ["string"]:
        return text
    value = _json(text)
    if not types:
        return text if value is NOT_JSON else value
    for type_ in types:
        if is_of(value, type_):
            return value
    if "string" in types:
        return text
    if "boolean" in types and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    wanted = spell_type(schema, root)
    hint = " (as JSON)" if {"array", "object"} & set(types) else ""
    raise InputError.at(name, f"must be of type {wanted}{hint}, not {clip(text, MAX_TEXT)!r}")


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NOT_JSON


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _check(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that violate the schema, as far as an untrusted schema can be evaluated.

    Raises:
        InputError: there is one.
    """
    from mcp_runtime.json_schema.check import Check, UnusableSchema

    try:
        mismatch = Check(schema, is_trusted=False).find(arguments)
    except (UnusableSchema, ModuleNotFoundError):
        return  # the server decides
    if mismatch is not None:
        name = mismatch.pointer.removeprefix("/") or "arguments"
        raise InputError.at(name, mismatch.reason)


def _unknown(holder: str, name: str, names: list[str]) -> InputError:
    known = ", ".join(clip(one, MAX_TEXT) for one in names[:MAX_SHOWN]) + (", ..." if len(names) > MAX_SHOWN else "")
    hint = did_you_mean(name, names, 1) or f"it takes {known or 'no arguments'}"
    return InputError.at(name, f"{holder} has no argument of that name; {hint}")


def server_and_arguments(words: Sequence[str], behind: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the server, as a URL or a command, and the arguments for the call.

    Args:
        words: those of a command line: a file or a URL, and arguments.
        behind: the command behind ``--``.

    Raises:
        InputError: they give several servers, or a file that cannot be served.
    """
    urls = [word for word in words if is_url(word)]
    name = next((word for word in words if "=" not in word and not is_url(word)), "")
    file = [] if urls else _file(name)
    if len(urls) + bool(file) + bool(behind) > 1:
        raise InputError.at("inspect", "give one server: a file, a URL, or a program after --")
    return [*urls, *file, *behind], [word for word in words if not is_url(word) and not (file and word == name)]


def _file(word: str) -> list[str]:
    """Return the command that serves a file, given as `run` takes it; empty for any other word."""
    path, variable = split_target(word)
    if path.suffix != ".py":
        return []
    if not path.is_file():
        raise InputError.at(path, "no such file")
    if why := why_foreign(path):
        raise InputError.at(path, why)
    return [sys.executable, "-m", "mcp_runtime", f"{path.resolve()}{variable and f':{variable}'}"]
