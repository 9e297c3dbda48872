"""What the three providers' pages demand of a tool, written from the pages alone: an oracle for what is sent."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema

from mcp_runtime.core.json.values import is_array, is_object

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OPENAI = frozenset(
    "title description type properties required additionalProperties items enum anyOf $ref $defs pattern format minimum"
    " maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split()
)
_GEMINI = frozenset(
    "title description type properties required items enum anyOf nullable format pattern minimum maximum minLength"
    " maxLength minItems maxItems minProperties maxProperties".split()
)


def faults_of_openai(tool: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over what the Responses API would refuse."""
    yield from _name(tool)
    schema = tool["parameters"]
    yield from _top(schema)
    for at, node in _nodes(schema):
        if "array" in _types(node) and not is_object(node.get("items")):
            yield f"{at}: no items"
    if not tool["strict"]:
        return
    for at, node in _nodes(schema):
        if unknown := node.keys() - _OPENAI:
            yield f"{at}: {unknown} in strict mode"
        if not {"type", "anyOf", "$ref"} & node.keys():
            yield f"{at}: no type"
        if "$ref" in node and (set(node) != {"$ref"} or not _leads(schema, node["$ref"])):
            yield f"{at}: a reference that is not alone, or leads nowhere"
        if "object" in _types(node) and (
            node.get("additionalProperties") is not False or set(node.get("required", ())) != set(node["properties"])
        ):
            yield f"{at}: not all properties are required, or there may be others"
    yield from (f"depth {depth}" for depth in [_depth(schema)] if depth > 10)


def faults_of_anthropic(tool: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over what the Messages API would refuse."""
    yield from _name(tool)
    yield from _top(tool["input_schema"])


def faults_of_gemini(tool: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over what the Gemini API would refuse."""
    yield from _name(tool)
    for at, node in _nodes(tool.get("parameters", {})):
        if unknown := node.keys() - _GEMINI:
            yield f"{at}: {unknown}"
        if at and not isinstance(node.get("type"), str) and "anyOf" not in node:
            yield f"{at}: no single type"
        if node.get("type") == "object" and not node.get("properties"):
            yield f"{at}: an object without properties"
        if node.get("type") == "array" and "items" not in node:
            yield f"{at}: no items"
        if "enum" in node and (node.get("type") != "string" or not all(isinstance(one, str) for one in node["enum"])):
            yield f"{at}: values other than texts are enumerated"
        if "" in node.get("enum", ()):
            yield f"{at}: an empty text is enumerated"
        if set(node.get("required", ())) - set(node.get("properties", {})):
            yield f"{at}: requires what it does not describe"


def _name(tool: Mapping[str, Any]) -> Iterator[str]:
    if not NAME.fullmatch(tool["name"]):
        yield f"the name {tool['name']}"


def _top(schema: Mapping[str, Any]) -> Iterator[str]:
    if wrong := _wrong(json.dumps(schema)):
        yield f"not a JSON Schema of 2020-12: {wrong}"
    if schema.get("type") != "object":
        yield "the top has another type"
    if found := {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"} & schema.keys():
        yield f"{found} at the top"
    for at, node in _nodes(schema):
        for key in node.get("properties", {}):
            if not KEY.fullmatch(key):
                yield f"{at}: a property called {key!r}"


@lru_cache(maxsize=16)
def _wrong(schema: str) -> str:
    """Return what the metaschema refuses; the providers often get the same schema."""
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    except jsonschema.SchemaError as error:
        return error.message
    return ""


def _nodes(schema: Any, at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not is_object(schema):
        return
    yield at, schema
    for word in ("properties", "$defs"):
        for name, inner in schema.get(word, {}).items():
            yield from _nodes(inner, f"{at}/{word}/{name}")
    for word in ("items", "additionalProperties"):
        yield from _nodes(schema.get(word), f"{at}/{word}")
    for word in ("anyOf", "oneOf", "allOf"):
        for number, inner in enumerate(schema.get(word, ())):
            yield from _nodes(inner, f"{at}/{word}/{number}")


def _types(node: Mapping[str, Any]) -> list[Any]:
    found: Any = node.get("type", [])
    return found if is_array(found) else [found]


def _leads(schema: Mapping[str, Any], reference: str) -> bool:
    return reference.removeprefix("#/$defs/") in schema.get("$defs", {})


def _depth(schema: Mapping[str, Any]) -> int:
    inner: list[Any] = [
        *schema.get("properties", {}).values(),
        *schema.get("anyOf", ()),
        *([schema["items"]] if "items" in schema else []),
    ]
    return ("properties" in schema) + max(map(_depth, inner), default=0)
