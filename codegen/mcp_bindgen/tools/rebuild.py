"""Rebuild what the engine wrote from the few forms that a model has; whatever else there is, is refused."""

import ast
import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp_bindgen.tools.shape import NOT_NULL

_SCALARS = {"str": "str", "bool": "bool", "Any": "Any", "int": "Integer", "float": "Number"}
"""The types of the engine, and those of a model: what is an integer in JSON is decided by JSON Schema."""
_CONTAINERS = frozenset(("list", "dict"))
_BOUNDS = frozenset("ge le gt lt min_length max_length".split())
_IGNORED = (ast.Import, ast.ImportFrom)
_BASE = "ToolModel"


class Unknown(Exception):
    """The engine wrote something that is not known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: its name in Python and on the wire, its type as source text, and what its absence means.

    Attributes:
        type: the type of the values, without that of absence: ``Annotated[str, Field(min_length=1)]``.
        plain: the same for signatures, without what only validation needs: ``str``.
        may_be_absent: whether it is optional; then it `may_be_null`, or None spells its absence.
    """

    name: str
    wire: str
    type: str
    plain: str
    may_be_absent: bool
    may_be_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """One model; `refers` are the other models that its fields mention."""

    name: str
    fields: tuple[Field, ...]
    is_closed: bool = False
    refers: frozenset[str] = frozenset()


def rebuild(module: ast.Module) -> dict[str, Class]:
    """Return the classes of a module by name.

    Raises:
        Unknown: it holds anything but models of the forms that are known.
    """
    nodes = [node for node in module.body if not isinstance(node, _IGNORED) and not _is_call(node)]
    names = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    found: dict[str, Class] = {}
    for node in nodes:
        if not isinstance(node, ast.ClassDef) or not _is_name(node.name):
            raise Unknown(f"no class: {type(node).__name__}")
        found[node.name] = _Reader(names).read(node)
    return found


