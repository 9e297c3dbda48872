"""The sites of a comparison: one class for each kind of place that rules check.

The walks find the places and create the sites; the rules decide whether something changed there. A side on which the
thing does not exist is None.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from mcp_bindgen.ir.nodes import Field, Method, Ref, TypeRef

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site(Generic[_T]):
    """A place of messages, and what each side has there."""

    before: _T
    after: _T


class SourceSite(Site[_T]):
    """A place of a schema that is not visible in messages: rules that check one belong to the source view."""


class Ground(Enum):
    """What kind of object a property belongs to."""

    OPEN = auto()
    CLOSED = auto()
    CAPABILITIES = auto()
    SCHEMA = auto()
    """A JSON Schema that admits any keyword: peers may also use keywords that MCP does not declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSite(Site[Method | None]):
    """A request or a notification in one direction, which `way` names if the message is still sent in the other."""

    way: str = ""


class EnvelopeSite(SourceSite[str]):
    """A property of the JSON-RPC frame that the definition of a message repeats: its name, empty if it does not."""


class AlternativeSite(Site[Ref | None]):
    """A result that a request may get instead of its usual one."""


class FrameSite(Site[TypeRef | None]):
    """A form of JSON-RPC message, such as a batch."""


class ResultTypeSite(Site[str | None]):
    """An entry, by name, of the union that lists the results of one side."""


class ErrorSite(Site[int | None]):
    """An error code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySite(Site[Field | None]):
    """A property of an object that messages carry."""

    ground: Ground = Ground.OPEN


class ForbiddenSite(Site[str]):
    """A property that one side rejects whatever its value, by its types; empty on a side that does not declare it."""


class MoveSite(Site[str]):
    """A property that moved into or out of a sibling object, by its old path and its new one."""


class RestSite(Site[bool]):
    """Whether an object may have properties that it does not declare."""


class FormSite(Site[TypeRef | None]):
    """A form of a value that only one side has, among others that both have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSite(Site[tuple[TypeRef, ...]]):
    """The forms of a value, without nested types; `selects` if it is the discriminator of a union."""

    selects: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """One bound as text; `inwards` is greater for a stricter bound, None if bounds cannot be compared."""

    text: str
    inwards: tuple[float, bool] | None = None


class BoundSite(Site[Edge | None]):
    """A bound on a number, on the length of a string, or on the size of a list or a map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledSite(SourceSite[str]):
    """A place of which the comparison itself knows what changed: the id of the rule, and the readings."""

    rule: str


class DefinitionSite(RuledSite):
    """A definition that exists on one side only, or whose name changed."""


class BaseSite(SourceSite[str | None]):
    """A definition that another one extends, by name."""


class OrderSite(SourceSite[tuple[str, ...]]):
    """Where stubs take the params of a message: its old properties, and what has their positions now."""


class ReferenceSite(RuledSite):
    """A place whose reference to its type changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsentSite(SourceSite[Field | None]):
    """A property of a definition that no message carries; `retyped` if the meaning of its type changed."""

    retyped: bool = False


class AliasSite(SourceSite[str]):
    """An alias that no message carries and whose target changed, as readings."""


class TextSite(SourceSite[str]):
    """The description of something that both sides have."""


class OpaqueSite(Site[str]):
    """What a schema says about something beyond its type: text that types do not express, or an empty string."""


class DeprecationSite(SourceSite[bool]):
    """Whether something that a side has is deprecated."""


class DefaultSite(SourceSite[str]):
    """The default of a property, as JSON; empty if a side has none."""


class ConstantSite(SourceSite[str | None]):
    """A constant of schema.ts that is not an error code, as JSON."""


class SchemaSite(RuledSite):
    """A feature of the schema itself."""
