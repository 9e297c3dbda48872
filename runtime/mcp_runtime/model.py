"""The base class and the scalar types of all generated models.

A model accepts exactly what the schema accepts, and `model_dump_json()` without arguments is the exact wire form. All
of this is settled when pydantic builds its validator, so that decoding runs no Python code of ours:

- a constant is filled in by the constructor and required on the wire (`CONST`);
- an optional member is None in Python and absent on the wire, where null is refused (`OPTIONAL`);
- a member whose schema admits null and that may be absent defaults to `ABSENT`, and None means null (`NULLABLE`);
- members that the schema does not declare are kept, and written back;
- integers and numbers follow JSON Schema: ``1.0`` is an integer, ``true`` is neither.
"""

from functools import partial
from math import ceil, floor
from operator import is_
from typing import Annotated, Any, ClassVar, Final, TypeAlias, cast, final

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@final
class Absent:
    """The type of `ABSENT`: a member that is not there, where None would mean null. It is falsy."""

    _instance: ClassVar["Absent | None"] = None

    def __new__(cls) -> "Absent":
        """Return the one instance."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __bool__(self) -> bool:
        return False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        # On the wire nothing spells absence, and a member that may be `ABSENT` admits null anyway.
        return core_schema.json_or_python_schema(
            json_schema=core_schema.none_schema(), python_schema=core_schema.is_instance_schema(cls)
        )

    def __repr__(self) -> str:
        return "ABSENT"

    def __copy__(self) -> "Absent":
        return self

    def __deepcopy__(self, memo: object) -> "Absent":
        return self

    def __reduce__(self) -> tuple[type["Absent"], tuple[()]]:
        return (Absent, ())


ABSENT: Final = Absent()


class _Marker:
    """Metadata of a field that tells `WireModel` how the field behaves on the wire."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