def _is_call(node: ast.stmt) -> bool:
    """Whether a statement is ``Class.model_rebuild()``, which models here do not need."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="model_rebuild"), args=[], keywords=[])):
            return True
        case _:
            return False


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


class _Reader:
    def __init__(self, classes: set[str]) -> None:
        self._classes = classes
        self._refers: set[str] = set()

    def read(self, node: ast.ClassDef) -> Class:
        bases = [base.id if isinstance(base, ast.Name) else "" for base in node.bases]
        if bases != [_BASE] or node.keywords or node.decorator_list:
            raise Unknown(f"the bases of {node.name}")
        closed = False
        raw: list[tuple[str, Any]] = []
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
                        raise Unknown(f"a default of {name}")
                    raw.append((name, self._field(name, annotation, value is not None)))
                case ast.Assign(targets=[ast.Name(id="model_config")], value=ast.Call() as call):
                    closed = _forbids(call)
                case ast.Pass():
                    pass
                case _:
                    raise Unknown(f"{type(statement).__name__} in {node.name}")
        fields = tuple(_named(field for _, field in raw))
        return Class(name=node.name, fields=fields, is_closed=closed, refers=frozenset(self._refers))

    def _field(self, name: str, annotation: ast.expr, has_default: bool) -> Field:
        wire, not_null = name, False
        inner, bounds = annotation, list[str]()
        match annotation:
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, ast.Call() as call])):
                stated = _keywords(call)
                wire = str(stated.pop("alias", name))
                not_null = stated.pop("json_schema_extra", None) == {NOT_NULL: True}
                bounds = _bounds(stated)
            case _:
                pass
        members = _union(inner)
        kept = [member for member in members if not _is_none(member)]
        nullable = len(kept) < len(members)
        if has_default and not_null:
            nullable = False
        elif has_default:
            nullable = True
        if not kept:
            type_ = plain = "None"
            nullable = False
        else:
            type_ = " | ".join(self._type(member, exact=True) for member in kept)
            plain = " | ".join(dict.fromkeys(self._type(member, exact=False) for member in kept))
        if bounds:
            type_ = f"Annotated[{type_}, Field({', '.join(bounds)})]"
        return Field(name=name, wire=wire, type=type_, plain=plain, may_be_absent=has_default, may_be_null=nullable)

    def _type(self, node: ast.expr, *, exact: bool) -> str:
        match node:
            case ast.Constant(value=None):
                return "None"
            case ast.Name(id=name) if name in _SCALARS:
                return _SCALARS[name] if exact else name
            case ast.Name(id="dict" | "list" as name):
                return f"{name}[str, Any]" if name == "dict" else "list[Any]"
            case ast.Name(id=name) if name in self._classes:
                self._refers.add(name)
                return name
            case ast.BinOp(op=ast.BitOr()):
                return " | ".join(dict.fromkeys(self._type(member, exact=exact) for member in _union(node)))
            case ast.Subscript(value=ast.Name(id="list"), slice=item):
                return f"list[{self._type(item, exact=exact)}]"
            case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[ast.Name(id="str"), item])):
                return f"dict[str, {self._type(item, exact=exact)}]"
            case ast.Subscript(value=ast.Name(id="Literal"), slice=choices):
                return f"Literal[{', '.join(_choices(choices))}]"
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, ast.Call() as call])):
                shown = self._type(inner, exact=exact)
                stated = _keywords(call)
                stated.pop("json_schema_extra", None)
                bounds = _bounds(stated)
                return f"Annotated[{shown}, Field({', '.join(bounds)})]" if bounds and exact else shown
            case _:
                raise Unknown(f"the type {ast.dump(node)[:80]}")


def _union(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_union(node.left), *_union(node.right)]
    return [node]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _choices(node: ast.expr) -> Iterator[str]:
    for choice in node.elts if isinstance(node, ast.Tuple) else [node]:
        value = ast.literal_eval(choice)
        if not isinstance(value, str | int | None):
            raise Unknown("a literal")
        yield repr(value)


def _keywords(call: ast.Call) -> dict[str, Any]:
    if not isinstance(call.func, ast.Name) or call.func.id != "Field" or call.args:
        raise Unknown("metadata")
    found: dict[str, Any] = {}
    for stated in call.keywords:
        if stated.arg is None:
            raise Unknown("metadata")
        found[stated.arg] = ast.literal_eval(stated.value)
    return found


def _bounds(stated: dict[str, Any]) -> list[str]:
    if stated.keys() - _BOUNDS or not all(type(bound) in (int, float) for bound in stated.values()):
        raise Unknown(f"metadata {sorted(stated)}")
    return [f"{name}={int(bound)}" for name, bound in sorted(stated.items())]


def _forbids(call: ast.Call) -> bool:
    stated = {given.arg: ast.literal_eval(given.value) for given in call.keywords}
    if stated.keys() != {"extra"} or stated["extra"] not in ("allow", "forbid"):
        raise Unknown("model_config")
    return bool(stated["extra"] == "forbid")


def _named(fields: Iterator[Field]) -> Iterator[Field]:
    """Give names to fields that no other field has, on the wire or in Python, and no model has for itself."""
    known = tuple(fields)
    taken: set[str] = set()
    for field in known:
        wires = {other.wire for other in known if other is not field}
        name, number = field.name, 2
        if not _is_name(name) or name.startswith("_") or not name.isascii():
            name = "field"
        base = name
        while name in taken or name in wires or name in _model_names():
            name, number = (f"{base}_", 2) if name == base else (f"{base}_{number}", number + 1)
        taken.add(name)
        yield Field(
            name=name,
            wire=field.wire,
            type=field.type,
            plain=field.plain,
            may_be_absent=field.may_be_absent,
            may_be_null=field.may_be_null,
        )


@cache
def _model_names() -> frozenset[str]:
    from pydantic import BaseModel

    return frozenset(dir(BaseModel)) | {"self", "options", "str", "int", "bool", "list", "dict", "float"}
