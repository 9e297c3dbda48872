"""Read annotations: turn the syntax of a type into the scanner's type of its values."""

import ast
from collections.abc import Callable

from mcp_bindgen.impact.types import (
    FOREIGN,
    NOTHING,
    UNKNOWN,
    ClassObject,
    Coming,
    Guard,
    Instance,
    Maker,
    Many,
    Row,
    Scalar,
    Table,
    Type,
    TypeForm,
    Unknown,
    UserClass,
    UserInstance,
    either,
)

_MANY = frozenset("""
    list List set Set frozenset FrozenSet deque Sequence MutableSequence Collection Iterable Iterator AsyncIterable
    AsyncIterator Queue LifoQueue PriorityQueue SimpleQueue ContextVar
    Generator AsyncGenerator AbstractSet KeysView ValuesView AbstractContextManager
    AbstractAsyncContextManager ContextManager AsyncContextManager
    """.split())
_TABLES = frozenset("dict Dict Mapping MutableMapping defaultdict DefaultDict OrderedDict".split())
_COMING = frozenset("Awaitable Coroutine Task Future".split())
_GUARDS = frozenset(("TypeGuard", "TypeIs"))
_SAME = frozenset("Optional Annotated Final ClassVar Required NotRequired ReadOnly".split())

Resolve = Callable[[ast.expr], Type]
"""Resolves a name or a dotted name; returns `UNKNOWN` if it cannot."""


def read_annotation(node: ast.expr, resolve: Resolve) -> Type:
    """Return the type of the values that an annotation describes."""
    match node:
        case ast.Constant(value=None):
            return NOTHING
        case ast.Constant(value=str() as text):
            quoted = parse_quoted(text, node)
            return UNKNOWN if quoted is None else read_annotation(quoted, resolve)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return either((read_annotation(left, resolve), read_annotation(right, resolve)))
        case ast.Name() | ast.Attribute():
            return _named(node, resolve)
        case ast.Subscript(value=value, slice=inner):
            return _generic(value, inner, resolve)
        case _:
            return UNKNOWN


def parse_quoted(text: str, node: ast.expr) -> ast.expr | None:
    """Parse a quoted annotation; its names are located at the quotes. None if it is not an expression."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    for inner in ast.walk(body):
        ast.copy_location(inner, node)
    return body


def _named(node: ast.expr, resolve: Resolve) -> Type:
    found = resolve(node)
    match found:
        case ClassObject(cls=cls):
            return Instance(cls)
        case TypeForm(type=inner):
            return inner
        case UserClass(module=module, name=name):
            return UserInstance(module, name)
        case Unknown():
            return UNKNOWN
        case _:
            return _plain(_last(node))


def _plain(name: str) -> Type:
    """A foreign type without type arguments of interest."""
    if name in _MANY or name == "tuple":
        return Many(UNKNOWN)
    if name in _TABLES:
        return Table(UNKNOWN)
    return UNKNOWN if name in ("Any", "Self") else FOREIGN


def is_generic(name: str) -> bool:
    """Whether a name is that of a generic type of the standard library."""
    return name in _MANY | _TABLES | _COMING | _SAME | _GUARDS | {
        "tuple",
        "Tuple",
        "type",
        "Type",
        "Union",
        "Literal",
        "Callable",
    }


def _generic(head: ast.expr, inner: ast.expr, resolve: Resolve) -> Type:
    arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    name = _last(head)
    if name == "Literal":
        return Scalar(frozenset(), tuple(a.value for a in arguments if isinstance(a, ast.Constant)))
    if name in _GUARDS:
        return Guard(read_annotation(arguments[0], resolve))
    if name == "Callable" and len(arguments) > 1:
        return Maker(read_annotation(arguments[-1], resolve))
    if name in ("tuple", "Tuple"):
        items = [read_annotation(a, resolve) for a in arguments if not _is_ellipsis(a)]
        return Many(items[0]) if len(items) != len(arguments) else Row(tuple(items))
    if name == "Union":
        return either(read_annotation(a, resolve) for a in arguments)
    if name in ("type", "Type"):
        return _class(arguments[0], resolve)
    if name in _SAME:
        found = read_annotation(arguments[0], resolve)
        return either((found, NOTHING)) if name == "Optional" else found
    if name in _MANY:
        return Many(read_annotation(arguments[0], resolve))
    if name in _TABLES:
        return Table(read_annotation(arguments[-1], resolve))
    if name in _COMING:
        return Coming(read_annotation(arguments[-1], resolve))
    return _named(head, resolve)


def _class(node: ast.expr, resolve: Resolve) -> Type:
    found = read_annotation(node, resolve)
    match found:
        case Instance(cls=cls):
            return ClassObject(cls, cls)
        case UserInstance(module=module, name=name):
            return UserClass(module, name)
        case _:
            return TypeForm(found)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _last(node: ast.expr) -> str:
    """The last part of a dotted name, without the underscore of a private alias."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lstrip("_")
