"""The records of a generated method table.

A record names its types and imports them on first use, so that a program does not load models it never needs.
"""

import gc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field
from enum import StrEnum
from functools import lru_cache, partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from pydantic_core import SchemaSerializer, SchemaValidator

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Direction(StrEnum):
    """The sender of a message. An embedded request travels inside the result of another one."""

    CLIENT_TO_SERVER = "client_to_server"
    SERVER_TO_CLIENT = "server_to_client"
    BOTH = "both"
    EMBEDDED = "embedded"


class WireType(Generic[T]):
    """A type of a generated package, by name; `T` is the type itself.

    It reads and writes UTF-8 JSON. The first use of any function below imports the type and replaces the function with
    pydantic's compiled one, so that later calls have no overhead.

    Args:
        package: the generated package.
        name: the name of the type in it.
    """

    __slots__ = ("assumed", "build", "decode", "encode", "is_compiled", "name", "package", "validate")

    decode: Callable[[bytes | str], T]
    """Read one JSON text; raises `pydantic.ValidationError` if it is not I-JSON, or not of this type."""
    validate: Callable[[object], T]
    """Validate a parsed value; raises `pydantic.ValidationError` if it is not of this type."""
    build: Callable[[Mapping[str, object]], T]
    """Build a value from arguments, by Python or wire name; raises like `validate`."""
    encode: Callable[[T], bytes]
    """Write a value of this type as JSON; raises `ValueError` if a number in it is not finite."""
    assumed: tuple[tuple[str, Any], ...]
    """What lenient readers assume for absent properties, keyed by wire names; known once compiled."""

    def __init__(self, package: str, name: str) -> None:
        self.package = package
        self.name = name
        self.is_compiled = False
        self.assumed = ()
        self.decode = lambda data: self.compile().decode(data)
        self.validate = lambda value: self.compile().validate(value)
        self.build = lambda arguments: self.compile().build(arguments)
        self.encode = lambda value: self.compile().encode(value)

    def __repr__(self) -> str:
        return f"WireType({self.package}.{self.name})"

    def load(self) -> Any:
        """Import and return the type: a model class, or an alias of another type."""
        return getattr(import_module(self.package), self.name)

    def compile(self) -> "WireType[T]":
        """Compile the validator and serializer now rather than on first use; return the record itself."""
        if not self.is_compiled:
            # Importing pydantic and building models creates many objects and little garbage: collections would take a
            # tenth of the time until the first message.
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                self._compile()
            finally:
                if was_enabled:
                    gc.enable()
            self.is_compiled = True
        return self

    def _compile(self) -> None:
        from mcp_runtime.core.json.text import read_as, strict_writer
        from mcp_runtime.core.model import WireModel

        loaded = self.load()
        validator, serializer = _compiled(loaded)
        if isinstance(loaded, type) and issubclass(loaded, WireModel):
            self.assumed = tuple(loaded.__assumed__.values())
        # In strict mode, null is rejected where a property may only be absent; see `WireModel`.
        self.validate = validate = partial(validator.validate_python, strict=True)
        self.decode = lambda text: validate(read_as(self.name, text))
        self.build = partial(validator.validate_python, by_alias=True, by_name=True)
        self.encode = strict_writer(serializer.to_json)


class TypedWire(WireType[T]):
    """A type that is available now, where a generated table only has its name."""

    __slots__ = ("_type",)

    def __init__(self, type_: type[T]) -> None:
        super().__init__(getattr(type_, "__module__", ""), getattr(type_, "__name__", repr(type_)))
        self._type = type_

    def load(self) -> Any:
        """Return the type."""
        return self._type


def typed_wire(type_: type[T]) -> WireType[T]:
    """Return the validator and serializer of a type, compiled once."""
    return cast("WireType[T]", _typed_wire(cast(Any, type_)))


@lru_cache(maxsize=256)
def _typed_wire(type_: type[Any]) -> WireType[Any]:
    return TypedWire(type_)


