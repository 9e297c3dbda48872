"""What a provider's models accept as the schema of a tool's arguments, and the result of lowering a schema to it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from mcp_runtime.json_schema.keywords import having

ANNOTATIONS: Final = having("annotation")
"""Keywords that refuse no value."""
APPLIED: Final = having("structure") - {"additionalProperties"}
"""Keywords that lowering itself expresses, in every dialect."""
CONSTRAINTS: Final = having("bound", "rule") | {"additionalProperties"}
"""Keywords that refuse values, and that a dialect may lack."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """The rules of one provider.

    Attributes:
        name: how it is called in reports.
        source: the page with its rules.
        date: when they were read there.
        keywords: the keywords that it has for values of each JSON type, besides those that lowering expresses.
        formats: the values of ``format`` that it knows.
        enums: the JSON types whose values may be enumerated.
        has_references: whether ``$ref`` into ``$defs`` is allowed; otherwise definitions are repeated in place.
        is_closed: whether an object must list all its properties as required, and have no others; what was optional
            then accepts null.
        null: how null is allowed: as one of several types, or by ``nullable``.
        has_any: whether any value can be told in a roundabout way: as one of the simple types, an object as JSON text.
        is_verbatim: whether everything below the top is taken as it is, but for the names of properties.
        needs_items: whether an array must say what its items are.
        has_empty_value: whether an enumeration may have the empty string.
        max_depth: how deep objects may be nested; None for no limit.
        max_properties: how many properties there may be in all.
        max_enum: how many enumerated values there may be in all.
    """

    name: str
    source: str
    date: str
    keywords: Mapping[str, frozenset[str]]
    formats: frozenset[str] = frozenset()
    enums: frozenset[str] = frozenset(("string",))
    has_references: bool = False
    is_closed: bool = False
    null: Literal["type", "nullable"] = "type"
    has_any: bool = False
    is_verbatim: bool = False
    needs_items: bool = False
    has_empty_value: bool = True
    max_depth: int | None = None
    max_properties: int | None = None
    max_enum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A keyword that a dialect cannot express.

    Attributes:
        pointer: the schema that has it, as a JSON pointer into the tool's schema in the terms of draft 2020-12.
        keyword: the keyword.
        reason: what is not kept.
    """

    pointer: str
    keyword: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A schema in the terms of a dialect.

    Attributes:
        schema: the JSON Schema for the model.
        losses: what it accepts although the tool does not, by keyword.
        is_strict: whether the provider enforces it (OpenAI's strict mode).
        because: why it is not, for people; empty if it is.
    """

    schema: Mapping[str, Any]
    losses: tuple[Loss, ...] = field(default=())
    is_strict: bool = True
    because: str = ""


class Image(NamedTuple):
    """An image of a result.

    Attributes:
        media_type: its media type, in lower case.
        data: its bytes in base64.
    """

    media_type: str
    data: str


PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names of properties that every provider accepts."""
