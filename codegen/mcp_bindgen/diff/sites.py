"""What a comparison puts side by side: one class for each kind of place at which rules look.

The walks find the places and fill these in; the rules decide whether something changed there. A side that has nothing
of the kind is None.
"""

from dataclasses import dataclass
from enum import Enum, auto

from mcp_bindgen.ir.nodes import Field, Method, Ref, TypeRef


class SourceSite:
    """A place of a schema that no message shows: rules that look at one belong to the source view."""

    __slots__ = ()


class Ground(Enum):
    """What kind of object a property belongs to."""

    OPEN = auto()
    CLOSED = auto()
    CAPABILITIES = auto()
    SCHEMA = auto()
    """A JSON Schema that admits any keyword: peers send and read those that MCP leaves open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSite:
    """A request or a notification that travels one way; `way` names it where the message still travels the other."""

    before: Method | None
    after: Method | None
    way: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeSite(SourceSite):
    """A property of the JSON-RPC frame, as the definition of a message repeats it: its name, empty if it does not."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeSite:
    """A result that a request may get beside its usual one."""

    before: Ref | None
    after: Ref | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSite:
    """A form of JSON-RPC message, such as a batch."""

    before: TypeRef | None
    after: TypeRef | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTypeSite:
    """An entry of the union that lists the results of one side, by its name."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSite:
    """An error code."""

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySite:
    """A property of an object that messages carry."""

    before: Field | None
    after: Field | None
    ground: Ground = Ground.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSite:
    """A property that moved into an object beside it or out of one, by its old path and its new one."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSite:
    """Whether an object may have properties that it does not declare."""

    before: bool
    after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FormSite:
    """A form of a value that only one side has, among others that both have."""

    before: TypeRef | None
    after: TypeRef | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSite:
    """The forms of a value, compared no deeper; `selects` if it is a constant that tells the forms of a union apart."""

    before: tuple[TypeRef, ...]
    after: tuple[TypeRef, ...]
    selects: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """One bound as it is spelled; `inwards` grows as it admits less, None where that cannot be compared."""

    text: str
    inwards: tuple[float, bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSite:
    """A bound on a number, on the length of a text, or on the size of a list or a map."""

    before: Edge | None
    after: Edge | None


class Fate(Enum):
    """What became of a definition."""

    ADDED = auto()
    REMOVED = auto()
    RENAMED = auto()
    REUSED = auto()
    SPLIT = auto()
    MERGED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionSite(SourceSite):
    """A definition and what became of it, as the readings spell it."""

    fate: Fate
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSite(SourceSite):
    """A definition that another one extends, by its name."""

    before: str | None
    after: str | None


class Reference(Enum):
    """How a place of the schema refers to a type differently."""

    NAMED = auto()
    INLINED = auto()
    RETARGETED = auto()
    DECLARED = auto()
    UNDECLARED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSite(SourceSite):
    """A place that refers to its type in another way, as the readings spell it."""

    kind: Reference
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsentSite(SourceSite):
    """A property of a definition that no message carries; `retyped` if its type says something else."""

    before: Field | None
    after: Field | None
    retyped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSite(SourceSite):
    """An alias that no message carries and that stands for something else, as the readings spell it."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSite(SourceSite):
    """The description of something that both sides have."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueSite(SourceSite):
    """What a schema says of something beyond its type: text that no type expresses, empty if there is none."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecationSite(SourceSite):
    """Whether something that a side has is deprecated."""

    before: bool
    after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultSite(SourceSite):
    """What stands for a property that is left out, as JSON; empty if a side does not say."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantSite(SourceSite):
    """A constant of schema.ts that is not an error code, spelled as JSON."""

    before: str | None
    after: str | None


class Feature(Enum):
    """What a schema says of itself."""

    DIALECT = auto()
    CONTAINER = auto()
    REVISION = auto()
    TEXT = auto()
    """Its bytes, where the revision is the same on both sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSite(SourceSite):
    """What a schema says of itself, where the two sides differ."""

    feature: Feature
    before: str
    after: str
