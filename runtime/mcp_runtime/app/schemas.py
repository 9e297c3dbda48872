"""JSON Schemas of signatures, and validation of their values; this module loads pydantic."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from math import isfinite
from typing import Annotated, Any, Final, LiteralString, cast, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import (
    InitErrorDetails,
    PydanticCustomError,
    PydanticSerializationError,
    SchemaError,
    ValidationError,
    to_json,
)
from pydantic_core.core_schema import FrozenSetSchema, SetSchema

from mcp_runtime.app.annotations import leaves
from mcp_runtime.app.errors import ResultError
from mcp_runtime.app.shapes import MISFIT, Shape, is_exact
from mcp_runtime.app.signature import MISSING, Parameter, Signature
from mcp_runtime.core.json.values import EXACT_CONSTANTS, is_object

RESULT: Final = "result"
"""The property that wraps a structured result that is not an object, in revisions that require one."""

_MAX_UNKNOWN: Final = 10
"""How many undeclared arguments are examined."""
_CLOSED: Final = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
"""A number as a string argument: unlike pydantic, without blanks and underscores."""


class _Generate(GenerateJsonSchema):
    """Omits titles that only repeat names, and the uniqueness of set items: sets accept duplicates."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def set_schema(self, schema: SetSchema) -> JsonSchemaValue:
        made = super().set_schema(schema)
        made.pop("uniqueItems", None)
        return made

    def frozenset_schema(self, schema: FrozenSetSchema) -> JsonSchemaValue:
        made = super().frozenset_schema(schema)
        made.pop("uniqueItems", None)
        return made


