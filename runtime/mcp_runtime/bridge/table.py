"""What a generated table of conversions between two neighbouring revisions is made of: data, nothing else.

A table says of each method how the params and the result of the older revision (`old`) and of the newer one (`new`)
differ, place by place; one description serves both directions. What it does not mention is the same on both sides.
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
    """An object: its declared members, which of them it must have, and what may stand beside them."""

    members: "Mapping[str, Shape]" = field(default_factory=lambda: _NONE)
    required: tuple[str, ...] = ()
    rest: "Shape | None" = Anything()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """A value of at least one of some shapes."""

    forms: "tuple[Shape, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A shape that the table keeps under a name."""

    name: str


Shape: TypeAlias = Anything | Scalar | Constants | Items | Members | AnyOf | Named
"""Which values a type admits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """What is done with something that the other side cannot say.

    ``kind`` is the name by which a policy chooses; ``convert`` names the function of `mcp_runtime.bridge.fallbacks`
    that says it in other words, empty where nothing does.
    """

    kind: str
    convert: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """Two objects that stand at the same place; members are named as in the newer revision.

    Attributes:
        members: the members on both sides whose values differ.
        required: those of them that one side must have.
        renamed: the old names of members that have new ones.
        added: the members that only the newer side declares.
        removed: the members that only the older side declares.
        fill_old: constants that the older side must have and the newer one has not.
        fill_new: the same, the other way round.
        absent_old: what is done if a member is missing that the older side must have and the newer one need not.
        absent_new: the same, the other way round.
        said_otherwise: added members whose meaning the older side can be told in another way.
        unfit_old: what is done if a member that only the older side declares has a value that it does not admit.
        rest: what stands beside the declared members, if that differs.
        declared: the declared members of both sides, where `rest` is given.
        is_capabilities: whether the members are abilities, which a revision either knows or has not.
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

    ``split`` names a member of the items: where it holds several values in the newer revision, the older one gets an
    item for each; ``kind`` is the name by which a policy decides on that.
    """

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
    """Two types of which neither is made of the other's parts: a value passes if it is of both."""

    old: Shape
    new: Shape
    fallback: Fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A pair of objects that the table keeps under a name."""

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
    """The conversions between two neighbouring revisions.

    Attributes:
        format: the format of the table.
        old: the older revision.
        new: the newer revision.
        methods: the methods whose messages differ.
        capabilities: how what a ``client`` and a ``server`` declare differs.
        nodes: the pairs of objects that are used under their names.
        shapes: the shapes that are used under their names.
    """

    format: int
    old: str
    new: str
    methods: tuple[Method, ...]
    capabilities: "Mapping[str, Node]"
    nodes: Mapping[str, Object]
    shapes: Mapping[str, Shape]
