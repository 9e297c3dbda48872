"""The conversions between two adjacent revisions, as the generator derives them.

These classes mirror those that the emitted modules are made of (`mcp_runtime.bridge.table`, which documents every
field); a test compares the two. They are repeated here because the generator works without the runtime.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

FORMAT: Final = 2
"""The format of the tables, which the runtime checks."""

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything:
    """Every JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A string, number, boolean or null: ``kind`` is the type as JSON Schema calls it; bounds are inclusive."""

    kind: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """One of some constants."""

    values: tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """An array, of at most so many items."""

    item: "Shape"
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """An object: its declared properties, which of them are required, and which other properties it may have."""

    members: "Mapping[str, Shape]" = field(default_factory=lambda: _NONE)
    required: tuple[str, ...] = ()
    rest: "Shape | None" = Anything()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """A value of at least one of some shapes."""

    forms: "tuple[Shape, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A shape that the table stores under a name."""

    name: str


Shape: TypeAlias = Anything | Scalar | Constants | Items | Members | AnyOf | Named
"""Which values a type admits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """The treatment of something that the other side cannot express."""

    kind: str
    convert: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """Two objects at the same place; properties have their names in the newer revision."""

    members: "Mapping[str, Node]" = field(default_factory=lambda: _NONE)
    required: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=lambda: _NONE)
    added: Mapping[str, Shape] = field(default_factory=lambda: _NONE)
    removed: Mapping[str, Shape] = field(default_factory=lambda: _NONE)
    fill_old: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    fill_new: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    absent_old: Mapping[str, Fallback] = field(default_factory=lambda: _NONE)
    absent_new: Mapping[str, Fallback] = field(default_factory=lambda: _NONE)
    said_otherwise: Mapping[str, Fallback] = field(default_factory=lambda: _NONE)
    unfit_old: Mapping[str, Fallback] = field(default_factory=lambda: _NONE)
    rest: "Node | None" = None
    declared: tuple[str, ...] = ()
    is_capabilities: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """Two arrays whose items differ."""

    item: "Node"
    split: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A form on both sides of a union, and how the two differ."""

    old: Shape
    new: Shape
    node: "Node | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A form that only one side of a union has."""

    shape: Shape
    fallback: Fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Two unions: the forms that both have, those that only the older has, those that only the newer has."""

    pairs: tuple[Pair, ...]
    gone: tuple[Alone, ...] = ()
    come: tuple[Alone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Two types without common structure: a value passes if it is valid for both."""

    old: Shape
    new: Shape
    fallback: Fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A pair of objects that the table stores under a name."""

    name: str


Node: TypeAlias = Object | Array | Choice | Fit | Use
"""How two types at the same place differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method on both sides: its name on each, and how its params and its result differ; None where they do not."""

    old: str
    new: str
    params: Node | None = None
    result: Node | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The conversions between two adjacent revisions."""

    format: int
    old: str
    new: str
    methods: tuple[Method, ...]
    capabilities: "Mapping[str, Node]"
    nodes: Mapping[str, Object]
    shapes: Mapping[str, Shape]
