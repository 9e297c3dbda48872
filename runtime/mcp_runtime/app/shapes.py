"""Keeps pydantic to the JSON Schema it writes: it refuses 1.0 as an integer, and accepts true for an enum's 1."""

from collections.abc import Iterable, Mapping
from operator import is_
from typing import Any, Final, cast

from mcp_runtime.core.json.values import is_array, is_object

MISFIT: Final = object()
"""Stands for a value that does not have the shape."""

_EXACT: Final = frozenset(
    "any bool bytes dataclass dataclass-args dataclass-field date datetime decimal default definition-ref definitions "
    "deque dict float frozenset int list model model-field model-fields none nullable set str tagged-union time "
    "timedelta tuple typed-dict typed-dict-field union url uuid".split()
)
"""Types of pydantic's core schemas that accept nothing that their JSON Schema does not, in strict JSON mode."""
_BY_NAME: Final = ("populate_by_name", "validate_by_name")
_ASIDE: Final = ("serialization", "metadata")
"""Keys of a core schema that have no part in validation."""

_LARGEST: Final = 2.0**53
"""Beyond this, floats are not exact integers, and an integer would have many more digits than its sender wrote."""

_Schema = Mapping[str, Any]
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def is_exact(core: Any) -> bool:
    """Whether pydantic accepts nothing for a core schema that the JSON Schema of it does not accept."""
    if isinstance(core, (list, tuple)):
        return all(map(is_exact, cast("Iterable[Any]", core)))
    if not is_object(core):
        return True
    kind = core.get("type", "any")
    if kind == "literal":
        return all(isinstance(value, str) for value in core["expected"])
    if isinstance(kind, str) and kind not in _EXACT:
        return False
    aside = _ASIDE if isinstance(kind, str) and "type" in core else ()  # fields of a model may have any name
    return not any(map(core.get, _BY_NAME)) and all(is_exact(core[key]) for key in core if key not in aside)


class Shape:
    """What a JSON Schema says about types, constants, properties and items; bounds and formats are left to pydantic.

    Args:
        schema: the JSON Schema (2020-12), as pydantic writes it.
    """

    def __init__(self, schema: _Schema) -> None:
        self._definitions: _Schema = schema.get("$defs", {})
        self._schema = schema

    def read(self, value: Any) -> Any:
        """Return a JSON value with integers in place of numbers such as 1.0 where the schema asks for integers.

        It is the same object if there is nothing to replace, and MISFIT if the value does not have the shape.
        """
        return self._read(value, self._schema, {})

    def _read(self, value: Any, schema: _Schema, known: dict[tuple[int, int], Any]) -> Any:
        # Each value meets each schema once, so that nested choices do not multiply.
        key = (id(value), id(schema))
        if key not in known:
            known[key] = self._read_now(value, schema, known)
        return known[key]

    def _read_now(self, value: Any, schema: _Schema, known: dict[tuple[int, int], Any]) -> Any:
        if "$ref" in schema:
            value = self._read(value, self._definitions.get(schema["$ref"].rpartition("/")[2], {}), known)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                value = self._chosen(value, schema[key], known)
        value = _typed(value, schema)
        if is_object(value):
            stated, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
            if not value.keys() >= set(schema.get("required", ())):
                return MISFIT
            parts = {name: self._part(inner, stated.get(name, rest), known) for name, inner in value.items()}
            return _rebuilt(value, parts, parts.values(), value.values())
        if is_array(value):
            first, rest = schema.get("prefixItems", ()), schema.get("items", True)
            items = [
                self._part(item, first[place] if place < len(first) else rest, known)
                for place, item in enumerate(value)
            ]
            return _rebuilt(value, items, items, value)
        return value

    def _chosen(self, value: Any, choices: Iterable[_Schema], known: dict[tuple[int, int], Any]) -> Any:
        """Return a value with integers wherever one of the choices asks for them, or MISFIT if none fits.

        A choice that leaves 1.0 as it is may have bounds that refuse it; one that has numbers takes integers too.
        """
        fits = False
        for choice in choices:
            read = self._read(value, choice, known)
            if read is not MISFIT:
                value, fits = read, True
        return value if fits else MISFIT

    def _part(self, value: Any, schema: _Schema | bool, known: dict[tuple[int, int], Any]) -> Any:
        if isinstance(schema, bool):
            return value if schema else MISFIT
        return self._read(value, schema, known)


def _rebuilt(value: Any, made: Any, parts: Iterable[Any], given: Iterable[Any]) -> Any:
    if any(part is MISFIT for part in parts):
        return MISFIT
    return value if all(map(is_, parts, given)) else made


def _typed(value: Any, schema: _Schema) -> Any:
    """Return a value if its type and the constants of a schema admit it, as an integer where they ask for one."""
    constants = [schema["const"]] if "const" in schema else schema.get("enum")
    stated = schema.get("type", ())
    names = (stated,) if isinstance(stated, str) else stated
    wanted: set[Any] = {kind for name in names for kind in _TYPES.get(name, (object,))} or {object}
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST:
        whole = int(value)
        if wanted == {int} or any(type(constant) is int and constant == whole for constant in constants or ()):
            value = whole
    if not isinstance(value, tuple(wanted)) or (isinstance(value, bool) and wanted.isdisjoint((bool, object))):
        return MISFIT
    if constants is not None and not any(_equal(value, constant) for constant in constants):
        return MISFIT
    return value


def _equal(value: Any, constant: Any) -> bool:
    return value == constant and isinstance(value, bool) is isinstance(constant, bool)
