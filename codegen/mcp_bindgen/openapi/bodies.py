"""The body of an operation's request, and its result: which media type is used, and what callers give and get."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcp_bindgen.ir.json_values import as_list, as_object
from mcp_bindgen.openapi.document import Json
from mcp_bindgen.openapi.parameters import Argument, Reading
from mcp_bindgen.openapi.schemas import NULL, SCALARS, Schemas

MAX_FIELDS = 60
"""The number of properties up to which each is an argument of the tool."""
_FORM, _MULTIPART, _JSON = "application/x-www-form-urlencoded", "multipart/form-data", "application/json"
_RANKS = (_JSON, "application/merge-patch+json", "*/*", _MULTIPART, _FORM)
_MEDIA_TYPE = re.compile(r"[\w.+*-]+/[\w.+*-]+", re.ASCII)
_KINDS = {_MULTIPART: "multipart", _FORM: "form"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How a body is sent.

    Attributes:
        kind: ``json``, ``form``, ``multipart`` or ``content``.
        media_type: its media type.
    """

    kind: str
    media_type: str


def body_of(reading: Reading, raw: Json, method: str) -> tuple[Body | None, list[Argument]]:
    """Return how the body of an operation is sent, and its arguments, which have no names yet."""
    schemas = reading.schemas
    stated = as_object(reading.document.resolve(raw.get("requestBody")))
    contents = as_object(stated.get("content"))
    media_type = min(contents, key=_rank, default="")
    media, plain = as_object(contents.get(media_type)), _plain(media_type)
    if not _MEDIA_TYPE.fullmatch(plain):
        return None, []
    node, merged, is_required = media.get("schema"), schemas.merged(media.get("schema")), stated.get("required") is True
    kind = _KINDS.get(plain, "json" if _is_json(plain) else "content")
    if kind == "content":
        return Body(kind=kind, media_type=plain), [_content(plain, merged, is_required)]
    fields = {name: shape for name, shape in _fields(schemas, merged) if shape.get("readOnly") is not True}
    is_empty = merged.get("type") == "object" and not fields and not merged.get("additionalProperties")
    if is_empty and (kind == "form" or method in ("GET", "HEAD")) and not _is_alternative(schemas, merged):
        return None, []  # Some documents declare a form without fields for each GET.
    body = Body(kind=kind, media_type=_JSON if plain == "*/*" else plain)
    required = set(map(str, as_list(merged.get("required"))))
    if not fields or len(fields) > MAX_FIELDS or _is_alternative(schemas, merged):
        # Bodies are often required without being declared so.
        needed = is_required or bool(required)
        schema = schemas.request(node, reading.hint("body"))
        return body, [Argument(key="body", place="body", schema=schema, required=needed, is_whole=True)]
    encoding, properties = as_object(media.get("encoding")), as_object(merged.get("properties"))
    arguments = [
        replace(
            _field(schemas, kind, shape, as_object(encoding.get(name))),
            key=name,
            schema=schemas.request(properties.get(name), reading.hint(name)),
            required=name in required,
        )
        for name, shape in fields.items()
    ]
    return body, [_said_base64(each) if each.content == "base64" else each for each in arguments]


def result_of(reading: Reading, raw: Json) -> tuple[Json | None, bool]:
    """Return the schema of an operation's result, None if it returns nothing; and whether it is not JSON."""
    responses = as_object(raw.get("responses"))
    succeeded = sorted(code for code in responses if code.startswith("2")) or [c for c in responses if c == "default"]
    found: Json | None = None
    is_text = is_empty = False
    for code in succeeded:
        contents = as_object(as_object(reading.document.resolve(responses[code])).get("content"))
        media_type = next((each for each in contents if _is_json(_plain(each))), None)
        if media_type is not None and found is None:
            found = reading.schemas.result(as_object(contents[media_type]).get("schema"), reading.hint("result"))
        is_text |= bool(contents) and media_type is None
        is_empty |= not contents
    if found is None or is_text:
        return None, is_text
    return ({"anyOf": [found, NULL]} if is_empty and found and "anyOf" not in found else found), False


def _content(plain: str, merged: Json, is_required: bool) -> Argument:
    is_binary = merged.get("format") == "binary" or not plain.startswith("text/")
    schema = {"type": "string", "description": f"The body: {plain}{', as base64' if is_binary else ''}."}
    content = "base64" if is_binary else ""
    return Argument(key="body", place="body", schema=schema, required=is_required, content=content, is_whole=True)


def _fields(schemas: Schemas, merged: Json) -> Iterator[tuple[str, Json]]:
    if merged.get("type", "object") == "object":
        properties = as_object(merged.get("properties"))
        yield from ((name, schemas.merged(each)) for name, each in properties.items())
        if properties:  # Some documents forget to declare a property that they require.
            yield from (
                (name, {})
                for name in dict.fromkeys(map(str, as_list(merged.get("required"))))
                if name not in properties
            )


def _field(schemas: Schemas, kind: str, shape: Json, encoding: Json) -> Argument:
    """Return how a field of a body is encoded."""
    is_form, is_scalar = kind == "form", shape.get("type") in SCALARS
    is_binary = kind == "multipart" and (_is_binary(shape) or _is_binary(schemas.merged(shape.get("items"))))
    return Argument(
        place="body",
        schema={},
        required=False,
        style="deepObject" if is_form and encoding.get("style") == "deepObject" and not is_scalar else "",
        explode=False if is_form and encoding.get("explode") is False and not is_scalar else None,
        content="base64" if is_binary else "",
    )


def _said_base64(argument: Argument) -> Argument:
    text = str(argument.schema.get("description", "")).replace("(binary)", "").strip()
    return replace(argument, schema={**argument.schema, "description": f"{text} (base64)".strip()})


def _is_binary(shape: Json) -> bool:
    return shape.get("format") == "binary" or shape.get("contentMediaType") == "application/octet-stream"


def _is_alternative(schemas: Schemas, merged: Json) -> bool:
    """Whether a body is one of several objects, each with properties of its own."""
    members = [*as_list(merged.get("oneOf")), *as_list(merged.get("anyOf"))]
    return any(as_object(schemas.merged(each).get("properties")) for each in members)


def _rank(media_type: str) -> int:
    plain = _plain(media_type)
    return _RANKS.index(plain) if plain in _RANKS else 2 if _is_json(plain) else len(_RANKS)


def _plain(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _is_json(plain: str) -> bool:
    return plain in (_JSON, "*/*") or plain.endswith(("+json", "/json"))