def _compiled(type_: Any) -> "tuple[SchemaValidator, SchemaSerializer]":
    """Return the validator and serializer of a type; a model has its own."""
    from pydantic import ConfigDict, TypeAdapter

    from mcp_runtime.core.json.values import EXACT_CONSTANTS
    from mcp_runtime.core.model import WireModel

    if isinstance(type_, type) and issubclass(type_, WireModel):
        type_.model_rebuild()
        return cast("SchemaValidator", type_.__pydantic_validator__), type_.__pydantic_serializer__
    # Non-finite numbers are detected in the output, so they must not have become null. Classes have their own
    # configuration.
    config = None if isinstance(type_, type) else ConfigDict(ser_json_inf_nan="constants")
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, Annotated[type_, EXACT_CONSTANTS]), config=config)
    return cast("SchemaValidator", adapter.validator), adapter.serializer


@dataclass(slots=True, eq=False, repr=False)
class Method(Generic[P]):
    """What requests and notifications have in common; `P` is the type of the params.

    Args:
        name: the method: ``tools/call``.
        message: the schema's name of the message: ``CallToolRequest``.
        direction: who sends it.
        params: the type of its params; None if it declares none.
        params_required: whether params must be present.
        deprecated: whether the schema deprecates it.
        capability: the path of the capability that a peer must have declared before the message may be sent
            (``server.tools``); may be empty.
        gated: the same for properties of the params, by wire name.
        named: the property of the params that is repeated in the header ``Mcp-Name``; methods of revisions have none
            here, since a table of the transport has theirs.
    """

    name: str
    _: KW_ONLY
    message: str
    direction: Direction
    params: WireType[P] | None
    params_required: bool = False
    deprecated: bool = False
    capability: str = ""
    gated: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    named: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.direction.value})"

    def build(self, arguments: Mapping[str, Any]) -> P | None:
        """Build the params; return None if the method declares none.

        Args:
            arguments: the properties, by Python or wire name.
        """
        return self.params.build(arguments) if self.params else None


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class RequestMethod(Method[P], Generic[P, R]):
    """A method that expects an answer; `R` is the type of its result.

    Args:
        name: see `Method`, as for the parameters that are not listed here.
        result: the type of the usual result.
        alternatives: other results it may return: a created task, or a request for more input.
        tags: the result types of `result` and `alternatives`, as in ``resultType``; empty in revisions without it.
        paginated: whether results are pages.
        cacheable: whether results say how long they may be cached.
        task_augmentable: whether it can become a task.
        multi_round_trip: whether its result may ask for input.
        payload: whether its result is that of another request.

    Attributes:
        results: all result types by tag; empty in revisions without tags.
        writers: the serializers of results that handlers have returned, by class.
    """

    result: WireType[R]
    alternatives: tuple[WireType[Any], ...] = ()
    tags: InitVar[tuple[str, ...]] = ()
    paginated: bool = False
    cacheable: bool = False
    task_augmentable: bool = False
    multi_round_trip: bool = False
    payload: bool = False
    results: Mapping[str, WireType[Any]] = field(init=False)
    writers: dict[type[Any], Callable[[Any], bytes]] = field(
        init=False, default_factory=dict[type[Any], Callable[[Any], bytes]]
    )

    def __post_init__(self, tags: tuple[str, ...]) -> None:
        self.results = dict(zip(tags, (self.result, *self.alternatives), strict=bool(tags)))


class NotificationMethod(Method[P]):
    """A method that expects no answer."""

    __slots__ = ()


AnyRequest: TypeAlias = RequestMethod[Any, Any]
AnyMethod: TypeAlias = AnyRequest | NotificationMethod[Any]
M = TypeVar("M", bound=Method[Any])
MethodTable: TypeAlias = Mapping[str, AnyMethod]


def request_of(methods: MethodTable, name: str) -> RequestMethod[Any, Any]:
    """Return the record of a request.

    Args:
        methods: a table that has it.
        name: the method.
    """
    return cast("RequestMethod[Any, Any]", methods[name])


def notification_of(methods: MethodTable, name: str) -> NotificationMethod[Any]:
    """Return the record of a notification.

    Args:
        methods: a table that has it.
        name: the method.
    """
    return cast("NotificationMethod[Any]", methods[name])


def by_name(methods: Iterable[M]) -> Mapping[str, M]:
    """Return an immutable table of methods, keyed by name."""
    return MappingProxyType({method.name: method for method in methods})
