"""What a scan of names looks for, and what it finds: uses, questions on types, and what nothing can decide."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mcp_bindgen.impact.bindings import CALLERS, HANDLERS, PythonName
from mcp_bindgen.impact.marks import Arguments, Marks, UseKind
from mcp_bindgen.impact.modules import Module, Modules
from mcp_bindgen.impact.report import Spot, Touched, Unresolved


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """A possible use of something that changed: it is one if the type of `asked` is unknown.

    If the type is known, it is a use where a checker cannot see it (`hidden`): a computed name, say.
    """

    module: Module
    asked: ast.expr
    spot: Spot
    names: tuple[PythonName, ...]
    kind: UseKind
    hidden: bool = False


@dataclass(slots=True)
class Found:
    """What a scan found; `used` are the modules that name the bindings."""

    touched: list[Touched] = field(default_factory=list[Touched])
    questions: list[Question] = field(default_factory=list[Question])
    unresolved: list[Unresolved] = field(default_factory=list[Unresolved])
    used: set[Module] = field(default_factory=set[Module])


class Watched:
    """The names that a scan looks for: those of everything that the changes affect."""

    def __init__(self, marks: Marks, modules: Modules, packages: frozenset[str]) -> None:
        self.marks, self.modules, self.packages = marks, modules, packages
        package = marks.old.package
        self.records = {method.name: method.method for method in package.methods}
        self.exports = {export.name for export in package.exports} | {"ERRORS", *self.records}
        self.codes = {str(error.code): marks.old.errors[error.name] for error in package.errors}
        self.values = dict(marks.values())

    @cached_property
    def attributes(self) -> Mapping[str, tuple[PythonName, ...]]:
        """Attribute -> the fields and stub methods of that name that a change concerns."""
        found: dict[str, list[PythonName]] = {}
        for name in self.marks.fields:
            found.setdefault(name.member, []).append(name)
        for owner in CALLERS:
            for member in self.marks.old.stubs[owner]:
                name = PythonName(owner, member)
                if self.marks.of(name, UseKind.CALL) or self.arguments(name):
                    found.setdefault(member, []).append(name)
        for owner in HANDLERS:
            for member in self.marks.old.stubs[owner]:
                if self.marks.of(PythonName(owner, member), UseKind.DELEGATE):
                    found.setdefault(member, []).append(PythonName(owner, member))
        return {member: tuple(names) for member, names in found.items()}

    def arguments(self, owner: PythonName) -> Arguments:
        """Return how the changes affect the arguments of a constructor or a stub."""
        if owner not in self._arguments:
            self._arguments[owner] = self.marks.arguments(owner)
        return self._arguments[owner]

    @cached_property
    def _arguments(self) -> dict[PythonName, Arguments]:
        return {}

    def heirs(self, cls: str) -> frozenset[str]:
        """Return the classes that inherit a class."""
        old = self.marks.old
        return frozenset(name for name in old.classes if cls in old.ancestors(name))

    @cached_property
    def keywords(self) -> Mapping[str, tuple[PythonName, ...]]:
        """Wire name or attribute -> the fields of that name whose writers a change affects."""
        found: dict[str, list[PythonName]] = {}
        for name in self.marks.fields:
            known = self.marks.old.field(name.owner, name.member)
            for spelled in {name.member, known.wire_name if known else name.member}:
                found.setdefault(spelled, []).append(name)
        return {spelled: tuple(names) for spelled, names in found.items()}
