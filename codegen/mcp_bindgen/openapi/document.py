"""Reads an OpenAPI document, JSON or YAML, and follows the references inside of it."""

import hashlib
import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast
from urllib.parse import unquote

from mcp_bindgen.ingest.sources import is_nested_deeper, is_url, parse_json, public_name, read_place
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, clip
from mcp_bindgen.ir.json_values import as_object, is_list, is_object, unescaped

MAX_BYTES = 64 * 1024 * 1024
"""The maximum size of a document, in bytes."""
MAX_VALUES = 3_000_000
"""How many values a document may have once the aliases of YAML are expanded."""
MAX_DEPTH = 200
"""How deep its values may be nested."""
MAX_HOPS = 100
"""How many references in a row are followed."""
_VERSION = re.compile(r"3\.[012]\.\d+(-.*)?")
_INDEX = re.compile(r"0|[1-9]\d{0,8}")

Json = dict[str, Any]


class Document:
    """An OpenAPI document.

    Attributes:
        source: where it is from, as it may be shown.
        sha256: of its bytes.
        raw: its value.
    """

    def __init__(self, source: str, data: bytes) -> None:
        self.source, self.sha256 = source, hashlib.sha256(data).hexdigest()
        value = _parse(source, data)
        if not is_object(value):
            raise InputError.at(source, "not an OpenAPI document: it is not an object")
        self.raw: Json = value
        if "swagger" in value:
            version = clip(str(value["swagger"]), 20)
            raise InputError.at(source, f"Swagger {version}; convert it to OpenAPI 3 first: npx swagger2openapi")
        written: object = value.get("openapi")
        if not isinstance(written, str) or not _VERSION.fullmatch(written):
            stated = "it states no version" if written is None else f"openapi is {clip(repr(written), 40)}"
            raise InputError.at(source, f"{stated}; OpenAPI 3.0 and 3.1 are supported")
        if not is_object(value.get("paths")):
            raise InputError.at(source, "it has no paths")

    @property
    def info(self) -> Json:
        """The object about the API: its title and its version."""
        return as_object(self.raw.get("info"))

    @property
    def security_schemes(self) -> Json:
        """The security schemes by name, references followed."""
        schemes = as_object(as_object(self.raw.get("components")).get("securitySchemes"))
        return {name: as_object(self.resolve(scheme)) for name, scheme in schemes.items()}

    def find(self, reference: object) -> Any:
        """Return what a reference leads to.

        Raises:
            InputError: it leads to another document, or nowhere.
        """
        shown = clip(repr(reference), 80)
        if not isinstance(reference, str) or not reference.startswith("#/"):
            hint = "bundle the document first: npx @redocly/cli bundle"
            raise InputError.at(self.source, f"the reference {shown} leads out of the document; {hint}")
        value: Any = self.raw
        for token in map(unescaped, unquote(reference[2:]).split("/")):
            if is_object(value) and token in value:
                value = value[token]
            elif is_list(value) and _INDEX.fullmatch(token) and int(token) < len(value):
                value = value[int(token)]
            else:
                raise InputError.at(self.source, f"the reference {shown} leads nowhere")
        return value

    def resolve(self, node: Any) -> Any:
        """Follow the references of a value until there is none; what is beside them takes precedence.

        Raises:
            InputError: they form a loop.
        """
        beside: Json = {}
        for _ in range(MAX_HOPS):
            if not is_object(node) or "$ref" not in node:
                return {**node, **beside} if is_object(node) and beside else node
            beside = {key: value for key, value in node.items() if key in ("description", "summary")} | beside
            node = self.find(node["$ref"])
        raise InputError.at(self.source, f"the reference {clip(repr(node['$ref']), 80)} leads to itself")

    def objects(self, node: Any) -> Iterator[Json]:
        """Iterate over the objects of an array, references followed.

        Raises:
            InputError: it is not an array of objects.
        """
        if node is not None and not is_list(node):
            raise InputError.at(self.source, f"an array is expected instead of {clip(repr(node), 80)}")
        for each in node or ():
            found = self.resolve(each)
            if not is_object(found):
                raise InputError.at(self.source, f"an object is expected instead of {clip(repr(each), 80)}")
            yield found


def read_document(place: str) -> Document:
    """Read a document from a path or an http(s) URL.

    Raises:
        InputError: it cannot be read, is too large, or is not an OpenAPI document of a version that is supported.
    """
    data = read_place(place, MAX_BYTES)
    shown = public_name(place) if is_url(place) else place
    return Document(shown, data)


def _parse(source: str, data: bytes) -> Any:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError.at(source, f"not UTF-8: {error.reason} at byte {error.start}") from None
    if text.lstrip()[:1] in ("{", "["):
        diagnostics = Diagnostics()
        value = parse_json(text, source, diagnostics)
        if diagnostics.errors:
            raise InputError.at(diagnostics.errors[0].where, diagnostics.errors[0].message)
        if is_nested_deeper(value, MAX_DEPTH):
            raise _too_deep(source)
        return value
    return _parse_yaml(source, text)


def _parse_yaml(source: str, text: str) -> Any:
    yaml: Any = import_module("yaml")
    try:
        value = _Copy(source).of(yaml.load(text, Loader=_loader(yaml)))
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        return value
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or "it has a character that is not allowed"
        raise InputError.at(source, f"neither JSON nor YAML{place}: {clip(str(reason), 200)}") from None
    except (RecursionError, TypeError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else clip(str(error), 200)
        raise InputError.at(source, f"cannot be read as YAML: {reason}") from None


def _loader(yaml: Any) -> Any:
    """Return a safe loader of the JSON schema of YAML 1.2: no dates, no yes and no, no merge keys, no sexagesimals."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", "~nN\0"),
        ("int", r"[-+]?[0-9]+", "-+0123456789"),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ):
        starts = ["" if letter == "\0" else letter for letter in first]
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), starts)
    loader.add_constructor("tag:yaml.org,2002:int", _decimal)
    return loader


def _decimal(loader: Any, node: Any) -> int:
    return int(loader.construct_scalar(node))


class _Copy:
    """Copies a value: what aliases of YAML share is separate, and all keys are text.

    Args:
        source: where it is from.
    """

    def __init__(self, source: str) -> None:
        self._source, self._number = source, 0

    def of(self, value: Any, depth: int = 0) -> Any:
        """Return a copy.

        Raises:
            InputError: there are too many values, they are nested too deeply, or one is not of JSON.
        """
        self._number += 1
        if self._number > MAX_VALUES:
            raise InputError.at(self._source, f"more than {MAX_VALUES:,} values, aliases of YAML expanded")
        if depth > MAX_DEPTH:
            raise _too_deep(self._source)
        if isinstance(value, dict):
            pairs: list[tuple[object, object]] = list(cast("dict[object, object]", value).items())
            return {_key(key): self.of(each, depth + 1) for key, each in pairs}
        if is_list(value):
            return [self.of(each, depth + 1) for each in value]
        if value is None or isinstance(value, str | int | float):
            return value
        raise InputError.at(self._source, f"a value is a YAML {type(value).__name__}, which JSON does not have")


def _too_deep(source: str) -> InputError:
    return InputError.at(source, f"nested deeper than {MAX_DEPTH}")


def _key(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(key)
