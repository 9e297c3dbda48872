"""What a schema.ts says: type expressions, declarations and constants, as written and not yet resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mcp_bindgen.diagnostics import Location
from mcp_bindgen.ir.nodes import Kind, Opaque

Constant: TypeAlias = str | int | float | bool
Tags: TypeAlias = Mapping[str, str | bool]
Keyword: TypeAlias = Literal[
    "string", "number", "boolean", "null", "unknown", "any", "object", "undefined", "never", "Date"
]

Span: TypeAlias = tuple[int, int]
"""Where something is written: first byte and end, counted in the UTF-8 form of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TsKeyword:
    """A type that TypeScript itself names; a `Date` becomes a string when it is written as JSON."""

    name: Keyword


@dataclass(frozen=True, slots=True, kw_only=True)
class TsReference:
    """A type that has a name, declared in this file, or one of TypeScript's own if it takes arguments: `Omit<A, "b">`.

    `opaque` is the text of one with arguments.
    """

    name: str
    arguments: "tuple[TsType, ...]" = ()
    opaque: Opaque | None = field(default=None, compare=False)


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
    """`T[]` or `Array<T>`; a tuple is one of any of its items, and its text says the rest."""

    item: "TsType"
    opaque: Opaque | None = field(default=None, compare=False)


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
    """The body of an interface, an inline object, or `Record<string, T>`; its text says what is not in the members."""

    members: tuple["TsMember", ...]
    index: "TsType | None" = None
    """T of `[key: string]: T`."""
    index_span: Span | None = field(default=None, compare=False)
    """The index signature as a whole; None for a `Record`."""
    opaque: Opaque | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsMember:
    """One property of an interface or of an inline object."""

    name: str
    optional: bool
    type: "TsType"
    tags: Tags = field(default_factory=dict[str, str | bool], hash=False)
    doc: str = ""
    where: Location = field(compare=False)
    span: Span = field(compare=False)
    """The type alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TsKeyof:
    """`keyof T`."""

    type: "TsType"
    opaque: Opaque = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsIndexed:
    """`T["name"]` or `T[number]`."""

    type: "TsType"
    index: "TsType"
    opaque: Opaque = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsMapped:
    """`{ [K in Keys]: T }`; `optional` is None where the members keep what `Keys` says of them."""

    parameter: str
    keys: "TsType"
    value: "TsType"
    optional: bool | None
    opaque: Opaque = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsOpaque:
    """A type that cannot be read any further, such as a conditional one: its text, and what kind of value it takes."""

    opaque: Opaque
    kind: Kind = Kind.ANY


TsType: TypeAlias = (
    TsKeyword
    | TsReference
    | TsTypeof
    | TsLiteral
    | TsArray
    | TsUnion
    | TsIntersection
    | TsObject
    | TsKeyof
    | TsIndexed
    | TsMapped
    | TsOpaque
)  # closed


@dataclass(frozen=True, slots=True, kw_only=True)
class TsExtends:
    """One base of an interface: a reference, perhaps with arguments, as in `Omit<Base, "a" | "b">`."""

    type: TsType
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsParameter:
    """A type parameter of a generic declaration; `default` is what it is where nothing is given for it."""

    name: str
    default: TsType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TsDeclaration:
    """An interface, whose body is a `TsObject`, a type alias, or an enum, which is the union of its values."""

    name: str
    kind: Literal["interface", "type", "enum"]
    parameters: tuple[TsParameter, ...] = ()
    extends: tuple[TsExtends, ...] = ()
    body: TsType
    tags: Tags = field(default_factory=dict[str, str | bool], hash=False)
    doc: str = ""
    where: Location = field(compare=False)
    span: Span = field(compare=False)
    """The body."""
    parameters_span: Span | None = field(default=None, compare=False)
    """The list of parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeScriptDocument:
    """A whole schema.ts, in source order."""

    source: str
    revision: str | None = None
    """The value of LATEST_PROTOCOL_VERSION."""
    constants: Mapping[str, Constant] = field(default_factory=dict[str, Constant])
    constant_docs: Mapping[str, str] = field(default_factory=dict[str, str])
    declarations: tuple[TsDeclaration, ...] = ()
    imports: Mapping[str, str] = field(default_factory=dict[str, str])
    """The types of the base revision that an extension imports, by the names that its file gives them."""
