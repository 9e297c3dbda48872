"""The data types of generated conversion tables between two neighbouring revisions.

A table describes for each method how the params and the result of the older revision (`old`) and of the newer one
(`new`) differ, place by place; one description serves both directions. Anything it does not mention is the same on both
sides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

FORMAT: Final = 2
"""The format of tables that this runtime reads."""

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything:
    """Every JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A string, number, boolean or null: ``kind`` is its JSON Schema type; bounds are inclusive."""

    kind: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """One of several constants."""

    values: tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """An array with an optional maximum length."""

    item: "Shape"
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A value within further bounds, by their names in ``shapes``: ``{"max_length": 8}``."""

    shape: "Shape"
    bounds: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """An object: its declared properties, the required ones, and the type of undeclared ones."""

    members: "Mapping[str, Shape]" = field(default_factory=lambda: _NONE)
    required: tuple[str, ...] = ()
    rest: "Shape | None" = Anything()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """A value with at least one of several shapes."""

    forms: "tuple[Shape, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A shape that the table stores under a name."""

    name: str


Shape: TypeAlias = Anything | Scalar | Constants | Items | Bounded | Members | AnyOf | Named
"""The values that a type allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """What to do with a value that the other side cannot express.

    ``kind`` is the name by which a policy chooses; ``convert`` names the function of ``fallbacks``
    that expresses the value differently, or an empty string.
    """

    kind: str
    convert: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """Two objects at the same place; properties have their names in the newer revision.

    Attributes:
        members: the properties on both sides whose values differ.
        required: those of them that one side requires.
        renamed: the old names of renamed properties.
        added: the properties that only the newer side declares.
        removed: the properties that only the older side declares.
        fill_old: constants that the older side requires and the newer one lacks.
        fill_new: the same, in the other direction.
        absent_old: what to do if a property is absent that the older side requires and the newer one does not.
        absent_new: the same, in the other direction.
        said_otherwise: added properties whose meaning can be expressed in another way for the older side.
        unfit_old: what to do with the object if a property that only the older side declares has a value that it does
            not allow.
        rest: the difference between undeclared properties, if any.
        declared: the declared properties of both sides, where `rest` is given.
        is_capabilities: whether the properties are capabilities, which a revision either has or lacks.
    """

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
    """Two arrays whose items differ.

    ``split`` names a property of the items: where it holds several values in the newer revision, the older one gets an
    item for each; ``kind`` is the name by which a policy decides on that.
    """

    item: "Node"
    split: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A variant on both sides of a union, and how the two differ."""

    old: Shape
    new: Shape
    node: "Node | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A variant that only one side of a union has."""

    shape: Shape
    fallback: Fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Two unions: the variants that both have, and those that only one of them has."""

    pairs: tuple[Pair, ...]
    gone: tuple[Alone, ...] = ()
    come: tuple[Alone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Two types that have no common structure: a value passes if it is valid for both."""

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
    """A method on both sides: its name on each, and how its params and its result differ; None if they do not."""

    old: str
    new: str
    params: Node | None = None
    result: Node | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The conversions between two neighbouring revisions.

    Attributes:
        format: the format of the table.
        old: the older revision.
        new: the newer revision.
        methods: the methods whose messages differ.
        capabilities: how the capabilities of a ``client`` and a ``server`` differ.
        nodes: the pairs of objects that are referred to by name.
        shapes: the shapes that are referred to by name.
    """

    format: int
    old: str
    new: str
    methods: tuple[Method, ...]
    capabilities: "Mapping[str, Node]"
    nodes: Mapping[str, Object]
    shapes: Mapping[str, Shape]
