"""The leaves of types: what a schema says about one value without naming another type.

Two algebras share them: the shapes that the front ends read (`ingest.shapes`) and the types of the intermediate
representation (`ir.nodes`).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from mcp_bindgen.diagnostics import Location

Scalar: TypeAlias = str | int | float | bool | None


class Kind(StrEnum):
    """The primitive types of JSON Schema, and `ANY` for a value of any type (null included)."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The simple JSON Schema assertions on one value; None if the schema has no such assertion."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    exclusive_maximum: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool | None = None
    min_properties: int | None = None
    max_properties: int | None = None


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A statement of a schema about a value that no type here can express: its text and its place."""

    text: str
    where: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """The base of all types.

    `opaque` is what the schema says beyond the type: the type alone accepts every value that the schema accepts.
    Comparisons of types ignore it.
    """

    opaque: Opaque | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive(Type):
    """A scalar, or any value.

    `format` is an annotation (uri, byte, ...). `known` lists the values that the schema names for an open string: other
    strings are valid too.
    """

    kind: Kind
    bounds: Bounds = UNBOUNDED
    format: str = ""
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Literal(Type):
    """A closed set of constants, in the order of the schema; a single value is a constant.

    As in JSON and unlike in Python, true is not equal to 1.
    """

    values: tuple[Scalar, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._distinct() == other._distinct()

    def __hash__(self) -> int:
        return hash(self._distinct())

    def _distinct(self) -> tuple[tuple[bool, Scalar], ...]:
        return tuple((isinstance(value, bool), value) for value in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref(Type):
    """A reference to a definition by its name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A type that an object extends, and the properties that it does not inherit."""

    name: str
    omitted: tuple[str, ...] = ()


ANY = Primitive(kind=Kind.ANY)
STRING = Primitive(kind=Kind.STRING)
NULL = Primitive(kind=Kind.NULL)
