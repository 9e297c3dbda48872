"""The place in the code where the scanner is, and what it notes there."""

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
    """A function, class or module that is being read: its names, the names around it, and what it returns."""

    project: Project
    module: Module
    env: Environment
    outer: tuple[Environment, ...] = ()
    qualname: str = ""
    class_: UserClass | None = None
    returned: list[Type] = field(default_factory=list[Type])
    yielded: list[Type] = field(default_factory=list[Type])
    taking: bool = False
    """Whether what is read says of which class objects are: an annotation, a pattern, `isinstance`."""
    shared: set[str] = field(default_factory=set[str])
    """Names that the code declares global or nonlocal."""

    @contextmanager
    def take(self) -> Generator[None]:
        """Read something that says of which class objects are."""
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
        """Note a use of a name."""
        self.project.uses.found.setdefault(Use(spot=self.spot(node), kind=kind, name=name))

    def passes(self, name: PythonName, node: ast.keyword | ast.expr, given: Type) -> None:
        """Note that a member gets a value, and which constant that is if it shows."""
        value = node.value if isinstance(node, ast.keyword) else node
        constant = value.value if isinstance(value, ast.Constant) else None
        use = Use(spot=self.spot(node), kind=UseKind.PASS, name=name, value=constant, given=given)
        self.project.uses.found.setdefault(use)
        if isinstance(constant, str):
            self.value(name, constant, node)

    def value(self, name: PythonName, value: object, node: ast.AST) -> None:
        """Note that a constant is used as a value of a member."""
        self.project.uses.found.setdefault(Use(spot=self.spot(node), kind=UseKind.VALUE, name=name, value=value))
        if name.member == "method" and isinstance(value, str):
            self.lookup(value, node)

    def values(self, type_: Type, value: object, node: ast.AST) -> None:
        """Note that a constant is used as a value of whatever a value was read from."""
        for member in members(type_):
            if isinstance(member, Scalar):
                for origin in sorted(member.origins):
                    self.value(origin, value, node)

    def lookup(self, method: str, node: ast.AST) -> None:
        """Note that a method of the protocol is used by its name."""
        if method in self.project.surface.methods:
            self.use(UseKind.LOOKUP, PythonName(RECORDS, method), node)

    def builds(self, name: PythonName, passed: frozenset[str] | None, node: ast.AST) -> None:
        """Note that an object or a request is built; `passed` is None if its arguments cannot be seen."""
        use = Use(spot=self.spot(node), kind=UseKind.BUILD, name=name, passed=passed)
        self.project.uses.found.setdefault(use)

    def unresolved(self, name: str, reason: str, node: ast.AST) -> None:
        """Note what may be a use, if a change concerns anything of that name."""
        if name in self.project.uses.watched:
            self.project.uses.unresolved.setdefault(Unresolved(self.spot(node), name, reason))


def dotted(node: ast.expr) -> str | None:
    """Spell a name or a chain of attributes, None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return None
