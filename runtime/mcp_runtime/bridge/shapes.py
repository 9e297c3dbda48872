"""Whether a JSON value has a shape, by the rules of JSON Schema: 1.0 is an integer, true is not a number."""

import json
import math
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from pydantic_core import SchemaError, SchemaValidator, core_schema

from mcp_runtime.bridge.table import AnyOf, Anything, Bounded, Constants, Items, Members, Named, Scalar, Shape
from mcp_runtime.core.json.values import is_array, is_object

Check: TypeAlias = Callable[[Any], bool]


class Checks:
    """Compiles shapes to functions on first use; `named` are those of a table."""

    def __init__(self, named: Mapping[str, Shape]) -> None:
        self._named = named
        self._compiled: dict[str, Check] = {}

    def check(self, shape: Shape) -> Check:
        """Return a check whether a value has the shape."""
        match shape:
            case Anything():
                return _anything
            case Scalar():
                return _scalar(shape)
            case Constants(values=values):
                known = frozenset(map(_distinct, values))
                return lambda value: not isinstance(value, dict | list) and _distinct(value) in known
            case Items():
                return _items(self.check(shape.item), shape.at_most)
            case Bounded(shape=inner, bounds=bounds):
                checks = (self.check(inner), *(_BOUNDS[name](bound) for name, bound in bounds.items()))
                return lambda value: all(check(value) for check in checks)
            case Members():
                return self._members(shape)
            case AnyOf(forms=forms):
                checks = tuple(map(self.check, forms))
                return lambda value: any(check(value) for check in checks)
            case Named(name=name):
                return partial(self._is, name)

    def _is(self, name: str, value: Any) -> bool:
        """Whether a value has a named shape; compiled lazily, since a shape may contain itself."""
        if name not in self._compiled:
            self._compiled[name] = self.check(self._named[name])
        return self._compiled[name](value)

    def _members(self, shape: Members) -> Check:
        declared = {name: self.check(inner) for name, inner in shape.members.items() if inner != Anything()}
        known, required = shape.members.keys(), frozenset(shape.required)
        rest = None if shape.rest == Anything() else _nothing if shape.rest is None else self.check(shape.rest)

        def is_member_of(value: Any) -> bool:
            if not is_object(value) or not required <= value.keys():
                return False
            for name, check in declared.items():
                if name in value and not check(value[name]):
                    return False
            return rest is None or all(rest(inner) for name, inner in value.items() if name not in known)

        return is_member_of


def _anything(value: Any) -> bool:
    return True


def _nothing(value: Any) -> bool:
    return False


def _items(check: Check, at_most: int | None) -> Check:
    most = sys.maxsize if at_most is None else at_most
    return lambda value: is_array(value) and len(value) <= most and all(map(check, value))


def _scalar(shape: Scalar) -> Check:
    if shape.kind in ("integer", "number"):
        return _number(shape)
    type_ = {"string": str, "boolean": bool, "null": type(None)}[shape.kind]
    return lambda value: isinstance(value, type_)


def _number(shape: Scalar) -> Check:
    is_whole, least, most = shape.kind == "integer", shape.minimum, shape.maximum

    def is_number(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if is_whole and isinstance(value, float) and not value.is_integer():
            return False
        return (least is None or value >= least) and (most is None or value <= most)

    return is_number


def _pattern(pattern: str) -> Check:
    """Match in linear time; what such a matcher does not understand is left to the receiver's model."""
    try:
        schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        return SchemaValidator(schema).isinstance_python
    except SchemaError:
        return _anything


def _is_multiple(step: float) -> Check:
    return lambda value: math.isclose(math.remainder(value, step), 0, abs_tol=1e-9)


def _are_unique(is_asserted: bool) -> Check:
    def are_unique(value: Any) -> bool:
        spelled = [json.dumps(item, sort_keys=True) for item in value]
        return not is_asserted or len(set(spelled)) == len(spelled)

    return are_unique


def _at_least(bound: int) -> Check:
    return lambda value: len(value) >= bound


def _at_most(bound: int) -> Check:
    return lambda value: len(value) <= bound


_BOUNDS: Mapping[str, Callable[[Any], Check]] = {
    "exclusive_minimum": lambda bound: lambda value: value > bound,
    "exclusive_maximum": lambda bound: lambda value: value < bound,
    "multiple_of": _is_multiple,
    "pattern": _pattern,
    "unique_items": _are_unique,
    **dict.fromkeys(("min_length", "min_items", "min_properties"), _at_least),
    **dict.fromkeys(("max_length", "max_items", "max_properties"), _at_most),
}
"""The checks of bounds that shapes do not have themselves, for values of the right type."""


def _distinct(value: Any) -> tuple[bool, Any]:
    """Return a key that distinguishes true from 1, as Python does not."""
    return isinstance(value, bool), value
