"""Every public name says what it is, what its parameters mean, and which errors it raises."""

import ast
import builtins
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, is_typeddict

import pytest

from support.documents import ROOT
from support.public_api import public_objects

GENERATED = ROOT / "generated" / "mcp_bindings"
ELSEWHERE = re.compile(r"(?i:see|like|those of) `[\w.]+`")
"""A docstring that refers to another one for its parameters and errors."""
CONSTRUCTORS = ("__init__", "__post_init__")
HANDLER = ("params", "ctx")
"""What every handler of a protocol method takes."""
INTERNAL_ERRORS = {"AttributeError", "NotImplementedError", "StopAsyncIteration", "StopIteration"}
"""Errors that belong to Python's own protocols."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """Something public: its docstring, its parameters, and the errors that its own code raises."""

    name: str
    doc: str
    parameters: tuple[str, ...] = ()
    errors: frozenset[str] = frozenset()

    def missing(self) -> Iterator[str]:
        if not self.doc:
            yield f"{self.name}: no docstring"
            return
        if ELSEWHERE.search(self.doc):
            return
        for parameter in self.parameters:
            if not re.search(rf"^\s+\*{{0,2}}{parameter}: |`{parameter}\b", self.doc, re.MULTILINE):
                yield f"{self.name}: parameter {parameter}"
        for error in sorted(self.errors):
            if not re.search(rf"\b{error}\b", self.doc):
                yield f"{self.name}: raises {error}"


def test_the_docstrings_of_the_runtime_are_complete() -> None:
    found = [gap for documented in runtime() for gap in documented.missing()]
    assert found == []


def test_generated_classes_and_methods_have_docstrings() -> None:
    files = [file for file in sorted(GENERATED.rglob("*.py")) if not file.name.startswith("_bridge")]
    found = [
        f"{file.relative_to(GENERATED)}: {name}"
        for file in files
        for name in _undocumented(ast.parse(file.read_text("utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "gaps"),
    [
        ("def f(): ...", ["f: no docstring"]),
        ("def f(a):\n '''Do it.'''", ["f: parameter a"]),
        ("def f(a):\n '''Do it with `a`.'''", []),
        ("def f(a):\n '''Do it.\n\n Args:\n     a: what.\n '''", []),
        ("def f():\n '''Do it.'''\n raise ValueError", ["f: raises ValueError"]),
        ("def f():\n '''Do it.\n\n Raises:\n     ValueError: it is wrong.\n '''\n raise ValueError('x')", []),
        ("def f():\n '''Do it.'''\n def g():\n  raise ValueError\n return g", []),
        ("def f(a):\n '''Do it; see `Other.f`.'''", []),
    ],
)
def test_gaps_are_found(code: str, gaps: list[str]) -> None:
    names: dict[str, Any] = {}
    exec(code, names)
    assert [*_function("f", names["f"], code).missing()] == gaps


def runtime() -> Iterator[Documented]:
    """Iterate over what the runtime makes public: functions, classes, and their methods and properties."""
    seen: set[object] = set()
    for name, value in public_objects().items():
        if inspect.isfunction(value):
            yield _function(name, value)
        elif inspect.isclass(value) and value not in seen:
            seen.add(value)
            yield _class(name, value)
            yield from _members(name, value)


def _class(name: str, cls: type[Any]) -> Documented:
    own = vars(cls)
    parameters: tuple[str, ...] = ()
    constructors = [own[method] for method in CONSTRUCTORS if inspect.isfunction(own.get(method))]
    if issubclass(cls, Enum) or getattr(cls, "_is_protocol", False):
        constructors = []
    elif is_typeddict(cls) or hasattr(cls, "_fields"):
        parameters = tuple(inspect.get_annotations(cls))
    elif is_dataclass(cls):
        stated = inspect.get_annotations(cls)
        parameters = tuple(field.name for field in fields(cls) if field.init and field.name in stated)
    else:
        parameters = _parameters(own["__init__"]) if "__init__" in own and constructors else ()
    docs = [cls.__doc__ or "", *(each.__doc__ or "" for each in constructors)]
    errors = frozenset(error for each in constructors for error in _raised(each))
    return Documented(name=name, doc="\n".join(map(inspect.cleandoc, docs)), parameters=parameters, errors=errors)


def _members(name: str, cls: type[Any]) -> Iterator[Documented]:
    bases = [base for base in cls.__mro__ if base.__module__.startswith("mcp_runtime")]
    for member in {member for base in bases for member in vars(base) if not member.startswith("_")}:
        value: Any = inspect.getattr_static(cls, member)
        value = getattr(value, "__func__", value)
        if inspect.isfunction(value):
            yield _function(f"{name}.{member}", value, doc=inspect.getdoc(getattr(cls, member)))
        elif isinstance(value, property):
            yield Documented(name=f"{name}.{member}", doc=inspect.getdoc(value) or "", errors=_raised(value.fget))


def _function(name: str, function: Any, code: str = "", doc: str | None = None) -> Documented:
    wrapped = inspect.unwrap(function)
    return Documented(
        name=name,
        doc=doc or inspect.getdoc(function) or "",
        parameters=_parameters(wrapped),
        errors=_raised(wrapped, code),
    )


def _parameters(function: Any) -> tuple[str, ...]:
    names = inspect.signature(function).parameters
    public = tuple(name for name in names if name not in ("self", "cls") and not name.startswith("_"))
    return () if public == HANDLER else public


def _raised(function: Any, code: str = "") -> frozenset[str]:
    """Return the names of the public errors that a function's own body raises."""
    place = function.__code__
    if not code and place.co_filename.startswith("<"):
        return frozenset()  # A dataclass wrote it.
    found = _definitions(code or Path(place.co_filename).read_text("utf-8"))[place.co_firstlineno]
    return frozenset(name for name in _raises(found, top=True) if name in _errors() and name not in INTERNAL_ERRORS)


@cache
def _definitions(code: str) -> Mapping[int, ast.AST]:
    """Return the functions in a file by their first lines, decorators included."""
    functions = (
        node for node in ast.walk(ast.parse(code)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    return {min([each.lineno, *(decorator.lineno for decorator in each.decorator_list)]): each for each in functions}


def _raises(node: ast.AST, *, top: bool = False) -> Iterator[str]:
    if not top and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
            yield name
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _raises(child)


@cache
def _errors() -> Mapping[str, object]:
    public = {name.rpartition(".")[2]: value for name, value in public_objects().items()}
    known = vars(builtins) | public
    return {name: value for name, value in known.items() if inspect.isclass(value) and issubclass(value, Exception)}


def _undocumented(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                yield node.name
            for method in node.body:
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and not method.name.startswith("_"):
                    is_overload = any(
                        isinstance(each, ast.Name) and each.id.endswith("overload") for each in method.decorator_list
                    )
                    if not is_overload and not ast.get_docstring(method):
                        yield f"{node.name}.{method.name}"
