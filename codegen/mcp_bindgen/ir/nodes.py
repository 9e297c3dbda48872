"""The nodes of the intermediate representation (IR), and the types as a schema file writes them.

In the IR every object has a name, and every inheritance is resolved (`TypeRef`). The front ends read `Shape`, which has
intersections and inline objects besides.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeVar

from mcp_bindgen.ir.diagnostics import Location

T_co = TypeVar("T_co", covariant=True, default="TypeRef")
S_co = TypeVar("S_co", covariant=True, default="Shape")
Scalar: TypeAlias = str | int | float | bool | None


class Kind(StrEnum):
    """The primitive types of JSON Schema, `ANY` for a value of any type (null included), and `NEVER` for no value."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    ANY = "any"
    NEVER = "never"


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

    def each(self) -> "tuple[Literal, ...]":
        """Return the values, each as a constant."""
        return tuple(Literal(values=(value,)) for value in self.values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and self.values == other.values
            and all(isinstance(a, bool) is isinstance(b, bool) for a, b in zip(self.values, other.values, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self.values)


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
_ANY: Any = ANY  # as the default of what is generic
STRING = Primitive(kind=Kind.STRING)
NULL = Primitive(kind=Kind.NULL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Type, Generic[T_co]):
    """An array whose items are all of one type.

    If there is a `prefix`, the array is a tuple instead: it has just these items, each of its own type. No revision of
    the protocol has one; tools do.
    """

    item: T_co
    bounds: Bounds = UNBOUNDED
    prefix: tuple[T_co, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf(Type, Generic[T_co]):
    """An object without declared properties: all values have the same type.

    `is_schema` marks an open object that is a JSON Schema, for which peers also write true or false.
    """

    value: T_co
    bounds: Bounds = UNBOUNDED
    is_schema: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Type, Generic[T_co]):
    """A value of at least one of the member types; of exactly one, if `exclusive` says where a schema asks for that."""

    members: tuple[T_co, ...]
    exclusive: Opaque | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Generic[T_co]):
    """One declared property of an object.

    `default` is its default, as JSON; empty if the schema has none.
    """

    wire_name: str
    type: T_co
    required: bool
    doc: str = ""
    deprecated: bool = False
    default: str = field(default="", compare=False)

    @property
    def constant(self) -> Literal | None:
        """The only value that its type admits; None if there are more."""
        return self.type if isinstance(self.type, Literal) and len(self.type.values) == 1 else None

    @property
    def is_constant(self) -> bool:
        """Whether the property must be there, with one value only."""
        return self.required and self.constant is not None


TypeRef: TypeAlias = Primitive | Literal | Ref | ListOf["TypeRef"] | MapOf["TypeRef"] | Union["TypeRef"]
"""A type of the IR, closed: every object has a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf(Type, Generic[S_co]):
    """A value of all of the types."""

    members: tuple[S_co, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Object(Type, Generic[S_co]):
    """An inline object type with declared properties; `extra` and `indexed` are those of a `Struct`.

    `label` names the union members that were chosen for it: `Result & (A | B)` has the forms A and B.
    """

    properties: tuple[Field[S_co], ...]
    bases: tuple[Base, ...] = ()
    extra: S_co | None = field(default=_ANY)
    indexed: bool = field(default=False, compare=False)
    label: str = field(default="", compare=False)


Shape: TypeAlias = (
    Primitive | Literal | Ref | ListOf["Shape"] | MapOf["Shape"] | Union["Shape"] | AllOf["Shape"] | Object["Shape"]
)
"""A type as a schema file writes it: objects may be inline, intersections are not yet joined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct(Type):
    """An object type with a name: all its properties, including inherited ones.

    `own` names the properties that it declares itself. `holder` is the path of the property it was declared in, if it
    is inline in the schema (``Tool.inputSchema``), else empty. `extra` is the type of undeclared properties; None
    closes the object. `indexed` is true if the schema says so itself, by an index signature or `additionalProperties`,
    and is not open by silence: the same messages.
    """

    name: str
    fields: tuple[Field, ...]
    own: frozenset[str]
    bases: tuple[Base, ...] = ()
    extra: TypeRef | None = ANY
    indexed: bool = field(default=False, compare=False)
    doc: str = ""
    deprecated: bool = False
    internal: bool = False
    category: str = ""
    holder: str = ""
    by_name: Mapping[str, Field] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Index the properties: many are looked up, and a schema may have thousands in one object."""
        object.__setattr__(self, "by_name", {each.wire_name: each for each in self.fields})

    def field(self, wire_name: str) -> Field | None:
        """Return the property of that name, or None."""
        return self.by_name.get(wire_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for a type other than an object with declared properties; `holder` as for an object."""

    name: str
    type: TypeRef
    doc: str = ""
    deprecated: bool = False
    internal: bool = False
    category: str = ""
    holder: str = ""


Definition: TypeAlias = Struct | Alias


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A constant of the protocol, such as an error code."""

    name: str
    value: Scalar
    doc: str = ""


class Era(StrEnum):
    """How a revision's conversations begin: with a handshake (legacy) or without one, stateless (modern)."""

    LEGACY = "legacy"
    MODERN = "modern"


class Direction(StrEnum):
    """The sender of a message; an embedded request is part of the result of another one."""

    CLIENT_TO_SERVER = "client_to_server"
    SERVER_TO_CLIENT = "server_to_client"
    BOTH = "both"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of the protocol; `result` is None for a notification.

    `params` names the type of its parameters, None when the schema gives the message none. `alternatives` are the
    other results that its request may get. `is_directed` is false where neither the schema nor a row says who sends
    it: then `direction` is that of another revision, or both. `capability` is the path of what the side that it begins
    with must have declared before the message may be sent (``server.tools``), empty if nothing.
    """

    name: str
    message: str
    direction: Direction
    is_directed: bool = field(default=True, compare=False)
    params: str | None
    params_required: bool
    result: str | None
    alternatives: tuple[str, ...] = ()
    paginated: bool = False
    cacheable: bool = False
    task_augmentable: bool = False
    multi_round_trip: bool = False
    payload: bool = False
    deprecated: bool = False
    capability: str = ""

    @property
    def is_request(self) -> bool:
        """Whether the message expects an answer."""
        return self.result is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that the IR was built from, the sha256 of its bytes in hexadecimal, and what it is (``schema.json``)."""

    name: str
    sha256: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A place where two readings of a revision differ, what each reads, and the rule that says in which way.

    `contradiction` is true where the two admit different messages. An erratum is one between schema.ts, on the left,
    and schema.json, on the right: the rule settles it.
    """

    rule: str
    pointer: str
    left: str
    right: str
    contradiction: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One revision of the protocol: the root of the IR.

    `capabilities` says which capability members of params need (``CallToolRequestParams.task``). `defaults` says what
    stands for required members of results that are absent (``CallToolResult.resultType``). `dialect` and `container`
    are what its schema.json calls itself and where it keeps its definitions; both are empty without a schema.json.
    `glossed` names what docs.toml describes because the input does not: definitions, members, constants.
    `schema` is its schema.json as given, or empty; `forms` is a cache of `ir.leaves`. `places` finds the definitions
    and properties in the sources, by path (``Tool.inputSchema.type``); `ir.names.place_of` looks them up.
    """

    revision: str
    era: Era
    definitions: Mapping[str, Definition]
    methods: tuple[Method, ...]
    constants: tuple[Constant, ...]
    sources: tuple[Source, ...]
    errata: tuple[Difference, ...] = field(default=())
    capabilities: Mapping[str, str] = field(default_factory=dict[str, str])
    defaults: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    dialect: str = ""
    container: str = ""
    glossed: frozenset[str] = frozenset()
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)
    places: Callable[[], Mapping[str, Location]] = field(default=dict[str, Location], compare=False, repr=False)
    forms: dict[str, tuple[TypeRef, ...]] = field(
        default_factory=dict[str, tuple[TypeRef, ...]], init=False, compare=False, repr=False
    )

    def structs(self) -> Iterator[Struct]:
        """Iterate over the object types, in the order of the definitions."""
        return (d for d in self.definitions.values() if isinstance(d, Struct))

    def resolve(self, type_: TypeRef) -> TypeRef | Struct:
        """Follow references through aliases to a struct or to a type other than a reference."""
        while isinstance(type_, Ref):
            definition = self.definitions[type_.name]
            if isinstance(definition, Struct):
                return definition
            type_ = definition.type
        return type_


def protocol_of(definitions: Mapping[str, Definition]) -> Protocol:
    """Return a protocol that consists of definitions only, without messages."""
    return Protocol(revision="", era=Era.LEGACY, definitions=definitions, methods=(), constants=(), sources=())
