"""The keywords of JSON Schema by what they mean to types, the limits of types, and what a schema says for people."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urljoin

from mcp_bindgen.ingest.json_keywords import ANNOTATIONS, find
from mcp_bindgen.ir.json_values import escaped, is_list, is_object
from mcp_runtime.json_schema.keywords import KEYWORDS, MEANT, NAMED, having

MAX_DEPTH = 48
"""The maximum nesting depth of a schema that becomes types."""
MAX_NODES = 5_000
"""The maximum number of subschemas of a schema that becomes types."""
MAX_CHOICES = 500
"""The maximum number of values of an enum that becomes a Literal."""
MAX_TEXT = 1_000
"""How long a name or a value may be to become part of a type, in characters."""
MAX_INTEGER = 2**53
"""Bounds beyond it are left to jsonschema."""

INEXACT = having("rule") - {"format"} | {"prefixItems"}
"""Keywords that no type expresses."""
STRUCTURE = having("structure") - INEXACT - {"$ref"}
"""Keywords that say what a value is made of."""
ALL_BOUNDS = having("bound")
BOUNDS: Mapping[str, frozenset[str]] = {
    type_: frozenset(name for name in ALL_BOUNDS if MEANT[name] == meant)
    for type_, meant in (("string", "string"), ("array", "array"), ("integer", "number"), ("number", "number"))
}
"""The bounds that a type has."""

_SAID = ANNOTATIONS - {"$schema", "$defs", "definitions", "format"} | frozenset(
    "nullable example discriminator id enumDescriptions markdownDescription markdownEnumDescriptions enumItemLabels"
    " enumNames enumTitles enumDetails enumSortTexts deprecationMessage markdownDeprecationMessage errorMessage"
    " patternErrorMessage defaultSnippets doNotSuggest suggestSortText completionDetail allowComments"
    " allowTrailingCommas editPresentation order propertyOrder propertyOrdering tags label displayName placeholder"
    " help hint widget externalDocs xml tsType javaType".split()
)
_PREFIXES = ("x-", "ui:", "$comment")


def is_annotation(keyword: str) -> bool:
    """Return whether a keyword is for people, editors or models, and does not affect which values are valid."""
    return keyword in _SAID or keyword.startswith(_PREFIXES)


def is_unknown(keyword: str) -> bool:
    """Return whether a keyword is neither one of JSON Schema nor known to be for people: perhaps a misspelt one."""
    return keyword not in KEYWORDS and not is_annotation(keyword)


def texts(value: Any) -> list[str]:
    """Return the distinct strings of a list; empty if it is not a list."""
    return list(dict.fromkeys(item for item in value if isinstance(item, str))) if is_list(value) else []


def are_of(values: Any, type_: Any) -> bool:
    """Whether a type next to a list of values adds nothing to the list."""
    if type_ is None:
        return True
    return type_ == "string" and is_list(values) and all(isinstance(v, str) for v in values)


def is_choice(value: Any) -> bool:
    """Whether a value can be one of a Literal."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < MAX_INTEGER)


MAX_DESCRIPTION = 4_000
"""How much of a description becomes documentation, in characters."""


def default(schema: object) -> str:
    """Return the default of a property, as JSON; empty if its schema has none."""
    return json.dumps(schema["default"]) if is_object(schema) and "default" in schema else ""


def description(schema: object) -> str:
    """Return the description in a schema; may be empty."""
    found = schema.get("description") if is_object(schema) else None
    return found.strip()[:MAX_DESCRIPTION] if isinstance(found, str) else ""


_ANCHORS = ("$anchor", "$dynamicAnchor")


def nodes(node: Any, pointer: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over the schemas in a schema that are objects, each with the JSON pointer to it."""
    if is_object(node):
        yield pointer, node
    for key, value in node.items() if is_object(node) else enumerate(node) if is_list(node) else ():
        below = f"{pointer}/{escaped(key)}"
        if key in NAMED and is_object(value):
            for name, member in value.items():
                yield from nodes(member, f"{below}/{escaped(name)}")
        else:
            yield from nodes(value, below)


class References:
    """The places in a schema that references lead to.

    Args:
        root: the schema.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        base = root.get("$id") if is_object(root) else None
        self._base = base if isinstance(base, str) else ""

    def pointer(self, reference: object) -> str | None:
        """Return the JSON pointer to what a reference leads to; None if that is not in the schema.

        It may have escapes, name an ``$anchor``, or begin with an ``$id``, relative to that of the root.
        """
        if not isinstance(reference, str) or len(reference) > MAX_TEXT:
            return None
        name, _, fragment = reference.partition("#")
        start = ""
        if name and (wanted := urljoin(self._base, name)) != self._base.partition("#")[0]:
            if wanted not in self._ids:
                return None
            start = self._ids[wanted]
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return next((at for at in self._anchors.get(fragment, ()) if f"{at}/".startswith(f"{start}/")), None)
        return start + fragment if find(self._root, start + fragment) is not None else None

    @cached_property
    def _ids(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for pointer, node in nodes(self._root):
            if isinstance(id_ := node.get("$id"), str) and len(id_) <= MAX_TEXT:
                found.setdefault(urljoin(self._base, id_).rstrip("#"), pointer)
        return found

    @cached_property
    def _anchors(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for pointer, node in nodes(self._root):
            named = [node.get(keyword) for keyword in _ANCHORS]
            named += [id_[1:] for id_ in (node.get("$id"), node.get("id")) if isinstance(id_, str) and id_[:1] == "#"]
            for name in named:
                if isinstance(name, str):
                    found.setdefault(name, []).append(pointer)
        return found
