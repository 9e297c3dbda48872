"""Spell IR types as Python annotations. This is the only module of the emitter that contains Python syntax."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.emit.python.expressions import Defined, Expression, Symbol, expression, joined
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.ir.facts import are_distinct, discriminators, most_specific_first
from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.nodes import (
    NULL,
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
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import bounds_of

ANNOTATED = Symbol("typing.Annotated")
LITERAL = Symbol("typing.Literal")
FIELD = Symbol("pydantic.Field")
DICT = Symbol("builtins.dict")
LIST = Symbol("builtins.list")
TUPLE = Symbol("builtins.tuple")
UNION = Symbol("typing.Union")
MAX_OPERANDS = 100
"""The longest union that is written with operators."""

ANY = expression(Symbol("typing.Any"))
FLOAT = expression(Symbol("builtins.float"))
NONE = expression("None")
STR = expression(Symbol("builtins.str"))


def model(name: str) -> Expression:
    """Spell a name from the runtime's model module."""
    return expression(Symbol(f"mcp_runtime.core.model.{name}"))


ABSENT = model("ABSENT")
ABSENT_TYPE = model("Absent")
PAGE = expression(Symbol("mcp_runtime.core.model.Page"))

_STATIC: Mapping[Kind, Expression] = {
    Kind.STRING: STR,
    Kind.INTEGER: expression(Symbol("builtins.int")),
    Kind.NUMBER: FLOAT,
    Kind.BOOLEAN: expression(Symbol("builtins.bool")),
    Kind.NULL: NONE,
    Kind.ANY: ANY,
    Kind.NEVER: expression(Symbol("typing.Never")),
}
_CHECKED: Mapping[Kind, Expression] = {
    **_STATIC,
    Kind.BOOLEAN: model("Boolean"),
    Kind.INTEGER: model("Integer"),
    Kind.NUMBER: model("Number"),
    Kind.NEVER: model("Forbidden"),
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


def either(*types: Expression) -> Expression:
    """Spell the union of types; each operator is nested in the next, and Python's parser bounds the depth."""
    return joined(" | ", types) if len(types) <= MAX_OPERANDS else generic(UNION, *types)


def type_of(class_: Expression) -> Expression:
    """Spell the type of a class itself."""
    return expression(Symbol("builtins.type"), "[", class_, "]")


def generic(name: Symbol, *arguments: Expression) -> Expression:
    """Spell a type with arguments."""
    return expression(name, "[", joined(", ", arguments), "]")


def constant(value: Scalar) -> Expression:
    """Spell a constant."""
    return expression(repr(value))


@dataclass(frozen=True, slots=True)
class Speller:
    """Spells the types of one protocol; `modules` names the module of each definition.

    `annotation` has everything that is validated at run time; `static` is for readers and type checkers.
    """

    protocol: Protocol
    names: Names
    modules: Mapping[str, str]

    def reference(self, definition: str) -> Expression:
        """Spell the class or alias of a definition."""
        return expression(Defined(self.modules[definition], self.names.classes[definition]))

    def annotation(self, type_: TypeRef) -> Expression:
        """Spell a type for a model."""
        match type_:
            case Primitive():
                return _primitive(type_)
            case Literal(values=values):
                return _literal(values)
            case Ref(name=name):
                return self.reference(name)
            case ListOf(prefix=(_, *_) as items):
                return generic(TUPLE, *map(self.annotation, items))
            case ListOf(item=item, bounds=bounds):
                return _constrained(generic(LIST, self.annotation(item)), bounds)
            case MapOf(is_schema=True):
                return model("Subschema")
            case MapOf(value=value, bounds=bounds):
                return _constrained(generic(DICT, STR, self.annotation(value)), bounds)
            case Union(members=members):
                return self._union(members)

    def static(self, type_: TypeRef) -> Expression:
        """Spell a type for the signature of a stub."""
        match type_:
            case Primitive(kind=kind, known=known):
                return either(generic(LITERAL, *map(constant, known)), STR) if known else _STATIC[kind]
            case Literal(values=values):
                return either(*_closed(values), *([FLOAT] if _fractions(values) else []))
            case Ref(name=name):
                return self.reference(name)
            case ListOf(prefix=(_, *_) as items):
                return generic(TUPLE, *map(self.static, items))
            case ListOf(item=item):
                return generic(LIST, self.static(item))
            case MapOf(value=value):
                return generic(DICT, STR, self.static(value))
            case Union(members=members):
                return either(*map(self.static, members))

    def _union(self, members: tuple[TypeRef, ...]) -> Expression:
        if len(members) == 2 and NULL in members:
            (other,) = (member for member in members if member != NULL)
            # pydantic does not treat this as a union, so it takes no mode; but a number is itself a union.
            if not (isinstance(other, Primitive) and other.kind in _NUMERIC):
                return either(self.annotation(other), NONE)
        tag = self._tag(members)
        if tag is not None:
            mode = expression(model("Tagged"), f"({tag!r})")
        else:
            mode = model("LEFT_TO_RIGHT" if are_distinct(self.protocol, members) else "MOST_MEMBERS")
            members = tuple(self._flattened(members))
        ordered = most_specific_first(self.protocol, members)
        return generic(ANNOTATED, either(*map(self.annotation, ordered)), mode)

    def _tag(self, members: Iterable[TypeRef]) -> str | None:
        """Return the discriminator of a union for pydantic; it has the same name in all members."""
        union = Union(members=tuple(members))
        for wire_name in discriminators(self.protocol, union.members):
            attributes = {self.names.attribute(struct, wire_name) for struct in structs(union, self.protocol)}
            if len(attributes) == 1:
                return attributes.pop()
        return None

    def _flattened(self, members: Iterable[TypeRef]) -> Iterator[TypeRef]:
        """Replace a nested union of objects with its members, so that the most specific one can be chosen."""
        for member in members:
            target = self.protocol.resolve(member)
            if isinstance(target, Union) and self._is_untagged(target):
                yield from self._flattened(target.members)
            else:
                yield member

    def _is_untagged(self, union: Union) -> bool:
        """Whether a union has object members without a discriminator."""
        return any(structs(union, self.protocol)) and self._tag(union.members) is None


def _literal(values: tuple[Scalar, ...]) -> Expression:
    """Spell a closed set; only integers, strings and booleans can be arguments of Python's `Literal`."""
    members = [*_closed(values), *map(_exactly, _fractions(values))]
    return members[0] if len(members) == 1 else generic(ANNOTATED, either(*members), model("LEFT_TO_RIGHT"))


def _exactly(value: float) -> Expression:
    return generic(ANNOTATED, FLOAT, expression(model("Exactly"), f"({value!r})"))


def _closed(values: tuple[Scalar, ...]) -> list[Expression]:
    others = [constant(value) for value in values if not isinstance(value, float)]
    return [generic(LITERAL, *others)] if others else []


def _fractions(values: tuple[Scalar, ...]) -> list[float]:
    return [value for value in values if isinstance(value, float)]


def _primitive(type_: Primitive) -> Expression:
    if type_.known:
        known = generic(LITERAL, *map(constant, type_.known))
        return generic(ANNOTATED, either(known, STR), model("OPEN"))
    if type_.bounds == UNBOUNDED:
        return _CHECKED[type_.kind]
    if type_.kind in _NUMERIC:
        checked = expression(model(_NUMERIC[type_.kind]), f"({_arguments(type_.bounds)})")
        return generic(ANNOTATED, _STATIC[type_.kind], checked)
    return _constrained(_CHECKED[type_.kind], type_.bounds)


def _constrained(spelled: Expression, bounds: Bounds) -> Expression:
    marks: list[Expression] = []
    arguments = _arguments(bounds)
    if arguments:
        marks.append(expression(FIELD, f"({arguments})"))
    if bounds.unique_items:
        marks.append(model("UNIQUE"))
    return generic(ANNOTATED, spelled, *marks) if marks else spelled


def _arguments(bounds: Bounds) -> str:
    stated = bounds_of(bounds)
    return ", ".join(f"{_ARGUMENTS[name]}={value!r}" for name, value in stated.items() if name in _ARGUMENTS)
