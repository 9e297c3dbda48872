"""What a schema.ts says: its declarations and constants, with types as written and not yet resolved.

Types are those of the IR, as in a schema.json. What only TypeScript has is an `Expression`, which `merge.evaluate`
computes; the kind of a number is one of them, since it depends on what the schema.json says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.nodes import (
    AllOf,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Primitive,
    Ref,
    Type,
    Union,
)

Constant: TypeAlias = str | int | float | bool
Tags: TypeAlias = Mapping[str, str | bool]
Span: TypeAlias = tuple[int, int]
"""Where something is written: first byte and end, counted in the UTF-8 form of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression(Type):
    """A type that TypeScript computes: an operator or the name of a generic type, and what it is applied to.

    The operators are `KEYOF`, `INDEXED` (of a type and its index) and those of `MAPPED` (of a parameter, its values and
    a type). Without operands it is `NUMBER`, `UNDEFINED`, or the text of a type that cannot be read any further.
    """

    operator: str
    operands: "tuple[Written, ...]" = ()


KEYOF, INDEXED = "keyof", "[]"
MAPPED: Mapping[str, bool | None] = {"in": None, "in ?": True, "in -?": False}
"""The operators of `{ [K in Keys]: T }`, and whether its members are optional; None keeps what `Keys` says of them."""
NUMBER, UNDEFINED = Expression(operator="number"), Expression(operator="undefined")
NEVER = Primitive(kind=Kind.NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Field["Written"]):
    """One property of an interface or of an inline object; `span` is that of its type."""

    tags: Tags = field(default_factory=dict[str, str | bool], hash=False)
    where: Location = field(compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body(Object["Written"]):
    """The body of an interface, an inline object, or `Record<string, T>`; `extra` is the T of `[key: string]: T`.

    `index_span` is where the index signature is written; None for a `Record`.
    """

    properties: tuple[Member, ...] = ()
    index_span: Span | None = field(default=None, compare=False)

    @property
    def index(self) -> "Written | None":
        """The type of undeclared properties, if it is stated."""
        return self.extra if self.indexed else None


Written: TypeAlias = (
    Primitive
    | Literal
    | Ref
    | ListOf["Written"]
    | MapOf["Written"]
    | Union["Written"]
    | AllOf["Written"]
    | Body
    | Expression
)
"""A type as TypeScript writes it, closed."""


def alternatives(type_: Written) -> tuple[Written, ...]:
    """Return the members of a union, each constant by itself; any other type is the only one."""
    members = type_.members if isinstance(type_, Union) else (type_,)
    return tuple(each for one in members for each in (one.each() if isinstance(one, Literal) else (one,)))


def union_of(members: Iterable[Written]) -> Written:
    """Make a flat union, constants first, each member once."""
    flat = dict.fromkeys(each for member in members for each in alternatives(member))
    values = tuple(each.values[0] for each in flat if isinstance(each, Literal))
    rest = [each for each in flat if not isinstance(each, Literal)]
    found = (Literal(values=values), *rest) if values else tuple(rest)
    return Union(members=found) if len(found) > 1 else next(iter(found), NEVER)


def children(type_: Written) -> tuple[Written, ...]:
    """Return the types that a type is made of."""
    match type_:
        case Primitive() | Literal() | Ref():
            return ()
        case Expression(operands=inner) | Union(members=inner) | AllOf(members=inner):
            return inner
        case ListOf(item=item) | MapOf(value=item):
            return (item,)
        case Body(properties=members, index=index):
            return (*(member.type for member in members), *(() if index is None else (index,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TsExtends:
    """One base of an interface: a reference, perhaps with arguments, as in `Omit<Base, "a" | "b">`."""

    type: Written
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TsDeclaration:
    """An interface, whose body is a `Body`, a type alias, or an enum, which is the union of its values.

    `parameters` are those of a generic type, each with its default.
    """

    name: str
    kind: OneOf["interface", "type", "enum"]
    parameters: Mapping[str, Written | None] = field(default_factory=dict[str, Written | None], hash=False)
    extends: tuple[TsExtends, ...] = ()
    body: Written
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
