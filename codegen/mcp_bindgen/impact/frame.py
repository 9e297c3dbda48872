"""The scanner's place in the code, and what it records there."""

import ast
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mcp_bindgen.impact.modules import Module
from mcp_bindgen.impact.project import Project
from mcp_bindgen.impact.python_names import RECORDS, PythonName
from mcp_bindgen.impact.types import Environment, Scalar, Type, UserClass, members
from mcp_bindgen.impact.uses import Spot, Unresolved, Use, UseKind


@dataclass(slots=True, kw_only=True)
class Frame:
    """A function, class or module being read: its names, the enclosing names, and its return type."""

    project: Project
    module: Module
    env: Environment
    outer: tuple[Environment, ...] = ()
    qualname: str = ""
    class_: UserClass | None = None
    returned: list[Type] = field(default_factory=list[Type])
    yielded: list[Type] = field(default_factory=list[Type])
    taking: bool = False
    """Whether the scanner is reading a statement about types: an annotation, a pattern, `isinstance`."""
    shared: set[str] = field(default_factory=set[str])
    """Names that the code declares global or nonlocal."""

    @contextmanager
    def take(self) -> Generator[None]:
        """Read a statement about the types of objects."""
        kept, self.taking = self.taking, True
        try:
            yield
        finally:
            self.taking = kept

    def spot(self, node: ast.AST) -> Spot:
        """Return the place of a node in its file."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return Spot(self.module.source.path, line, column + 1)

    def use(self, kind: UseKind, name: PythonName, node: ast.AST) -> None:
        """Record a use of a name."""
        self.project.uses.found.setdefault(Use(spot=self.spot(node), kind=kind, name=name))

    def passes(self, name: PythonName, node: ast.keyword | ast.expr, given: Type) -> None:
        """Record that a property is set, with the value if it is a constant."""
        value = node.value if isinstance(node, ast.keyword) else node
        constant = value.value if isinstance(value, ast.Constant) else None
        use = Use(spot=self.spot(node), kind=UseKind.PASS, name=name, value=constant, given=given)
        self.project.uses.found.setdefault(use)
        if isinstance(constant, str):
            self.value(name, constant, node)

    def value(self, name: PythonName, value: object, node: ast.AST) -> None:
        """Record that a constant is used as a value of a property."""
        self.project.uses.found.setdefault(Use(spot=self.spot(node), kind=UseKind.VALUE, name=name, value=value))
        if name.member == "method" and isinstance(value, str):
            self.lookup(value, node)

    def values(self, type_: Type, value: object, node: ast.AST) -> None:
        """Record that a constant is used as a value of the properties that another value was read from."""
        for member in members(type_):
            if isinstance(member, Scalar):
                for origin in sorted(member.origins):
                    self.value(origin, value, node)

    def lookup(self, method: str, node: ast.AST) -> None:
        """Record that a protocol method is used by name."""
        if method in self.project.surface.methods:
            self.use(UseKind.LOOKUP, PythonName(RECORDS, method), node)

    def builds(self, name: PythonName, passed: frozenset[str] | None, node: ast.AST) -> None:
        """Record that an object or a request is constructed; `passed` is None if its arguments are unknown."""
        use = Use(spot=self.spot(node), kind=UseKind.BUILD, name=name, passed=passed)
        self.project.uses.found.setdefault(use)

    def unresolved(self, name: str, reason: str, node: ast.AST) -> None:
        """Record a possible use, if a change concerns anything of that name."""
        if name in self.project.uses.watched:
            self.project.uses.unresolved.setdefault(Unresolved(self.spot(node), name, reason))


def dotted(node: ast.expr) -> str | None:
    """Return a name or a chain of attributes as text, None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return None
