"""The base class and the scalar types of all generated models.

A model accepts exactly what the schema accepts, and `model_dump_json()` without arguments is the exact wire form. The
base class infers how a field behaves on the wire from its annotation and its default:

- ``type: Literal["text"] = "text"``: a constant. The constructor fills it in; the wire form must contain it.
- ``ttl_ms: Annotated[int, REQUIRED] = 0``: optional in the constructor, required on the wire.
- ``title: str | None = None``: an optional property. None means absent; null on the wire is rejected.
- ``data: Any | Absent = ABSENT``: an optional property that may be null. None means null, `ABSENT` means absent.

Undeclared properties are kept and written back. Integers and numbers follow JSON Schema: ``1.0`` is an integer,
``true`` is neither. All of this is settled when pydantic builds its validator, so decoding runs none of this code.
"""

import warnings
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache, partial
from operator import is_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Never, TypeAlias, cast, final

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from mcp_runtime.core.json import values
from mcp_runtime.core.json.values import FINITE, refuse_non_finite, with_exact_constants

if TYPE_CHECKING:
    from typing import Self

    from pydantic._internal._model_construction import ModelMetaclass as _ModelType

    from mcp_runtime.core.errors import Unusable
else:

    class _ModelType(type(BaseModel)):
        # Hides from `dir` and `help` what pydantic and this module keep on a class, and documents its fields. The
        # runtime reads `__pydantic_fields__`, which needs no descriptions.
        __doc__ = property(lambda cls: _documentation().docstring(cls))
        model_fields = property(lambda cls: _documentation().documented(cls))

        def __dir__(cls) -> list[str]:
            return [n for n in super().__dir__() if n in _SPOKEN or not (n.startswith("__") or n == "model_fields")]


@final
class Absent(Enum):
    """The type of `ABSENT`: a property that is absent, where None would mean null. It is falsy."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Absence has no wire form, and a property that may be `ABSENT` allows null anyway.
        return core_schema.json_or_python_schema(
            json_schema=core_schema.none_schema(), python_schema=core_schema.is_instance_schema(cls)
        )

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

_IS_NONE: Final = partial(is_, None)
_IS_ABSENT: Final = partial(is_, ABSENT)
_NONE: Final = object()
_SPOKEN: Final = frozenset(("__doc__", "__init__", "__module__", "__name__", "__qualname__"))
_LIKENESS: Final = 0.8
"""How alike an undeclared property and a field are for a warning, by `difflib`."""


class _OpenString:
    """Metadata of a string with known values; any other string is valid too."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema(strict=True)


class _UnionOf:
    """Metadata of a union: how its variant is selected. Each variant serializes itself.

    Otherwise pydantic would search for the variant again when serializing.
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
    """Metadata of a union whose variants each require a different constant in the property `member`."""

    def __init__(self, member: str) -> None:
        super().__init__(discriminator=member)


class _Forbidden:
    """Metadata of a property that must be absent."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        no_value = core_schema.literal_schema([self])
        return core_schema.custom_error_schema(no_value, "forbidden", custom_error_message="Must be absent")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"not": {}}


class _Required:
    """Metadata of a field that has a default but must be present on the wire."""


# Generated modules import numbers from here.
Exactly = values.Exactly
JsonInteger = values.JsonInteger
JsonNumber = values.JsonNumber
Integer: TypeAlias = values.Integer
Number: TypeAlias = values.Number
Boolean: TypeAlias = Annotated[bool, Field(strict=True)]
"""A boolean that is always strict: an alias outside a model has no configuration of its own."""
Forbidden: TypeAlias = Annotated[Never, _Forbidden()]
"""The type of a property that must be absent."""
OPEN: Final = _OpenString()
REQUIRED: Final = _Required()
UNIQUE: Final = values.UNIQUE
Subschema: TypeAlias = values.Subschema
LEFT_TO_RIGHT: Final = _UnionOf(union_mode="left_to_right")
"""Marks a union whose variants are tried in order, since no constant distinguishes them."""
MOST_MEMBERS: Final = _UnionOf(union_mode="smart")
"""Marks a union whose variants may accept the same value: the one that declares most of its properties wins."""


def wire_name(attribute: str) -> str:
    """Return the wire name of an attribute: ``mime_type`` gives ``mimeType``. Other spellings are explicit aliases."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _documentation() -> Any:
    """Return the module that documents models, which is loaded when a program asks for that."""
    from mcp_runtime.core import described

    return described


class _Signature:
    """The signature of a model's constructor, for `inspect` and `help`."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Any:
        if instance is not None or "__pydantic_base_init__" not in vars(owner.__init__):
            raise AttributeError("__signature__")
        return _documentation().signature(owner)


