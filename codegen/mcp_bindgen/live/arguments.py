"""Arguments of a tool or a prompt as they are typed at a command line: ``key=value``, read by the tool's schema."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.tool_clients.kinds import is_list, is_object

MAX_SHOWN: Final = 20
"""How many names are shown of those that there are."""
_BOOLEANS: Final = {"true": True, "false": False}


def parse_arguments(tool: Mapping[str, Any], pairs: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a tool.

    Args:
        tool: the tool as its server lists it.
        pairs: the arguments, each as ``key=value``.

    Raises:
        InputError: they do not match the tool's schema.
    """
    schema = _object(tool.get("inputSchema"))
    properties = _object(schema.get("properties"))
    found: dict[str, Any] = {}
    for name, text in _split(pairs):
        if name not in properties and properties and not schema.get("additionalProperties"):
            raise _unknown(str(tool.get("name")), name, list(properties))
        found[name] = _read(name, text, _object(properties.get(name)))
    for name in _list(schema.get("required")):
        if isinstance(name, str) and name not in found:
            what = spell_type(_object(properties.get(name)))
            raise InputError.at(Location(source=name), f"{tool.get('name')} requires this argument: {name}={what}")
    _check(schema, found)
    return found


def prompt_arguments(prompt: Mapping[str, Any], pairs: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a prompt, which are all texts.

    Raises:
        InputError: the prompt does not take one of them, or needs another one.
    """
    known = {str(one.get("name")): one for one in map(_object, _list(prompt.get("arguments")))}
    found = dict(_split(pairs))
    for name in found:
        if name not in known:
            raise _unknown(str(prompt.get("name")), name, list(known))
    for name, argument in known.items():
        if argument.get("required") is True and name not in found:
            raise InputError.at(Location(source=name), f"{prompt.get('name')} requires this argument: {name}=TEXT")
    return found


def spell_arguments(schema: object) -> str:
    """Spell the arguments of a tool: ``a: number, b?: string``, where ``?`` means optional."""
    known = _object(schema)
    required = set(map(str, _list(known.get("required"))))
    shown = list(_object(known.get("properties")).items())[: MAX_SHOWN * 5]
    return ", ".join(f"{name}{'' if name in required else '?'}: {spell_type(_object(one))}" for name, one in shown)


def spell_type(schema: Mapping[str, Any]) -> str:
    """Spell in a word or two what a schema asks for."""
    if options := _list(schema.get("enum")):
        shown = "|".join(option if isinstance(option, str) else json.dumps(option) for option in options[:6])
        return shown if len(shown) <= 60 else f"{shown[:57]}..."
    types = _types(schema)
    if types == ["array"] and (inner := _object(schema.get("items"))):
        return f"{spell_type(inner)}[]"[:60]
    return "|".join(types)[:60] or "any"


def _split(pairs: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise InputError.at(Location(source=pair), "must be key=value; give the server after -- or as a URL")
        if name in seen:
            raise InputError.at(Location(source=name), "is given twice")
        seen.add(name)
        yield name, text


def _read(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    """Read a value as the type that its schema asks for; a schema that asks for none takes JSON, or else a text."""
    types = _types(schema)
    if types == ["string"]:
        return text
    value = _json(text)
    if not types:
        return text if value is _NOT_JSON else value
    for type_ in types:
        if _is(value, type_):
            return value
    if "string" in types:
        return text
    if "boolean" in types and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    wanted = spell_type(schema)
    hint = " (as JSON)" if {"array", "object"} & set(types) else ""
    raise InputError.at(Location(source=name), f"must be of type {wanted}{hint}, not {_shown(text)}")


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_NOT_JSON: Final = object()


def _types(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema names, also in its alternatives."""
    named: Any = schema.get("type")
    if isinstance(named, str):
        return [named]
    if is_list(named):
        return [str(one) for one in named]
    found: dict[str, None] = {}
    for keyword in ("anyOf", "oneOf"):
        for one in _list(schema.get(keyword))[:MAX_SHOWN]:
            inner: Any = _object(one).get("type")
            if isinstance(inner, str):
                found[inner] = None
    return list(found)


def _is(value: Any, type_: str) -> bool:
    match type_:
        case "integer":
            return type(value) is int or (type(value) is float and value.is_integer())
        case "number":
            return type(value) in (int, float)
        case "boolean":
            return type(value) is bool
        case "null":
            return value is None
        case "array":
            return type(value) is list
        case "object":
            return type(value) is dict
        case _:
            return False


def _check(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that violate the schema, as far as an untrusted schema can be evaluated.

    Raises:
        InputError: there is one.
    """
    from mcp_runtime.protocol.json_schema import Check, UnusableSchema

    try:
        mismatch = Check(schema, is_trusted=False).find(arguments)
    except (UnusableSchema, ModuleNotFoundError):
        return  # the server decides
    if mismatch is not None:
        name = mismatch.pointer.removeprefix("/") or "arguments"
        raise InputError.at(Location(source=name), mismatch.reason)


def _unknown(holder: str, name: str, names: list[str]) -> InputError:
    close = get_close_matches(name, names[:1000], 1)
    known = ", ".join(names[:MAX_SHOWN]) + (", ..." if len(names) > MAX_SHOWN else "")
    hint = f"; did you mean {close[0]}?" if close else f"; it takes {known}" if names else "; it takes none"
    return InputError.at(Location(source=name), f"{holder} has no argument of that name{hint}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _object(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def _list(value: Any) -> list[Any]:
    return value if is_list(value) else []
