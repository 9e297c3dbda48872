"""What a schema.ts says: type expressions, declarations and constants, as written and not yet resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mcp_bindgen.diagnostics import Location

Constant: TypeAlias = str | int | float | bool
Tags: TypeAlias = Mapping[str, str | bool]
Keyword: TypeAlias = Literal["string", "number", "boolean", "null", "unknown", "any", "object"]

Span: TypeAlias = tuple[int, int]
"""Where something is written: first byte and end, counted in the UTF-8 form of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TsKeyword:
    """A type that TypeScript itself names."""

    name: Keyword


@dataclass(frozen=True, slots=True, kw_only=True)
class TsReference:
    """A type that this file declares under a name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TsTypeof:
    """The type of a constant (`typeof PARSE_ERROR`): the constant's value, looked up later."""

    constant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TsLiteral:
    """A type with one value. Compare the class of the value too: in Python, 1 equals True and 1.0."""

    value: Constant


@dataclass(frozen=True, slots=True, kw_only=True)
class TsArray:
    """`T[]` or `Array<T>`."""

    item: "TsType"


@dataclass(frozen=True, slots=True, kw_only=True)
class TsUnion:
    """`A | B`, two members or more, in order; a union inside it is part of it."""

    members: tuple["TsType", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TsIntersection:
    """`A & B`, two members or more, in order; an intersection inside it is part of it."""

    members: tuple["TsType", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TsObject:
    """The body of an interface, an inline object, or `Record<string, T>`."""

    members: tuple["TsMember", ...]
    index: "TsType | None" = None
    """T of `[key: string]: T`."""
    index_span: Span | None = field(default=None, compare=False)
    """The index signature as a whole; None for a `Record`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TsMember:
    """One property of an interface or of an inline object."""

    name: str
    optional: bool
    type: "TsType"
    tags: Tags = field(default_factory=dict[str, str | bool])
    doc: str = ""
    where: Location = field(compare=False)
    span: Span = field(compare=False)
    """The type alone."""

    @property
    def line(self) -> int:
        """The line on which the member begins, from 1; 0 when it was read from a facts file."""
        return self.where.line or 0


TsType: TypeAlias = (
    TsKeyword | TsReference | TsTypeof | TsLiteral | TsArray | TsUnion | TsIntersection | TsObject
)  # closed


@dataclass(frozen=True, slots=True, kw_only=True)
class TsExtends:
    """One base of an interface, and the members that `Omit<Base, "a" | "b">` leaves out of it."""

    name: str
    omitted: tuple[str, ...] = ()
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsDeclaration:
    """An interface, whose body is a `TsObject`, or a type alias."""

    name: str
    kind: Literal["interface", "type"]
    extends: tuple[TsExtends, ...] = ()
    body: TsType
    tags: Tags = field(default_factory=dict[str, str | bool])
    doc: str = ""
    where: Location = field(compare=False)
    span: Span = field(compare=False)
    """The body."""

    @property
    def line(self) -> int:
        """The line on which the declaration begins, from 1; 0 when it was read from a facts file."""
        return self.where.line or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeScriptDocument:
    """A whole schema.ts, in source order."""

    source: str
    revision: str | None = None
    """The value of LATEST_PROTOCOL_VERSION."""
    constants: Mapping[str, Constant] = field(default_factory=dict[str, Constant])
    constant_docs: Mapping[str, str] = field(default_factory=dict[str, str])
    declarations: tuple[TsDeclaration, ...] = ()