class WireModel(BaseModel, metaclass=_ModelType):
    """Base class of all generated models: open, strict, read and written by wire names."""

    model_config = ConfigDict(
        alias_generator=wire_name,
        extra="allow",
        strict=True,
        allow_inf_nan=False,
        # A non-finite number must not become null; `refuse_non_finite` detects it in the output.
        ser_json_inf_nan="constants",
        validate_by_alias=True,
        validate_by_name=False,
        serialize_by_alias=True,
        # A field added by a user's subclass is serialized wherever such an object appears.
        polymorphic_serialization=True,
        protected_namespaces=(),
        defer_build=True,
    )

    # Annotations available at run time would be evaluated again for every class that pydantic builds.
    if TYPE_CHECKING:
        __constants__: ClassVar[Mapping[str, Any]]
        """What the constructor fills in; known once the validator is built."""
        __assumed__: ClassVar[Mapping[str, tuple[str, Any]]]
        """The fields marked `REQUIRED`: wire names, and the defaults used by the constructor and by lenient readers."""
    else:
        __constants__, __assumed__ = {}, {}

    def __init__(self, /, **data: Any) -> None:
        """Build a model from Python values. Constants may be omitted.

        Args:
            data: the values, by field name or wire name.

        Raises:
            pydantic.ValidationError: a value is missing or has the wrong type.
            ValueError: a number is not finite, or a field is passed under both of its names.

        Warns:
            UserWarning: an undeclared property has nearly the name of a field.
        """
        # The attribute comes first: reading it builds the validator, which finds the constants.
        validate = self.__pydantic_validator__.validate_python
        absent_fields: list[str] | None = None
        if assumed := self.__assumed__:
            for name, (wire, default) in assumed.items():
                if name not in data and wire not in data:
                    data[name] = default
                    absent_fields = [name] if absent_fields is None else [*absent_fields, name]
        if constants := self.__constants__:
            data = {**constants, **data}
        validate(data, self_instance=self, by_alias=True, by_name=True)
        if absent_fields:
            # Keep the difference between defaults and values that were passed.
            self.__pydantic_fields_set__.difference_update(absent_fields)
        for value in data.values():
            if type(value) not in FINITE:
                refuse_non_finite(value)
        if extra := self.__pydantic_extra__:
            for name in extra:
                if name in self.__pydantic_fields__:
                    raise ValueError(f"{type(self).__name__}: passed under both its names: {name}")
                type(self)._warn_of(name)

    # Without this mark pydantic would run the constructor for every nested model that it decodes.
    __init__.__dict__["__pydantic_base_init__"] = True

    if not TYPE_CHECKING:
        __signature__ = _Signature()

        @classmethod
        def __pydantic_on_complete__(cls) -> None:
            """Use our signature instead of pydantic's."""
            del cls.__signature__

        # Type checkers only reject a misspelt attribute if they see no such method.
        def __setattr__(self, name: str, value: Any) -> None:
            cls = type(self)
            if name not in cls.__pydantic_fields__:
                field = cls._wire_names().get(name)
                if field is not None:
                    raise AttributeError(f"{cls.__name__} has no attribute {name!r}; assign to {field!r}", name=name)
                if name.startswith("_") and name not in cls.__private_attributes__ and not hasattr(cls, name):
                    reason = f"cannot keep {name!r}; declare it as a PrivateAttr, or pass it to the constructor"
                    raise AttributeError(f"{cls.__name__} {reason}", name=name)
                if not hasattr(cls, name):
                    cls._warn_of(name)
            refuse_non_finite(value)
            super().__setattr__(name, value)

    @classmethod
    def _wire_names(cls) -> dict[str, str]:
        """Return the names of the fields by wire name, where the two differ."""
        names = ((field.alias or wire_name(name), name) for name, field in cls.__pydantic_fields__.items())
        return {wire: name for wire, name in names if wire != name}

    @classmethod
    def _warn_of(cls, name: str) -> None:
        """Warn of an undeclared property that has nearly the name of a field."""
        if (field := cls._field_like(name)) is not None:
            warnings.warn(f"{cls.__name__} has no field {name!r}: did you mean {field!r}?", stacklevel=3)

    @classmethod
    @lru_cache(4096)
    def _field_like(cls, name: str) -> str | None:
        """Return the field whose name an undeclared property nearly has."""
        from difflib import get_close_matches

        names = {**{field: field for field in cls.__pydantic_fields__}, **cls._wire_names()}
        found = get_close_matches(name, names, 1, _LIKENESS) if name.isidentifier() else []
        return names[found[0]] if found else None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "Self":
        """Return a copy of the model.

        Args:
            update: replacement values, by field name or wire name. They are not validated.
            deep: whether to copy nested models as well.

        Raises:
            ValueError: a number is not finite.
        """
        refuse_non_finite(update)
        names = self._wire_names() if update else {}
        renamed = {names.get(name, name): value for name, value in update.items()} if update else None
        return super().model_copy(update=renamed, deep=deep)

    if not TYPE_CHECKING:  # The signatures are pydantic's.

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Any:
            """Read a model from the JSON text `json_data`, like pydantic's method with its `options`; I-JSON only.

            Raises:
                pydantic.ValidationError: the text is not I-JSON, or does not match the model.
            """
            from mcp_runtime.core.json.text import read_as

            read_as(cls.__name__, json_data)
            return super().model_validate_json(json_data, **options)

        def model_dump_json(self, **options: Any) -> str:
            """Write the model as JSON text, like pydantic's method with its `options`.

            Raises:
                ValueError: a number in it is not finite.
            """
            text = super().model_dump_json(**options)
            # Strings may contain these words as well.
            if "NaN" in text or "Infinity" in text:
                from mcp_runtime.core.json.text import refuse_non_finite_text

                refuse_non_finite_text(text)
            return text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        constants: dict[str, Any] = {}
        assumed: dict[str, tuple[str, Any]] = {}
        for name, field in _model_fields(schema).items():
            inner = cast(dict[str, Any], field["schema"])
            default = inner.get("default", _NONE) if inner["type"] == "default" else _NONE
            if default is not _NONE and _is_constant(inner["schema"], default):
                constants[name] = default
                field["schema"] = inner["schema"]
            elif default is not _NONE and REQUIRED in cls.__pydantic_fields__[name].metadata:
                assumed[name] = (cls.__pydantic_fields__[name].alias or wire_name(name), default)
                field["schema"] = inner["schema"]
            field["schema"] = with_exact_constants(field["schema"])
            if default is None and name not in constants and name not in assumed:
                field["serialization_exclude_if"] = _IS_NONE
                inner["schema"] = _without_null(inner["schema"], f"{cls.__name__}.{name}")
            elif default is ABSENT:
                field["serialization_exclude_if"] = _IS_ABSENT
        # A schema that pydantic built earlier comes back as this method left it, with the constants unwrapped.
        if "__constants__" not in cls.__dict__:
            cls.__constants__ = constants
            cls.__assumed__ = assumed
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return cast(JsonSchemaValue, _documentation().described(cls, schema, handler, (None, ABSENT)))


