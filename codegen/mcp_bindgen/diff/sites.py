"""The sites of a comparison: one class for each kind of place that rules check.

The walks find the places and create the sites; the rules decide whether something changed there. A side on which the
thing does not exist is None.
"""

from dataclasses import dataclass
from enum import Enum, auto

from mcp_bindgen.ir.nodes import Field, Method, Ref, TypeRef


class SourceSite:
    """A place of a schema that is not visible in messages: rules that check one belong to the source view."""

    __slots__ = ()


class Ground(Enum):
    """What kind of object a property belongs to."""

    OPEN = auto()
    CLOSED = auto()
    CAPABILITIES = auto()
    SCHEMA = auto()
    """A JSON Schema that admits any keyword: peers may also use keywords that MCP does not declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSite:
    """A request or a notification in one direction, which `way` names if the message is still sent in the other."""

    before: Method | None
    after: Method | None
    way: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeSite(SourceSite):
    """A property of the JSON-RPC frame that the definition of a message repeats: its name, empty if it does not."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeSite:
    """A result that a request may get instead of its usual one."""

    before: Ref | None
    after: Ref | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSite:
    """A form of JSON-RPC message, such as a batch."""

    before: TypeRef | None
    after: TypeRef | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTypeSite:
    """An entry, by name, of the union that lists the results of one side."""

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
    """A property that moved into or out of a sibling object, by its old path and its new one."""

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
    """The forms of a value, without nested types; `selects` if it is the discriminator of a union."""

    before: tuple[TypeRef, ...]
    after: tuple[TypeRef, ...]
    selects: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """One bound as text; `inwards` is greater for a stricter bound, None if bounds cannot be compared."""

    text: str
    inwards: tuple[float, bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSite:
    """A bound on a number, on the length of a string, or on the size of a list or a map."""

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
    """A definition and what became of it, as readings."""

    fate: Fate
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSite(SourceSite):
    """A definition that another one extends, by name."""

    before: str | None
    after: str | None


class Reference(Enum):
    """How the reference to a type changed."""

    NAMED = auto()
    INLINED = auto()
    RETARGETED = auto()
    DECLARED = auto()
    UNDECLARED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSite(SourceSite):
    """A place whose reference to its type changed, as readings."""

    kind: Reference
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsentSite(SourceSite):
    """A property of a definition that no message carries; `retyped` if the meaning of its type changed."""

    before: Field | None
    after: Field | None
    retyped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSite(SourceSite):
    """An alias that no message carries and whose target changed, as readings."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSite(SourceSite):
    """The description of something that both sides have."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueSite:
    """What a schema says about something beyond its type: text that types do not express, or an empty string."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecationSite(SourceSite):
    """Whether something that a side has is deprecated."""

    before: bool
    after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultSite(SourceSite):
    """The default of a property, as JSON; empty if a side has none."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantSite(SourceSite):
    """A constant of schema.ts that is not an error code, as JSON."""

    before: str | None
    after: str | None


class Feature(Enum):
    """A feature of a schema as a whole."""

    DIALECT = auto()
    CONTAINER = auto()
    REVISION = auto()
    TEXT = auto()
    """Its bytes, if the revision is the same on both sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSite(SourceSite):
    """A feature of the schema itself in which the two sides differ."""

    feature: Feature
    before: str
    after: str
