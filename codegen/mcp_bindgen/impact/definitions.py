"""Read the user's functions and classes: their parameters, and what they override."""

import ast
from collections.abc import Iterator
from typing import TypeAlias

from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.project import Function
from mcp_bindgen.impact.reader import StatementReader
from mcp_bindgen.impact.surface import StubMethod
from mcp_bindgen.impact.types import (
    FOREIGN,
    UNKNOWN,
    Environment,
    Many,
    Table,
    Type,
    Unknown,
    UserClass,
    UserFunction,
    UserInstance,
    either,
)
from mcp_bindgen.impact.uses import UseKind

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_KINDS = {"property": "property", "cached_property": "property", "staticmethod": "static", "classmethod": "class"}


def define_function(statements: StatementReader, node: Definition) -> None:
    """Read a function: its decorators, parameters and body, and what it returns."""
    frame = statements.frame
    expressions = statements.reader
    for decorator in node.decorator_list:
        expressions.type_of(decorator)
    qualname = f"{frame.qualname}.{node.name}" if frame.qualname else node.name
    key = (frame.module.id, qualname)
    in_class = frame.class_ is not None and frame.qualname == frame.class_.name
    handler = frame.project.handler(frame.class_, node.name) if in_class and frame.class_ is not None else None
    if handler is not None:
        frame.use(UseKind.HANDLE, handler.name, node)
    kind = next((_KINDS[name] for name in _decorators(node) if name in _KINDS), "")
    returns = expressions.annotation(node.returns) if node.returns is not None else None
    if isinstance(returns, Unknown):
        returns = None
    frame.project.facts.functions[key] = Function(
        parameters=tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        kind=kind,
        returns=returns,
    )
    plain = kind == "" and _is_transparent(node)
    if not in_class:
        frame.env.bind(node.name, UserFunction(*key) if plain else UNKNOWN)
    inner = Frame(
        project=frame.project,
        module=frame.module,
        env=Environment(),
        outer=frame.outer if in_class else (*frame.outer, frame.env),
        qualname=qualname,
        class_=frame.class_,
    )
    for name, type_ in _parameters(statements, node, key, handler):
        inner.env.bind(name, type_)
    body = statements.within(inner)
    body.block(node.body)
    if returns is None:
        facts = frame.project.facts
        result = Many(either(inner.yielded)) if inner.yielded else either(inner.returned) if inner.returned else FOREIGN
        if node.returns is not None and result == FOREIGN:
            result = UNKNOWN  # the annotation of its result is not understood
        facts.learn(facts.returns, key, result)


def _is_transparent(node: Definition) -> bool:
    """Whether the decorators leave the function's result unchanged."""
    return all(name in _TRANSPARENT for name in _decorators(node))


_TRANSPARENT = frozenset(
    "asynccontextmanager contextmanager cache lru_cache wraps override overload final fixture abstractmethod".split()
)


def _decorators(node: Definition) -> Iterator[str]:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        yield called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _parameters(
    statements: StatementReader, node: Definition, key: tuple[str, str], handler: StubMethod | None
) -> Iterator[tuple[str, Type]]:
    frame = statements.frame
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    defaults = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    for default in defaults:
        statements.reader.type_of(default)
    in_class = frame.class_ is not None and frame.qualname == frame.class_.name
    static = "staticmethod" in _decorators(node)
    expected = list(handler.signatures[0].parameters.values()) if handler is not None else []
    for i, argument in enumerate(every):
        if argument.annotation is not None:
            type_ = statements.reader.annotation(argument.annotation)
        elif in_class and i == 0 and not static and frame.class_ is not None:
            is_class = "classmethod" in _decorators(node) or node.name in ("__new__", "__init_subclass__")
            type_ = frame.class_ if is_class else UserInstance(frame.class_.module, frame.class_.name)
        elif 0 < i <= len(expected):
            type_ = expected[i - 1]
        else:
            type_ = frame.project.facts.parameters.get((key[0], f"{key[1]}.{argument.arg}"), UNKNOWN)
        yield argument.arg, type_
    if arguments.vararg is not None:
        annotation = arguments.vararg.annotation
        yield arguments.vararg.arg, Many(statements.reader.annotation(annotation) if annotation else UNKNOWN)
    if arguments.kwarg is not None:
        annotation = arguments.kwarg.annotation
        yield arguments.kwarg.arg, Table(statements.reader.annotation(annotation) if annotation else UNKNOWN)


def define_class(statements: StatementReader, node: ast.ClassDef) -> None:
    """Read a class: its bases, attributes and methods."""
    frame = statements.frame
    expressions = statements.reader
    for decorator in node.decorator_list:
        expressions.type_of(decorator)
    bases = tuple(expressions.type_of(base) for base in node.bases)
    for keyword in node.keywords:
        expressions.type_of(keyword.value)
    qualname = f"{frame.qualname}.{node.name}" if frame.qualname else node.name
    class_ = UserClass(frame.module.id, qualname)
    facts = frame.project.facts
    facts.learn_bases((class_.module, class_.name), bases)
    frame.env.bind(node.name, class_)
    inner = Frame(
        project=frame.project,
        module=frame.module,
        env=frame.env.copy(),
        outer=(*frame.outer, frame.env),
        qualname=qualname,
        class_=class_,
    )
    statements.within(inner).block(node.body)
    for name, type_ in inner.env.types.items():
        if "." not in name and frame.env.types.get(name) != type_:
            facts.learn(facts.attributes, (class_.module, f"{qualname}.{name}"), type_)
