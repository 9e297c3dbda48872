"""The results of Python's operators on objects of a user's classes: iteration, subscripts, calls, arithmetic.

A result that cannot be inferred is unknown, not foreign, so that its uses are counted.
"""

import ast
from collections.abc import Mapping

from mcp_bindgen.impact.attributes import returned
from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.types import (
    FOREIGN,
    UNKNOWN,
    Coming,
    Many,
    Package,
    Row,
    Type,
    UserClass,
    UserInstance,
    awaited,
    either,
    item_of,
    members,
)

_UNARY: Mapping[type[ast.AST], str] = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
_BINARY: Mapping[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
}


def special(frame: Frame, instance: UserInstance, *names: str) -> Type | None:
    """Return the result of the first of some methods that a user's class has; None if it has none of them.

    A class with an unknown base may have any.
    """
    class_ = UserClass(instance.module, instance.name)
    facts = frame.project.facts
    for known in frame.project.lineage(class_):
        if isinstance(known, UserClass):
            for name in names:
                key = (known.module, f"{known.name}.{name}")
                if key in facts.functions:
                    result = returned(frame, key)
                    is_coming = facts.functions[key].is_async and not isinstance(result, Many)
                    return Coming(result) if is_coming else result
    return UNKNOWN if frame.project.is_open(class_) else None


def iterated(frame: Frame, type_: Type) -> Type:
    """Return the type of the items of a loop over a value."""
    found: list[Type] = []
    for member in members(type_):
        if not isinstance(member, UserInstance):
            found.append(item_of(member))
            continue
        if is_named_tuple(frame, member):
            found.append(either(declared(frame, member).values()))
            continue
        iterator = special(frame, member, "__iter__", "__aiter__")
        if iterator is None:
            found.append(special(frame, member, "__getitem__") or UNKNOWN)
            continue
        for one in members(awaited(iterator)):
            step = special(frame, one, "__next__", "__anext__") if isinstance(one, UserInstance) else item_of(one)
            found.append(awaited(step) if step is not None else UNKNOWN)
    return either(found)


def subscripted(frame: Frame, instance: UserInstance, index: object) -> Type:
    """Return the result of subscripting an object: a TypedDict by key, a NamedTuple by index."""
    fields = declared(frame, instance)
    if isinstance(index, str) and index in fields:
        return fields[index]
    if isinstance(index, int) and -len(fields) <= index < len(fields) and is_named_tuple(frame, instance):
        return list(fields.values())[index]
    return special(frame, instance, "__getitem__") or (either(fields.values()) if fields else UNKNOWN)


def declared(frame: Frame, instance: UserInstance) -> dict[str, Type]:
    """Return the attributes that a class and its bases declare, those of bases first."""
    found: dict[str, Type] = {}
    for known in reversed(list(frame.project.lineage(UserClass(instance.module, instance.name)))):
        if isinstance(known, UserClass):
            for (module, name), type_ in frame.project.facts.declared.items():
                owner, _, attribute = name.rpartition(".")
                if (module, owner) == (known.module, known.name):
                    found[attribute] = type_
    return found


def is_named_tuple(frame: Frame, instance: UserInstance) -> bool:
    """Whether a class is a `typing.NamedTuple`."""
    for known in frame.project.lineage(UserClass(instance.module, instance.name)):
        bases = frame.project.facts.bases.get((known.module, known.name), ()) if isinstance(known, UserClass) else ()
        if any(isinstance(base, Package) and base.name.endswith("NamedTuple") for base in bases):
            return True
    return False


def as_row(frame: Frame, type_: Type) -> Type:
    """Convert a named tuple to a row, so that it can be unpacked."""
    found: list[Type] = []
    for member in members(type_):
        is_row = isinstance(member, UserInstance) and is_named_tuple(frame, member)
        if isinstance(member, UserInstance) and is_row:
            found.append(Row(tuple(declared(frame, member).values())))
        elif isinstance(member, UserInstance):
            found.append(Many(iterated(frame, member)))
        else:
            found.append(member)
    return either(found)


def called(frame: Frame, instance: UserInstance) -> Type:
    """Return the result of calling an object."""
    return special(frame, instance, "__call__") or UNKNOWN


def operated(frame: Frame, operator: ast.operator | ast.unaryop, *operands: Type) -> Type:
    """Return the result of an operator if an operand may be an object of a user's class, otherwise `foreign`."""
    names: list[str] = []
    if isinstance(operator, ast.unaryop):
        names = [_UNARY[type(operator)]] if type(operator) in _UNARY else []
    elif type(operator) in _BINARY:
        names = [f"__{prefix}{_BINARY[type(operator)]}__" for prefix in ("", "r", "i")]
    mine = [member for operand in operands for member in members(operand) if isinstance(member, UserInstance)]
    found = [special(frame, member, *names) for member in mine]
    known = [type_ for type_ in found if type_ is not None]
    return either(known) if known else FOREIGN
