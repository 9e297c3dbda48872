"""The results of methods of models, lists and mappings."""

import ast

from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.python_names import RECORDS
from mcp_bindgen.impact.types import (
    FOREIGN,
    UNKNOWN,
    ClassObject,
    Dump,
    Instance,
    Many,
    Records,
    Row,
    Table,
    Type,
    UserClass,
    UserInstance,
    either,
)

_MADE = frozenset(
    "model_validate model_validate_json model_validate_strings model_construct parse_obj parse_raw".split()
)
_COPIED = frozenset("model_copy copy __copy__ __deepcopy__".split())


def method_result(
    frame: Frame, receiver: Type, name: str, first: tuple[object, ast.AST], arguments: tuple[Type, ...]
) -> Type:
    """Return the result of a method of a value.

    Args:
        frame: where the call is.
        receiver: the value.
        name: the method.
        first: the first argument if it is a constant, and where the call is.
        arguments: the types of the positional arguments.
    """
    match receiver:
        case Instance() | UserInstance():
            return _of_model(receiver, name)
        case ClassObject(cls=cls):
            return Instance(cls) if name in _MADE else FOREIGN
        case UserClass(module=module, name=cls):
            return UserInstance(module, cls) if name in _MADE else FOREIGN
        case Many(item=item):
            return item if name in ("pop", "popleft", "get", "get_nowait", "__getitem__") else _copied(receiver, name)
        case Row(items=items):
            return either(items) if name == "__getitem__" else FOREIGN
        case Table(value=value):
            return _of_table(value, name, arguments) or _copied(receiver, name)
        case Records():
            _look_up(frame, name, first)
            return FOREIGN
        case Dump():
            if name in ("get", "pop", "setdefault") and isinstance(first[0], str):
                frame.unresolved(first[0], "it is a key of a dump", first[1])
            return Dump() if name in ("get", "pop", "setdefault", "copy") else UNKNOWN
        case _:
            return UNKNOWN


def _of_model(receiver: Type, name: str) -> Type:
    if name in _COPIED or name in _MADE:
        return receiver
    return Dump() if name in ("model_dump", "dict") else FOREIGN


def _copied(receiver: Type, name: str) -> Type:
    return receiver if name == "copy" else FOREIGN


def _of_table(value: Type, name: str, arguments: tuple[Type, ...]) -> Type | None:
    if name in ("get", "pop", "setdefault"):
        return either((value, *arguments[1:]))
    return {"values": Many(value), "items": Many(Row((FOREIGN, value))), "keys": Many(FOREIGN)}.get(name)


def _look_up(frame: Frame, name: str, first: tuple[object, ast.AST]) -> None:
    constant, node = first
    if name == "get" and isinstance(constant, str):
        frame.lookup(constant, node)
    elif name == "get":
        frame.unresolved(RECORDS, "the name of the method is computed", node)
