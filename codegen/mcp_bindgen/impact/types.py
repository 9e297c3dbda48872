"""The scanner's types of values: a small algebra of Python types."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mcp_bindgen.impact.python_names import PythonName


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that may be anything, including a protocol object."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A value that has nothing to do with the bindings."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """None."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number or boolean: the properties it was read from, and its values if they are listed."""

    origins: frozenset[PythonName]
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a generated class."""

    cls: str


@dataclass(frozen=True, slots=True)
class ClassObject:
    """A generated class itself; `name` is its name in the code, which may be an alias of the class."""

    cls: str
    name: str


@dataclass(frozen=True, slots=True)
class TypeForm:
    """A type as a value: an alias such as ``Content = TextContent | ImageContent``."""

    type: "Type"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Many:
    """Something to iterate over, with or without await."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple of known length."""

    items: "tuple[Type, ...]"


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping by values of one type."""

    value: "Type"


@dataclass(frozen=True, slots=True)
class Dump:
    """The result of `model_dump`: its keys are not tracked."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Something to await."""

    result: "Type"


@dataclass(frozen=True, slots=True)
class Either:
    """A value of one of several types."""

    members: "frozenset[Type]"


@dataclass(frozen=True, slots=True)
class BoundStub:
    """A bound method of a generated class: a call to the peer, or a handler."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A bound method that is not generated: a model's `model_copy`, a list's `append`."""

    receiver: "Type"
    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the bindings."""

    name: str


@dataclass(frozen=True, slots=True)
class Records:
    """The table of methods, or a part of it."""


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The table of exceptions by their error codes."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """A module of the bindings."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package or module by its dotted name, scanned or not."""

    name: str


@dataclass(frozen=True, slots=True)
class UserClass:
    """A class of the scanned code."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class UserInstance:
    """An object of a class of the scanned code."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class UserSuper:
    """The result of `super()` inside a class of the scanned code."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of the scanned code; `skips` says how many parameters are bound already."""

    module: str
    name: str
    skips: int = 0


@dataclass(frozen=True, slots=True)
class Guard:
    """The result of a type guard function: true or false."""

    type: "Type"


@dataclass(frozen=True, slots=True)
class Maker:
    """A function of which only the return type is known."""

    result: "Type"


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function that passes its arguments on."""

    name: str


Type: TypeAlias = (
    Unknown
    | Foreign
    | Nothing
    | Scalar
    | Instance
    | ClassObject
    | TypeForm
    | Many
    | Row
    | Table
    | Dump
    | Coming
    | Either
    | BoundStub
    | BoundMethod
    | Constant
    | Records
    | ErrorTable
    | Guard
    | Bindings
    | Package
    | UserClass
    | UserInstance
    | UserSuper
    | UserFunction
    | Maker
    | Builtin
)

UNKNOWN = Unknown()
FOREIGN = Foreign()
NOTHING = Nothing()
MAX_MEMBERS = 60
"""The maximum number of members of an `Either`; a larger one becomes unknown."""
MAX_DEPTH = 4
"""The maximum depth of a type learned from code: a recursive one would grow without bound."""


def members(type_: Type) -> Iterator[Type]:
    """Iterate over the types that a value may have."""
    if isinstance(type_, Either):
        yield from type_.members
    else:
        yield type_


def either(types: Iterable[Type]) -> Type:
    """Return the type of a value that has one of several types."""
    found: set[Type] = set()
    scalars: list[Scalar] = []
    for type_ in types:
        for member in members(type_):
            if isinstance(member, Scalar):
                scalars.append(member)
            else:
                found.add(member)
    if scalars:
        origins = frozenset(origin for scalar in scalars for origin in scalar.origins)
        every = [scalar.values for scalar in scalars]
        values = tuple(sorted({value for listed in every for value in listed}, key=repr)) if all(every) else ()
        found.add(Scalar(origins, values))
    if len(found) > MAX_MEMBERS:
        return UNKNOWN
    if len(found) == 1:
        return found.pop()
    return Either(frozenset(found)) if found else FOREIGN


def limited(type_: Type, depth: int = MAX_DEPTH) -> Type:
    """Return a type without the parts that are nested too deeply."""
    match type_:
        case Many() | Row() | Table() | Coming() | Maker() | TypeForm() | BoundMethod() if not depth:
            return UNKNOWN
        case Many(item=inner):
            return Many(limited(inner, depth - 1))
        case Table(value=inner):
            return Table(limited(inner, depth - 1))
        case Coming(result=inner):
            return Coming(limited(inner, depth - 1))
        case Maker(result=inner):
            return Maker(limited(inner, depth - 1))
        case Row(items=items):
            return Row(tuple(limited(inner, depth - 1) for inner in items))
        case TypeForm(type=inner, name=name):
            return TypeForm(limited(inner, depth - 1), name)
        case BoundMethod(receiver=receiver, name=name):
            return BoundMethod(limited(receiver, depth - 1), name)
        case Either(members=inner):
            return either([limited(member, depth) for member in inner])
        case _:
            return type_


def item_of(type_: Type) -> Type:
    """Return the type of a value's items."""
    return either(_item(member) for member in members(type_))


def _item(type_: Type) -> Type:
    match type_:
        case Many(item=item):
            return item
        case Row(items=items):
            return either(items)
        case Unknown() | Dump():
            return UNKNOWN
        case _:
            return FOREIGN


def awaited(type_: Type) -> Type:
    """Return the result of awaiting a value."""
    return either(member.result if isinstance(member, Coming) else member for member in members(type_))


def concerns_protocol(type_: Type) -> bool:
    """Whether a value may contain a protocol object."""
    for member in members(type_):
        match member:
            case Foreign() | Nothing() | Package() | Builtin():
                continue
            case Many(item=inner) | Table(value=inner) | Coming(result=inner) | Maker(result=inner):
                if concerns_protocol(inner):
                    return True
            case Row(items=items):
                if any(concerns_protocol(inner) for inner in items):
                    return True
            case _:
                return True
    return False


@dataclass(slots=True)
class Environment:
    """The types of names, and of dotted expressions that were narrowed, at one point of the code."""

    types: dict[str, Type] = field(default_factory=dict[str, Type])

    def copy(self) -> "Environment":
        """Return an independent copy."""
        return Environment(dict(self.types))

    def bind(self, name: str, type_: Type) -> None:
        """Bind a name to a new value, and forget the types of its attributes."""
        for narrowed in [key for key in self.types if key.startswith(f"{name}.")]:
            del self.types[narrowed]
        self.types[name] = type_

    def join(self, *others: "Environment") -> None:
        """Merge the environments at the end of several branches."""
        names = {name for other in others for name in other.types}
        for name in sorted(names):
            known = [other.types[name] for other in others if name in other.types]
            if len(known) == len(others) or "." not in name:
                self.types[name] = either(known)
        for name in [name for name in self.types if name not in names]:
            del self.types[name]
        for name in [n for n in self.types if "." in n and any(n not in other.types for other in others)]:
            del self.types[name]
