"""Check declarations: every name has a definition, bases are objects, and no definition is circular."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ir.names import closure, references
from mcp_bindgen.ir.nodes import AllOf, ListOf, Literal, MapOf, Object, Primitive, Ref, Shape, Union
from mcp_bindgen.ir.spell import is_any
from mcp_bindgen.merge.flatten import Declarations, Flat, flatten, resolve


def check(declarations: Declarations, source: str, diagnostics: Diagnostics) -> None:
    """Report undefined references, bases that are not objects, and circular definitions."""
    checker = _Checker(declarations, source, diagnostics)
    for declaration in declarations.values():
        checker.check(declaration)


class _Checker:
    def __init__(self, declarations: Declarations, source: str, diagnostics: Diagnostics) -> None:
        self._declarations = declarations
        self._source = source
        self._diagnostics = diagnostics
        self._flat: dict[str, Flat | None] = {}
        self._has_circle = self._find_circle()

    def check(self, declaration: Declaration) -> None:
        where = Location(source=self._source, pointer=declaration.pointer or f"/{declaration.name}")
        for name in sorted(set(references(declaration.type)) - self._declarations.keys()):
            self._diagnostics.error(where, f"there is no definition {name!r}")
        for base in declaration.type.bases if isinstance(declaration.type, Object) else ():
            if base.name in self._declarations and not self._can_be_base(Ref(name=base.name)):
                message = f"{declaration.name!r} extends {base.name!r}, which is not an object type"
                self._diagnostics.error(where, message)
        if self._has_circle and declaration.name in self._defining(declaration.name):
            self._diagnostics.error(where, f"{declaration.name!r} is defined in terms of itself; break the cycle")

    def _can_be_base(self, base: Ref) -> bool:
        return is_any(resolve(base, self._declarations)) or flatten(base, self._declarations, self._flat) is not None

    def _find_circle(self) -> bool:
        """Whether any type is circular: a single pass, so that valid input is not walked once per name."""
        graph = {name: set(_immediate(declaration.type)) for name, declaration in self._declarations.items()}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            return True
        return False

    def _defining(self, name: str) -> set[str]:
        """The names that must be known before this type is: aliased types, union members, bases."""
        return closure(self._direct(name), self._direct)

    def _direct(self, name: str) -> set[str]:
        declaration = self._declarations.get(name)
        return set(_immediate(declaration.type)) if declaration else set()


def _immediate(shape: Shape) -> Iterator[str]:
    match shape:
        case Ref(name=name):
            yield name
        case Union(members=members) | AllOf(members=members):
            for member in members:
                yield from _immediate(member)
        case Object(bases=bases):
            yield from (base.name for base in bases)
        case Primitive() | Literal() | ListOf() | MapOf():
            return
