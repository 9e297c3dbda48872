"""Shapes -> definitions of the intermediate representation, by the parser of datamodel-code-generator.

The parser returns models and types, which are never rendered as text, so nothing from a schema can become code. A shape
with an unknown form of type cannot be typed. Shapes are passed in batches, since calls are expensive; a batch that
fails is halved until the failing shape is found.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from mcp_bindgen.ir.nodes import (
    ANY,
    Alias,
    Bounds,
    Definition,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Ref,
    Scalar,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.json_values import is_number
from mcp_bindgen.tool_clients.keywords import MAX_TEXT, default, description
from mcp_bindgen.tool_clients.names import class_word, unique
from mcp_bindgen.tool_clients.shape import ORIGIN, Shape

BATCH = 50
"""The maximum number of shapes in a batch."""
MAX_BATCH_NODES = 4_000
"""The maximum number of definitions in a batch."""
_PREFIX = "#/$defs/"
_KINDS: Mapping[str, Kind] = {
    "str": Kind.STRING,
    "int": Kind.INTEGER,
    "float": Kind.NUMBER,
    "bool": Kind.BOOLEAN,
    "None": Kind.NULL,
    "Any": Kind.ANY,
}
_NUMERIC: Mapping[str, str] = {"ge": "minimum", "le": "maximum", "gt": "exclusive_minimum", "lt": "exclusive_maximum"}
_LENGTHS: Mapping[str, str] = {"min_length": "min_length", "max_length": "max_length"}
_SIZES: Mapping[str, str] = {"min_length": "min_items", "max_length": "max_items"}


class Unknown(Exception):
    """The engine returned an unknown form of type."""


Types: TypeAlias = Mapping[str, Definition]
"""What a shape becomes: its definitions."""


def types_of(shapes: Sequence[Shape], taken: set[str]) -> dict[str, Types]:
    """Return the types of each shape by its name; shapes that cannot be typed are left out.

    `taken` are the class names in use, to which it adds those of nested objects.
    """
    _options()  # A missing engine, or one with different options, is not a problem of the schema.
    found: dict[str, Types] = {}
    for batch in _batches(shapes):
        found |= _solve(batch, taken)
    return found


def _batches(shapes: Sequence[Shape]) -> Iterator[list[Shape]]:
    batch: list[Shape] = []
    size = 0
    for shape in shapes:
        weight = len(shape.definitions)
        if batch and (len(batch) >= BATCH or size + weight > MAX_BATCH_NODES):
            yield batch
            batch, size = [], 0
        batch.append(shape)
        size += weight
    if batch:
        yield batch


def _solve(batch: list[Shape], taken: set[str]) -> dict[str, Types]:
    names = set(taken)
    try:
        found = _Reader(_models(batch), batch, names).read()
    except Exception:  # An exception of the engine for an untrusted schema must not affect the other tools.
        if len(batch) == 1:
            return {}
        middle = len(batch) // 2
        return _solve(batch[:middle], taken) | _solve(batch[middle:], taken)
    taken |= names
    return found


def _models(batch: list[Shape]) -> list[Any]:
    """Return the models that the engine's parser creates from shapes."""
    from datamodel_code_generator.parser.jsonschema import JsonSchemaParser

    schemas = {name: schema for shape in batch for name, schema in shape.definitions.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = JsonSchemaParser(json.dumps({"$defs": schemas}), **_options())
        parser.parse_raw()
    return list(parser.results)


@cache
def _options() -> dict[str, Any]:
    from datamodel_code_generator import LiteralType
    from datamodel_code_generator.enums import DataModelType
    from datamodel_code_generator.format import PythonVersion
    from datamodel_code_generator.model import get_data_model_types

    kinds = get_data_model_types(DataModelType.PydanticV2BaseModel, target_python_version=PythonVersion.PY_311)
    return {
        "data_model_type": kinds.data_model,
        "data_model_root_type": kinds.root_model,
        "data_model_field_type": kinds.field_model,
        "data_type_manager_type": kinds.data_type_manager,
        "dump_resolve_reference_action": kinds.dump_resolve_reference_action,
        "target_python_version": PythonVersion.PY_311,
        "allow_remote_refs": False,
        "enum_field_as_literal": LiteralType.All,
        "field_constraints": True,
        "field_extra_keys": {ORIGIN},
        "parent_scoped_naming": True,
        "strict_nullable": True,
        "use_annotated": True,
        "use_standard_collections": True,
        "use_tuple_for_fixed_items": True,
        "use_union_operator": True,
    }


class _Reader:
    """Reads the models of a batch: those of definitions, and those of objects nested in them.

    Models that are neither objects nor definitions (such as bounded items) are inlined where they are used.
    """

    def __init__(self, models: Sequence[Any], batch: Sequence[Shape], taken: set[str]) -> None:
        self._models: dict[str, Any] = {model.reference.path: model for model in models}
        self._batch = batch
        self._taken = taken
        self._names = {f"{_PREFIX}{name}": name for shape in batch for name in shape.definitions}
        self._definitions: dict[str, Definition] = {}

    def read(self) -> dict[str, Types]:
        """Return the types of each shape.

        Raises:
            Unknown: one of them is of a form that is not known.
        """
        found: dict[str, Types] = {}
        for shape in self._batch:
            self._definitions = {}
            for name in shape.definitions:
                self._define(f"{_PREFIX}{name}", shape)
            found[shape.name] = self._definitions
        return found

    def _define(self, path: str, shape: Shape) -> Ref:
        """Add the definition of a model, and return a reference to it."""
        model = self._models[path]
        name = self._names.get(path)
        if name is None:
            name = self._names[path] = unique(class_word(str(model.class_name)), self._taken)
        if name not in self._definitions:
            # Reserve the place of the definition first: it may refer to itself.
            self._definitions[name] = Alias(name=name, type=ANY)
            self._definitions[name] = self._definition(name, model, shape)
        return Ref(name=name)

    def _definition(self, name: str, model: Any, shape: Shape) -> Definition:
        doc = description(shape.sources.get(name))
        if _is_alias(model):
            return Alias(name=name, type=self._only(model, shape), doc=doc)
        fields = tuple(self._field(field, shape) for field in model.fields)
        closed = model.extra_template_data.get("additionalProperties") is False
        own = frozenset(field.wire_name for field in fields)
        return Struct(name=name, fields=fields, own=own, extra=None if closed else ANY, doc=doc)

    def _field(self, field: Any, shape: Shape) -> Field:
        wire_name, stated = shape.properties[field.extras[ORIGIN]]
        return Field(
            wire_name=wire_name,
            type=self._bounded(field, shape),
            required=bool(field.required),
            doc=description(stated),
            default=default(stated),
        )

    def _only(self, model: Any, shape: Shape) -> TypeRef:
        (field,) = model.fields
        return self._bounded(field, shape)

    def _bounded(self, field: Any, shape: Shape) -> TypeRef:
        type_ = self._type(field.data_type, shape)
        constraints = field.constraints
        stated: dict[str, Any] = {} if constraints is None else constraints.model_dump(exclude_none=True)
        stated.pop("unique_items", None)
        if not stated:
            return type_
        match type_:
            case Primitive(kind=Kind.INTEGER | Kind.NUMBER as kind):
                return Primitive(kind=kind, bounds=_bounds(stated, _NUMERIC))
            case Primitive(kind=Kind.STRING as kind):
                return Primitive(kind=kind, bounds=_bounds(stated, _LENGTHS))
            case ListOf(prefix=()):
                return ListOf(item=type_.item, bounds=_bounds(stated, _SIZES))
            case ListOf() if set(stated) <= _SIZES.keys():
                return type_
            case _:
                raise Unknown(f"bounds {sorted(stated)}")

    def _type(self, type_: Any, shape: Shape) -> TypeRef:
        if type_.kwargs or type_.dict_key or type_.enum_member_literals or type_.is_set or type_.is_optional:
            raise Unknown("a type")
        if type_.reference is not None:
            return self._referred(type_.reference.path, shape)
        if type_.literals:
            return Literal(values=tuple(map(_scalar, type_.literals)))
        inner = [self._type(one, shape) for one in type_.data_types]
        if type_.is_tuple:
            return ListOf(item=ANY, prefix=tuple(inner))
        if type_.is_list or type_.is_dict:
            (item,) = inner or [ANY]
            return ListOf(item=item) if type_.is_list else MapOf(value=item)
        if inner:
            return inner[0] if len(inner) == 1 else _union(inner)
        if type_.type not in _KINDS:
            raise Unknown(f"the type {str(type_.type)[:MAX_TEXT]}")
        return Primitive(kind=_KINDS[type_.type])

    def _referred(self, path: str, shape: Shape) -> TypeRef:
        model = self._models[path]
        if path not in self._names and _is_alias(model):
            return self._only(model, shape)
        return self._define(path, shape)


def _is_alias(model: Any) -> bool:
    """Whether a model is just an alias of a type: it has a single unnamed field."""
    return len(model.fields) == 1 and not model.fields[0].name


def _union(members: Sequence[TypeRef]) -> TypeRef:
    flat = [one for member in members for one in (member.members if isinstance(member, Union) else (member,))]
    different = tuple(dict.fromkeys(flat))
    return different[0] if len(different) == 1 else Union(members=different)


def _scalar(value: object) -> Scalar:
    if not isinstance(value, str | int):
        raise Unknown("a literal")
    return value


def _bounds(stated: Mapping[str, object], names: Mapping[str, str]) -> Bounds:
    found: dict[str, Any] = {}
    for name, bound in stated.items():
        if name not in names or not is_number(bound):
            raise Unknown(f"the bound {name}")
        found[names[name]] = int(bound) if float(bound).is_integer() else bound
    return Bounds(**found)
