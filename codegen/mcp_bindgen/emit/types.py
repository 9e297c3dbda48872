"""Spell IR types as Python annotations.

Generated modules reach builtins, typing and pydantic through private aliases, so a definition called `Annotated` and
a property called `list` keep their names. `Prelude` knows what each alias stands for.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.emit.names import Names
from mcp_bindgen.ir.nodes import (
    UNBOUNDED,
    Bounds,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Scalar,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import bounds_of

PRELUDE: Mapping[str, str] = {
    "_bool": "from builtins import bool as _bool",
    "_dict": "from builtins import dict as _dict",
    "_int": "from builtins import int as _int",
    "_float": "from builtins import float as _float",
    "_list": "from builtins import list as _list",
    "_str": "from builtins import str as _str",
    "_type": "from builtins import type as _type",
    "_AsyncIterator": "from collections.abc import AsyncIterator as _AsyncIterator",
    "_Mapping": "from collections.abc import Mapping as _Mapping",
    "_MappingProxyType": "from types import MappingProxyType as _MappingProxyType",
    # Type checkers know the constant by its own name only.
    "_typing": "import typing as _typing",
    "_Annotated": "from typing import Annotated as _Annotated",
    "_Any": "from typing import Any as _Any",
    "_ClassVar": "from typing import ClassVar as _ClassVar",
    "_Final": "from typing import Final as _Final",
    "_Literal": "from typing import Literal as _Literal",
    "_TypeAlias": "from typing import TypeAlias as _TypeAlias",
    "_overload": "from typing import overload as _overload",
    "_ConfigDict": "from pydantic import ConfigDict as _ConfigDict",
    "_Field": "from pydantic import Field as _Field",
    "_TypeAliasType": "from typing_extensions import TypeAliasType as _TypeAliasType",
    "_m": "from mcp_runtime import model as _m",
    "_Binding": "from mcp_runtime.binding import Binding as _Binding",
    "_errors": "from mcp_runtime import errors as _errors",
    "_method": "from mcp_runtime import method as _method",
    "_stub": "from mcp_runtime import stub as _stub",
    "_methods": "from . import methods as _methods",
    "_BINDING": "from .binding import BINDING as _BINDING",
}
"""Private alias -> the statement that makes it."""

_ALIAS = re.compile(r"\b_[A-Za-z]\w*")


def prelude(text: Iterable[str]) -> tuple[str, ...]:
    """Return the import statements for the private aliases that some source text uses."""
    used = {alias for line in text for alias in _ALIAS.findall(line)}
    return tuple(statement for alias, statement in PRELUDE.items() if alias in used)


_STATIC: Mapping[Kind, str] = {
    Kind.STRING: "_str",
    Kind.INTEGER: "_int",
    Kind.NUMBER: "_float",
    Kind.BOOLEAN: "_bool",
    Kind.NULL: "None",
    Kind.ANY: "_Any",
}
_CHECKED: Mapping[Kind, str] = {
    **_STATIC,
    Kind.BOOLEAN: "_m.Boolean",
    Kind.INTEGER: "_m.Integer",
    Kind.NUMBER: "_m.Number",
}
_NUMERIC: Mapping[Kind, str] = {Kind.INTEGER: "JsonInteger", Kind.NUMBER: "JsonNumber"}
_ARGUMENTS: Mapping[str, str] = {
    "minimum": "ge",
    "maximum": "le",
    "exclusive_minimum": "gt",
    "exclusive_maximum": "lt",
    "multiple_of": "multiple_of",
    "min_length": "min_length",
    "max_length": "max_length",
    "pattern": "pattern",
    "min_items": "min_length",
    "max_items": "max_length",
    "min_properties": "min_length",
    "max_properties": "max_length",
}


_FIRST_MATCH = "_m.LEFT_TO_RIGHT"
_BEST_MATCH = "_m.MOST_MEMBERS"
_UNTAGGED = (_FIRST_MATCH, _BEST_MATCH)


@dataclass(frozen=True, slots=True)
class Speller:
    """Spells the types of one protocol.

    `annotation` carries everything that is checked at run time; `static` is what a reader and a type checker need.
    """

    protocol: Protocol
    names: Names

    def annotation(self, type_: TypeRef) -> str:
        """Spell a type for a model."""
        match type_:
            case Primitive():
                return _primitive(type_)
            case Literal(values=values):
                return _literal(values)
            case Ref(name=name):
                return self.names.classes[name]
            case ListOf(item=item, bounds=bounds):
                return _constrained(f"_list[{self.annotation(item)}]", bounds)
            case MapOf(value=value, bounds=bounds):
                return _constrained(f"_dict[_str, {self.annotation(value)}]", bounds)
            case Union(members=members):
                mode = self._union_mode(members)
                flat = self._ordered(tuple(self._flattened(members)) if mode in _UNTAGGED else members)
                spelled = " | ".join(self.annotation(member) for member in flat)
                return f"_Annotated[{spelled}, {mode}]"

    def static(self, type_: TypeRef) -> str:
        """Spell a type for the signature of a stub."""
        match type_:
            case Primitive(kind=kind, known=known):
                return f"_Literal[{', '.join(map(repr, known))}] | _str" if known else _STATIC[kind]
            case Literal(values=values):
                return " | ".join([*_closed(values), *(["_float"] if _fractions(values) else [])])
            case Ref(name=name):
                return self.names.classes[name]
            case ListOf(item=item):
                return f"_list[{self.static(item)}]"
            case MapOf(value=value):
                return f"_dict[_str, {self.static(value)}]"
            case Union(members=members):
                return " | ".join(self.static(member) for member in members)

    def admits_null(self, type_: TypeRef) -> bool:
        """Whether null is a value of the type."""
        match self.protocol.resolve(type_):
            case Primitive(kind=kind):
                return kind in (Kind.NULL, Kind.ANY)
            case Literal(values=values):
                return None in values
            case Union(members=members):
                return any(self.admits_null(member) for member in members)
            case _:
                return False

    def _ordered(self, members: Collection[TypeRef]) -> list[TypeRef]:
        """Put the most specific member first: the one that requires most, of objects; integers before numbers."""
        return sorted(members, key=self._generality)

    def _generality(self, member: TypeRef) -> tuple[int, int]:
        target = self.protocol.resolve(member)
        match target:
            case Literal():
                return (0, 0)
            case Primitive(kind=kind):
                return (4 if kind is Kind.ANY else 3 if kind is Kind.NULL else 1, int(kind is Kind.NUMBER))
            case Struct(fields=fields):
                constants = sum(isinstance(f.type, Literal) and f.required for f in fields)
                return (2, len(fields) - 1000 * sum(f.required for f in fields) - 100_000 * constants)
            case _:
                return (2, 1)

    def _union_mode(self, members: Collection[TypeRef]) -> str:
        tag = self._discriminator(list(members))
        if tag:
            return f"_m.Tagged({tag!r})"
        structs = [leaf for leaf in self._leaves(members) if isinstance(leaf, Struct)]
        # Two that demand the same take each other's values; what tells them apart is what else they know.
        return _BEST_MATCH if len({_demands(struct) for struct in structs}) < len(structs) else _FIRST_MATCH

    def _flattened(self, members: Iterable[TypeRef]) -> Iterator[TypeRef]:
        """Put the members of a union of objects in its place: what is most specific may be among them."""
        for member in members:
            target = self.protocol.resolve(member)
            if isinstance(target, Union) and self._is_untagged(target):
                yield from self._flattened(target.members)
            else:
                yield member

    def _is_untagged(self, union: Union) -> bool:
        """Whether a union has objects as members that nothing tells apart at once."""
        is_of_objects = any(isinstance(leaf, Struct) for leaf in self._leaves(union.members))
        return is_of_objects and self._discriminator(list(union.members)) is None

    def _discriminator(self, members: list[TypeRef]) -> str | None:
        """Find the member that every struct of a union requires with a constant of its own."""
        structs = [target for member in self._leaves(members) if isinstance(target := member, Struct)]
        if len(structs) < 2 or len(structs) != len(list(self._leaves(members))):
            return None
        for field in structs[0].fields:
            values = [_constant(struct, field.wire_name) for struct in structs]
            attributes = {self.names.attribute(s, field.wire_name) for s in structs if s.field(field.wire_name)}
            distinct = {(type(value), value) for value in values if value is not None}
            if len(distinct) == len(structs) and len(attributes) == 1:
                return attributes.pop()
        return None

    def _leaves(self, members: Iterable[TypeRef]) -> Iterator[TypeRef | Struct]:
        for member in members:
            target = self.protocol.resolve(member)
            if isinstance(target, Union):
                yield from self._leaves(target.members)
            else:
                yield target


def _demands(struct: Struct) -> frozenset[tuple[str, object]]:
    """What a struct asks of a value: the names of the members that it requires, and their types where constant."""
    required = [field for field in struct.fields if field.required]
    return frozenset((f.wire_name, f.type if isinstance(f.type, Literal) else None) for f in required)


def _constant(struct: Struct, wire_name: str) -> str | int | None:
    field = struct.field(wire_name)
    if field is None or not field.required or not isinstance(field.type, Literal) or len(field.type.values) != 1:
        return None
    value = field.type.values[0]
    return value if isinstance(value, str | int) else None


def _literal(values: tuple[Scalar, ...]) -> str:
    """Spell a closed set; what is no integer cannot stand in a `Literal` of Python."""
    numbers = [f"_Annotated[_float, _m.JsonNumber(ge={value!r}, le={value!r})]" for value in _fractions(values)]
    members = [*_closed(values), *numbers]
    return members[0] if len(members) == 1 else f"_Annotated[{' | '.join(members)}, _m.LEFT_TO_RIGHT]"


def _closed(values: tuple[Scalar, ...]) -> list[str]:
    others = [repr(value) for value in values if not isinstance(value, float)]
    return [f"_Literal[{', '.join(others)}]"] if others else []


def _fractions(values: tuple[Scalar, ...]) -> list[float]:
    return [value for value in values if isinstance(value, float)]


def _primitive(type_: Primitive) -> str:
    if type_.known:
        return f"_Annotated[_Literal[{', '.join(map(repr, type_.known))}] | _str, _m.OPEN]"
    if type_.bounds == UNBOUNDED:
        return _CHECKED[type_.kind]
    if type_.kind in _NUMERIC:
        return f"_Annotated[{_STATIC[type_.kind]}, _m.{_NUMERIC[type_.kind]}({_arguments(type_.bounds)})]"
    return _constrained(_CHECKED[type_.kind], type_.bounds)


def _constrained(spelled: str, bounds: Bounds) -> str:
    extra = ", _m.UNIQUE" if bounds.unique_items else ""
    arguments = _arguments(bounds)
    if arguments:
        return f"_Annotated[{spelled}, _Field({arguments}){extra}]"
    return f"_Annotated[{spelled}{extra}]" if extra else spelled


def _arguments(bounds: Bounds) -> str:
    stated = bounds_of(bounds)
    return ", ".join(f"{_ARGUMENTS[name]}={value!r}" for name, value in stated.items() if name in _ARGUMENTS)