class Arguments:
    """The arguments of a function, as a client passes them.

    Args:
        signature: the signature of the function.
        parameters: the parameters that clients pass.

    Attributes:
        schema: the JSON Schema (2020-12) of the arguments.

    Raises:
        DefinitionError: a parameter has no JSON Schema.
    """

    def __init__(self, signature: Signature, parameters: Sequence[Parameter]) -> None:
        # Fields are numbered, so that a parameter may share its name with a pydantic method.
        self._names = tuple(parameter.name for parameter in parameters)
        self._most = len(self._names) + _MAX_UNKNOWN
        try:
            fields = {f"p{place}": _field(parameter) for place, parameter in enumerate(parameters)}
            make: Any = create_model
            model = make("Arguments", __config__=_CLOSED, **fields)
            self.schema: dict[str, Any] = model.model_json_schema(schema_generator=_Generate)
        except _UNFIT as error:
            guilty = next((p for p in parameters if not _has_schema(p.annotation)), None)
            named = f"parameter {guilty.name}" if guilty else "its parameters"
            said = _why(error, guilty and guilty.annotation)
            remedy = "" if "instead" in said else "; use a type that pydantic knows, such as a model or a dataclass"
            raise signature.error(f"{named}: no JSON Schema for its type: {said}{remedy}") from None
        self.schema.pop("title", None)
        self._fields = tuple(fields)
        self._validator = model.__pydantic_validator__
        self._is_exact = is_exact(model.__pydantic_core_schema__)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function takes them, including defaults.

        Raises:
            ValidationError: they do not match the schema.
        """
        bounded = arguments if len(arguments) <= self._most else self._bounded(arguments)
        try:
            model = self._validator.validate_json(to_json(bounded), strict=True)
        except ValidationError:
            # In JSON Schema 1.0 is an integer. Only callers who send it so pay for this.
            whole = Shape(self.schema).read(bounded)
            if whole is bounded or whole is MISFIT:
                raise
            model = self._validator.validate_json(to_json(whole), strict=True)
        else:
            if not self._is_exact and Shape(self.schema).read(bounded) is MISFIT:
                raise _mismatch("Input should match the schema of this argument", self._misfits(bounded), bounded)
        return self._values(model)

    def _misfits(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return the names of the arguments whose shape is not that of their schema."""
        definitions = self.schema.get("$defs", {})
        schemas = {name: {**schema, "$defs": definitions} for name, schema in self.schema["properties"].items()}
        return [name for name, value in arguments.items() if Shape(schemas[name]).read(value) is MISFIT]

    def read_strings(self, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return arguments that are passed as strings: parameters of prompts, variables of templates.

        Raises:
            ValidationError: a string cannot be converted to the type of its parameter.
        """
        values = self._values(self._validator.validate_strings(dict(arguments)))
        odd = [name for name, text in arguments.items() if _is_number(values[name]) and not _NUMBER.fullmatch(text)]
        if odd:
            raise _mismatch("Input should be a number in digits", odd, arguments)
        return values

    def _bounded(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments without most of the undeclared ones: a few are enough to reject the call."""
        unknown = islice((name for name in arguments if name not in self._names), _MAX_UNKNOWN)
        kept = {*self._names, *unknown}
        return {name: value for name, value in arguments.items() if name in kept}

    def _values(self, model: Any) -> dict[str, Any]:
        values = model.__dict__
        return {name: values[field] for name, field in zip(self._names, self._fields, strict=True)}


class RawArguments(Arguments):
    """The arguments of a function that has the JSON Schema of its author, and takes them as one mapping.

    Args:
        signature: the signature of the function.
        parameters: the parameters that clients pass: one.
        schema: the JSON Schema.

    Raises:
        DefinitionError: the function does not take one mapping, or the schema cannot be used.
        ModuleNotFoundError: the validation library is not installed (``mcp-bindings[validation]``).
    """

    def __init__(self, signature: Signature, parameters: Sequence[Parameter], schema: Mapping[str, Any]) -> None:
        from mcp_runtime.json_schema.check import Check, UnusableSchema

        kinds = [get_origin(parameter.annotation) or parameter.annotation for parameter in parameters]
        if len(kinds) != 1 or kinds[0] not in (dict, Mapping):
            raise signature.error("with input_schema= it takes all arguments as one: arguments: dict[str, Any]")
        if schema.get("type") != "object":
            raise signature.error('input_schema must have "type": "object"')
        try:
            self._check = Check(schema)
        except UnusableSchema as error:
            raise signature.error(f"input_schema: {error}") from None
        self._name = parameters[0].name

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function takes them.

        Raises:
            ValueError: they do not match the schema.
        """
        if mismatch := self._check.find(arguments):
            raise ValueError(str(mismatch))
        return {self._name: dict(arguments)}


class Output:
    """The return value of a function.

    Args:
        signature: the signature of the function.
        any_json: whether structured content may be any JSON value; otherwise values that are not objects are wrapped.

    Attributes:
        schema: the JSON Schema (2020-12) of the structured content.

    Raises:
        DefinitionError: the return type has no JSON Schema.
    """

    def __init__(self, signature: Signature, any_json: bool) -> None:
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(signature.returns)
            self._by_alias = not any(map(writes_names, leaves(signature.returns)))
            made = adapter.json_schema(by_alias=self._by_alias, mode="serialization", schema_generator=_Generate)
        except _UNFIT as error:
            said = _why(error, signature.returns)
            reason = f"no JSON Schema for its return type: {said}; pass structured=False to do without"
            raise signature.error(reason) from None
        # Not by the adapter's methods, which only call these.
        self._validate, self._dump = adapter.validator.validate_python, adapter.serializer.to_python
        is_object = _is_object(made)
        if is_object:
            made = {**made, "type": "object"}
        self._signature, self._has_times = signature, b'"date-time"' in to_json(made)
        self._is_wrapped = not (is_object or any_json)
        self.schema = _wrapped(made) if self._is_wrapped else made

    def write(self, value: Any) -> tuple[Any, str]:
        """Return the structured content for a value, and its text.

        Raises:
            ResultError: it does not match the return type.
            ValueError: JSON cannot express it.
        """
        try:
            valid = self._validate(value)
            content = self._dump(valid, mode="json", by_alias=self._by_alias)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise self._wrong(value, " ".join((*(f"[{step!r}]" for step in first["loc"]), first["msg"]))) from None
        except UnicodeDecodeError:
            said = "bytes that are not UTF-8 are not JSON; return a content block, such as ImageContent"
            raise self._wrong(value, said) from None
        except PydanticSerializationError as error:
            raise self._wrong(value, f"{error}; declare a type that pydantic knows, and return that") from None
        text = content if isinstance(content, str) else to_json(content, inf_nan_mode="constants").decode()
        # A number that JSON cannot express becomes null where no type says that it is a number.
        if self._has_times or _SUSPECT.search(text):
            dumped = self._dump(valid, by_alias=self._by_alias)
            if said := _lost(dumped, times=text if self._has_times else ""):
                raise self._wrong(value, said)
        return {RESULT: content} if self._is_wrapped else content, text

    def _wrong(self, value: Any, said: str) -> ResultError:
        returns = self._signature.returns
        declared = returns.__name__ if isinstance(returns, type) and not get_args(returns) else str(returns)
        where = f"{self._signature.what} ({self._signature.where})"
        remedy = "" if ";" in said else "; return that, or declare what it returns"
        return ResultError(f"{where} returned {type(value).__name__}, declared {declared}: {said}{remedy}")


class NotJson(ValueError):
    """JSON cannot express a value; the text names its type, and says why."""


def text_of(value: Any) -> str:
    """Return a value as JSON text.

    Raises:
        NotJson: JSON cannot express it.
    """
    by_alias = not writes_names(type(value))
    try:
        text = to_json(value, by_alias=by_alias, inf_nan_mode="constants").decode()
    except PydanticSerializationError as error:
        reason = f"{error}; return text, bytes, a list, a dict or a model"
        raise NotJson(f"{type(value).__name__}, which is not JSON: {reason}") from None
    if _SUSPECT.search(text) and (said := _lost(_ANY.dump_python(value, by_alias=by_alias))):
        raise NotJson(f"{type(value).__name__}, which is not JSON: {said}")
    return text


def writes_names(kind: Any) -> bool:
    """Return whether the author of a model asked for the names of its fields, instead of their aliases."""
    config: Any = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    return config.get("serialize_by_alias") is False


def _lost(value: Any, path: str = "", *, times: str = "") -> str:
    """Say where a value has a number that JSON cannot express, or a time without its zone; empty if nowhere.

    Args:
        value: the value.
        path: where it is.
        times: the JSON text of a value whose schema has times, which are written with their zone (RFC 3339).
    """
    if isinstance(value, float):
        return "" if isfinite(value) else f"{path or 'it'} is {value}, which JSON cannot express"
    if isinstance(value, datetime):
        is_naive = value.utcoffset() is None and value.isoformat() in times
        return (
            f"{path or 'it'} is a datetime without a time zone; pass one, as in datetime.now(UTC)" if is_naive else ""
        )
    inner: Any = ()
    if is_object(value):
        inner = value.items()
    elif isinstance(value, list | tuple | set | frozenset | deque):
        inner = enumerate(cast("list[Any]", value))
    return next((said for key, each in inner if (said := _lost(each, f"{path}[{key!r}]", times=times))), "")


_SUSPECT: Final = re.compile("null|NaN|Infinity")
"""The values that pydantic may leave of a number that JSON cannot express."""
_ANY: Final = TypeAdapter[Any](Any)


def _mismatch(reason: LiteralString, names: Sequence[str], arguments: Mapping[str, Any]) -> ValidationError:
    error = PydanticCustomError("schema", reason)
    places: list[InitErrorDetails] = [{"type": error, "loc": (name,), "input": arguments[name]} for name in names]
    return ValidationError.from_exception_data("Arguments", places)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _field(parameter: Parameter) -> Any:
    annotation: Any = Annotated[parameter.annotation, EXACT_CONSTANTS, Field(alias=parameter.name)]
    # Without a default of its own, the one in ``Annotated[int, Field(default=3)]`` counts.
    return annotation if parameter.default is MISSING else (annotation, parameter.default)


def _has_schema(annotation: Any) -> bool:
    try:
        TypeAdapter(annotation).json_schema()
    except _UNFIT:
        return False
    return True


_UNFIT: Final = (PydanticUserError, SchemaError, TypeError, AttributeError, KeyError)
"""What building a schema raises: the last three for annotations that are not types, such as ``[str]``."""


def _why(error: Exception, annotation: Any) -> str:
    if not isinstance(error, PydanticUserError | SchemaError):
        return f"{annotation!r:.60} is not a type"
    return str(error).partition("\n")[0].partition(". Set ")[0].rstrip(".")


def _is_object(schema: Mapping[str, Any]) -> bool:
    """Whether a schema describes objects; a self-referencing schema has a reference at the top."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    target: Mapping[str, Any] = schema.get("$defs", {}).get(name, {}) if name else schema
    return target.get("type") == "object"


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {name: part for name, part in schema.items() if name != "$defs"}
    made: dict[str, Any] = {"type": "object", "properties": {RESULT: inner}, "required": [RESULT]}
    return {**made, "$defs": schema["$defs"]} if "$defs" in schema else made