class Page(WireModel):
    """Base class of results that are pages of a list."""

    @property
    def unusable(self) -> "tuple[Unusable, ...]":
        """The items that the peer listed and that are missing here, since they are not valid."""
        return cast("tuple[Unusable, ...]", (self.__pydantic_private__ or {}).get("unusable", ()))


def _model_fields(schema: CoreSchema) -> dict[str, core_schema.ModelField]:
    """Find the fields in the core schema of a model; a reference to a schema built elsewhere has none here."""
    inner: Any = schema
    while inner["type"] not in ("model-fields", "definition-ref"):
        inner = inner["schema"]
    return cast(dict[str, core_schema.ModelField], inner.get("fields", {}))


def _is_constant(schema: Mapping[str, Any], default: object) -> bool:
    """Whether a field allows only one value, its default: ``1`` is neither ``True`` nor ``1.0``."""
    if schema["type"] != "literal" or len(schema["expected"]) != 1:
        return False
    only = schema["expected"][0]
    return type(only) is type(default) and only == default


def _without_null(schema: Any, where: str) -> Any:
    """Return an optional field's schema so that null in JSON is rejected; strict Python validation still accepts None.

    Raises:
        TypeError: the type allows None in another way than ``T | None``, so null could not be distinguished from
            absence.
    """
    match schema["type"]:
        case "nullable" if schema["schema"]["type"] != "any":
            inner = schema["schema"]
            lax = core_schema.json_or_python_schema(json_schema=inner, python_schema=schema)
            return core_schema.lax_or_strict_schema(lax_schema=lax, strict_schema=inner, strict=False)
        case "lax-or-strict":
            return schema
        case "function-before" | "function-after" | "function-wrap":
            return {**schema, "schema": _without_null(schema["schema"], where)}
        case _:
            reason = "annotate a field whose default is None as `T | None`; if null is a value, default to ABSENT"
            raise TypeError(f"{where}: {reason}")