class _Optional(_Marker):
    """Marks an optional member that may not be null: None is how Python spells its absence."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if schema["type"] != "nullable":
            return schema
        return core_schema.json_or_python_schema(json_schema=schema["schema"], python_schema=schema)


CONST: Final = _Marker("CONST")
"""Marks a constant: the constructor fills it in, the wire must carry it."""
OPTIONAL: Final = _Optional("OPTIONAL")
NULLABLE: Final = _Marker("NULLABLE")
"""Marks an optional member that may be null: `ABSENT` is how Python spells its absence."""

_IS_NONE: Final = partial(is_, None)
_IS_ABSENT: Final = partial(is_, ABSENT)


class JsonNumber:
    """Metadata of a JSON number: what was written as an integer stays one, whatever its size."""

    def __init__(
        self,
        *,
        ge: float | None = None,
        le: float | None = None,
        gt: float | None = None,
        lt: float | None = None,
        multiple_of: float | None = None,
    ) -> None:
        stated = {"ge": ge, "le": le, "gt": gt, "lt": lt, "multiple_of": multiple_of}
        self._bounds: dict[str, Any] = {name: bound for name, bound in stated.items() if bound is not None}

    def _int_schema(self) -> CoreSchema:
        """The schema of an int within the bounds, which are brought to whole numbers."""
        bounds: dict[str, Any] = {}
        for name, bound in self._bounds.items():
            if name == "multiple_of" and not float(bound).is_integer():
                return core_schema.no_info_after_validator_function(int, self._float_schema())
            bounds[name] = ceil(bound) if name in ("ge", "lt") else floor(bound)
        return core_schema.int_schema(strict=True, **bounds)

    def _float_schema(self) -> CoreSchema:
        return core_schema.float_schema(strict=True, allow_inf_nan=False, **self._bounds)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.union_schema(
            [self._int_schema(), self._float_schema()],
            mode="left_to_right",
            serialization=core_schema.simple_ser_schema("any"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(core_schema.float_schema(**self._bounds))


class JsonInteger(JsonNumber):
    """Metadata of a JSON integer: an int, or a float without a fraction, which is read as one."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        spelled_as_float = core_schema.no_info_after_validator_function(
            _whole, core_schema.float_schema(strict=True, allow_inf_nan=False)
        )
        return core_schema.union_schema(
            [self._int_schema(), core_schema.chain_schema([spelled_as_float, self._int_schema()])],
            mode="left_to_right",
            serialization=core_schema.simple_ser_schema("int"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(core_schema.int_schema(**self._bounds))


def _whole(value: float) -> int:
    # Exact, unlike `multiple_of`, which lets 1.0000000001 and 5e-324 pass as multiples of 1.
    if not value.is_integer():
        raise PydanticCustomError("json_integer", "Input should be a whole number")
    return int(value)


class _OpenString:
    """Metadata of a string for which the schema names known values: any string is valid."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema(strict=True)


class _UnionOf:
    """Metadata of a union: how its member is found, and that each member knows how to write itself.

    Left to itself pydantic would look for the member again in order to write it.
    """

    def __init__(self, **how: Any) -> None:
        self._field: Any = Field(**how)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = cast(dict[str, Any], handler(Annotated[source, self._field]))
        schema["serialization"] = core_schema.simple_ser_schema("any")
        return cast(CoreSchema, schema)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        plain = {name: part for name, part in schema.items() if name != "serialization"}
        return handler(cast(CoreSchema, plain))


class Tagged(_UnionOf):
    """Metadata of a union whose members all require a constant of their own in the member of that name."""

    def __init__(self, member: str) -> None:
        super().__init__(discriminator=member)


class _Unique:
    """Metadata of a list whose items all differ (JSON Schema 2020-12 validation, section 6.4.3)."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_check_unique, handler(source))


def _check_unique(items: list[Any]) -> list[Any]:
    import json  # No released revision needs it.

    seen: set[str] = set()
    for item in items:
        text = json.dumps(_comparable(item), sort_keys=True)
        if text in seen:
            raise PydanticCustomError("unique_items", "Items should be unique")
        seen.add(text)
    return items


def _comparable(value: Any) -> Any:
    """Bring equal JSON values to one spelling: numbers without a fraction are integers."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        return {name: _comparable(inner) for name, inner in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_comparable(inner) for inner in cast(Any, value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


Boolean: TypeAlias = Annotated[bool, Field(strict=True)]
"""A boolean, strict by itself: an alias outside a model has no configuration that makes it so."""
Integer: TypeAlias = Annotated[int, JsonInteger()]
Number: TypeAlias = Annotated[float, JsonNumber()]
OPEN: Final = _OpenString()
UNIQUE: Final = _Unique()
LEFT_TO_RIGHT: Final = _UnionOf(union_mode="left_to_right")
"""Marks a union whose members are tried in order, since no constant tells them apart."""
MOST_MEMBERS: Final = _UnionOf(union_mode="smart")
"""Marks a union of which several members may take the same value: the one that knows most of what it has is chosen."""


def wire_name(attribute: str) -> str:
    """Spell an attribute as the wire does: ``mime_type`` gives ``mimeType``. Other spellings are explicit aliases."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)


class WireModel(BaseModel):
    """The base of every generated model: open, strict, written and read by the names of the wire."""

    model_config = ConfigDict(
        alias_generator=wire_name,
        extra="allow",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
        serialize_by_alias=True,
        protected_namespaces=(),
        defer_build=True,
    )

    __constants__: ClassVar[dict[str, Any]] = {}

    def __init__(self, /, **data: Any) -> None:
        """Make a model from values that Python spells: by attribute name or wire name, constants left out."""
        self.__pydantic_validator__.validate_python(
            {**self.__constants__, **data} if self.__constants__ else data,
            self_instance=self,
            by_alias=True,
            by_name=True,
        )

    # Without this mark pydantic would run the constructor for every nested model that it decodes.
    __init__.__dict__["__pydantic_base_init__"] = True

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        fields = cls.model_fields
        cls.__constants__ = {name: field.default for name, field in fields.items() if CONST in field.metadata}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        for name, member in _model_fields(schema).items():
            metadata = cls.model_fields[name].metadata
            inner = cast(dict[str, Any], member["schema"])
            # A schema that pydantic built before comes back as this method left it.
            if CONST in metadata and inner["type"] == "default":
                member["schema"] = inner["schema"]
            elif OPTIONAL in metadata:
                member["serialization_exclude_if"] = _IS_NONE
            elif NULLABLE in metadata:
                member["serialization_exclude_if"] = _IS_ABSENT
        return schema


def _model_fields(schema: CoreSchema) -> dict[str, core_schema.ModelField]:
    """Find the fields in the core schema of a model; a reference to a schema built elsewhere has none here."""
    inner: Any = schema
    while inner["type"] not in ("model-fields", "definition-ref"):
        inner = inner["schema"]
    return cast(dict[str, core_schema.ModelField], inner.get("fields", {}))
