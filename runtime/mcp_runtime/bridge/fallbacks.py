"""How values are expressed in older revisions that have no form for them. Each function takes a newer value.

Nothing has validated the values yet, so none of their properties can be relied upon. Text added for people is in
English and in brackets, so that a model sees that it was not written by the author.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_runtime.core import sources
from mcp_runtime.core.json.values import is_array, is_object, subschema

_DEFINED: Final = "#/$defs/"
_REFERENCE: Final = re.compile(r'"\$(?:ref|dynamicRef|id|anchor|dynamicAnchor)": "([^"]*)"')
"""What a schema refers to, and what it may be referred to by; found in its JSON."""


def describe(block: Any) -> dict[str, Any]:
    """Return a text block that describes another block, with its annotations and metadata."""
    held: dict[str, Any] = block if is_object(block) else {}
    kept: dict[str, Any] = {name: held[name] for name in ("annotations", "_meta") if name in held}
    return {"type": "text", "text": _words(held), **kept}


def _words(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "audio" | "image" as type_:
            return f"[{type_}: {block.get('mimeType', 'unknown type')}, {_size(block.get('data'))} bytes]"
        case "resource_link":
            return _link(block)
        case "resource":
            contents = block.get("resource")
            return f"[resource: {contents.get('uri', 'unknown') if is_object(contents) else 'unknown'}]"
        case "tool_use":
            return f"[tool use {block.get('id')}: {block.get('name')} {_json(block.get('input'))}]"
        case "tool_result":
            content = block.get("content")
            inner = " ".join(_words(item) for item in content if is_object(item)) if is_array(content) else ""
            failed = ", an error" if block.get("isError") else ""
            return f"[tool result {block.get('toolUseId')}{failed}: {inner}]"
        case _:
            return f"[{_json(block)}]"


def _link(block: Mapping[str, Any]) -> str:
    about = [str(block[name]) for name in ("title", "description", "mimeType") if name in block]
    inner = f" ({'; '.join(about)})" if about else ""
    return f"[resource link: {block.get('name', 'unnamed')}{inner}, {block.get('uri', 'no address')}]"


def _size(data: Any) -> int:
    return len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else 0


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def join(blocks: Any) -> Any:
    """Return one block for several: the only one, or a text that describes each."""
    if not is_array(blocks):
        return blocks
    if len(blocks) == 1:
        return blocks[0]
    return {"type": "text", "text": "\n".join(_words(block) for block in blocks if is_object(block))}


def join_strings(values: Any) -> Any:
    """Return one string for several."""
    return ", ".join(str(value) for value in values) if is_array(values) else values


@dataclass(frozen=True, slots=True)
class InOtherWords:
    """How a property is expressed by the rest of its object.

    Attributes:
        is_said: whether it already is.
        say: adds what expresses it.
        wrap: returns a value that the older revision admits for one that it does not.
    """

    is_said: Callable[[dict[str, Any]], bool]
    say: Callable[[dict[str, Any]], None]
    wrap: Callable[[Any], Any]


def _structured_is_said(result: dict[str, Any]) -> bool:
    content, structured = result.get("content"), result["structuredContent"]
    values = [structured]
    if is_object(structured) and structured.keys() == {"result"}:
        values.append(structured["result"])  # what servers wrap where only objects are allowed
    return not is_array(content) or any(_says(block, value) for block in content for value in values)


def _wrap(value: Any) -> dict[str, Any]:
    return {"result": value}


def wrap_schema(schema: dict[str, Any]) -> bool | None:
    """Make a schema of output that rules out objects one of objects with such a value as `result`.

    Returns:
        Whether the schema says the same as before, of the wrapped value; None if it rules out what is not an object.
    """
    kinds = _kinds(schema, schema.get("$defs"))
    if kinds == {True}:
        return None
    references = _REFERENCE.findall(json.dumps(schema))
    if True in kinds or not all(each.startswith(_DEFINED) for each in references):
        return False
    outer: dict[str, Any] = {name: schema.pop(name) for name in ("$schema", "$defs") if name in schema}
    inner = dict(schema)
    schema.clear()
    schema |= {**outer, "type": "object", "properties": _wrap(inner), "required": ["result"]}
    return True


def spell_booleans(schema: dict[str, Any]) -> None:
    """Spell the schemas of properties as objects; anything else, such as null, becomes `{}`."""
    properties = schema.get("properties")
    if is_object(properties):
        schema["properties"] = {
            name: subschema(each) if isinstance(each, bool | dict) else {} for name, each in properties.items()
        }


def _kinds(schema: Any, defined: Any) -> set[bool]:
    """Return whether a schema admits objects (True), other values (False), or both; objects where it does not say."""
    found: set[bool] = set()
    waiting, followed = [schema], set[str]()  # each reference is followed once: a peer may have written the schema
    while waiting:
        each = waiting.pop()
        held: dict[str, Any] = each if is_object(each) else {}
        values, branches = [held["const"]] if "const" in held else held.get("enum"), held.get(
            "anyOf", held.get("oneOf")
        )
        if (types := held.get("type")) is not None:
            found |= {name == "object" for name in (types if is_array(types) else [types])}
        elif is_array(values):
            found |= {is_object(value) for value in values}
        elif isinstance(reference := held.get("$ref"), str) and is_object(defined):
            if reference not in followed:
                followed.add(reference)
                waiting.append(defined.get(reference.removeprefix(_DEFINED)))
        elif is_array(branches):
            waiting += branches
        else:
            found.add(True)
    return found or {True}


def _say_structured(result: dict[str, Any]) -> None:
    """Add the structured content of a tool's result as text.

    Servers should do that themselves for older clients (2025-06-18, server/tools).
    """
    result["content"].append({"type": "text", "text": _json(result["structuredContent"])})


def _says(block: Any, value: Any) -> bool:
    text = block.get("text") if is_object(block) and block.get("type") == "text" else None
    if not isinstance(text, str):
        return False
    if text == value:
        return True
    try:
        # Unlike values in Python, texts tell true from 1.
        return _sorted(json.loads(text)) == _sorted(value)
    except (ValueError, RecursionError):
        return False


def _sorted(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def name_titles(schema: Any) -> Any:
    """Return the older form of a choice with titles: constants and their names in two lists."""
    choices = schema.get("oneOf") if is_object(schema) else None
    if not is_object(schema) or not is_array(choices):
        return schema
    found = [choice for choice in choices if is_object(choice)]
    rest = {name: value for name, value in schema.items() if name != "oneOf"}
    return rest | {
        "enum": [choice.get("const") for choice in found],
        "enumNames": [choice.get("title") for choice in found],
    }


def first_hundred(values: Any) -> Any:
    """Return the first hundred items of a list."""
    return values[:100] if is_array(values) else values


def new_id(_: Any) -> str:
    """Return a unique id."""
    return sources.token_hex(16)


VALUES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "describe": describe,
    "first_hundred": first_hundred,
    "join": join,
    "join_strings": join_strings,
    "name_titles": name_titles,
    "new_id": new_id,
}
"""The functions that replace one value by another."""

OBJECTS: Final[Mapping[str, InOtherWords]] = {
    "say_structured": InOtherWords(is_said=_structured_is_said, say=_say_structured, wrap=_wrap)
}
"""How the rest of an object can express one of its properties."""

WHOLE: Final[Mapping[str, Callable[[dict[str, Any]], bool | None]]] = {
    "spell_booleans": spell_booleans,
    "wrap_schema": wrap_schema,
}
"""The functions that change a whole object for the sake of one property; on False it is dropped, on None it stays."""
