"""What a scan knows of the user's code as a whole: its modules, and what was learned of them so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_bindgen.impact.modules import Modules
from mcp_bindgen.impact.surface import CALLERS, CONTEXTS, HANDLERS, StubMethod, Surface
from mcp_bindgen.impact.types import UNKNOWN, ClassObject, Type, UserClass, either, limited, members
from mcp_bindgen.impact.uses import Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of the user's: its parameters in order, and what it returns if it says so."""

    parameters: tuple[str, ...]
    is_async: bool
    kind: str = ""
    returns: Type | None = None


@dataclass(slots=True)
class Facts:
    """What was learned of the user's code; each pass over it may add something."""

    variables: dict[tuple[str, str], Type] = field(default_factory=dict[tuple[str, str], Type])
    returns: dict[tuple[str, str], Type] = field(default_factory=dict[tuple[str, str], Type])
    parameters: dict[tuple[str, str], Type] = field(default_factory=dict[tuple[str, str], Type])
    attributes: dict[tuple[str, str], Type] = field(default_factory=dict[tuple[str, str], Type])
    declared: dict[tuple[str, str], Type] = field(default_factory=dict[tuple[str, str], Type])
    bases: dict[tuple[str, str], tuple[Type, ...]] = field(default_factory=dict[tuple[str, str], tuple[Type, ...]])
    functions: dict[tuple[str, str], Function] = field(default_factory=dict[tuple[str, str], Function])
    changed: bool = False
    _seen: set[tuple[tuple[str, str], tuple[Type, ...]]] = field(
        default_factory=set[tuple[tuple[str, str], tuple[Type, ...]]]
    )

    def learn(self, table: dict[tuple[str, str], Type], key: tuple[str, str], type_: Type) -> None:
        """Add what a value may be."""
        known = table.get(key)
        joined = limited(type_ if known is None else either((known, type_)))
        if joined != known:
            table[key] = joined
            self.changed = True

    def learn_bases(self, key: tuple[str, str], bases: tuple[Type, ...]) -> None:
        """Take down what a class inherits; two classes of one name may take turns."""
        self.bases[key] = bases
        if (key, bases) not in self._seen:
            self._seen.add((key, bases))
            self.changed = True


@dataclass(slots=True, kw_only=True)
class Project:
    """A scan: the bindings that the code is written for, its modules, and what is known and found so far."""

    surface: Surface
    packages: frozenset[str]
    modules: Modules
    facts: Facts = field(default_factory=Facts)
    uses: Uses = field(default_factory=Uses)

    def is_bindings(self, name: str) -> bool:
        """Whether a dotted name is that of the bindings, or of one of their modules."""
        return any(name == package or name.startswith(f"{package}.") for package in self.packages)

    def leads_to_bindings(self, name: str) -> bool:
        """Whether a dotted name is that of a package around the bindings."""
        return any(package.startswith(f"{name}.") for package in self.packages)

    def lineage(self, class_: UserClass) -> Iterator[UserClass | ClassObject]:
        """Iterate over a class and what it inherits, nearest first; generated classes end a line."""
        seen: set[Type] = set()
        pending: list[Type] = [class_]
        while pending:
            current = pending.pop(0)
            if current in seen:
                continue
            seen.add(current)
            if isinstance(current, UserClass):
                yield current
                for base in self.facts.bases.get((current.module, current.name), ()):
                    pending += members(base)
            elif isinstance(current, ClassObject):
                yield current

    def is_open(self, class_: UserClass) -> bool:
        """Whether a class inherits something that nobody knows."""
        return any(
            UNKNOWN in members(base)
            for known in self.lineage(class_)
            if isinstance(known, UserClass)
            for base in self.facts.bases.get((known.module, known.name), ())
        )

    def generated_base(self, class_: UserClass) -> str | None:
        """Return the model that a class of the user's inherits, None if there is none."""
        found = (known.cls for known in self.lineage(class_) if isinstance(known, ClassObject))
        return next((cls for cls in found if cls not in (*CALLERS, *HANDLERS, *CONTEXTS)), None)

    def handler(self, class_: UserClass, name: str) -> StubMethod | None:
        """Return the handler of a generated class that a method of a class of the user's overrides."""
        for known in self.lineage(class_):
            if isinstance(known, ClassObject) and known.cls in HANDLERS and name in self.surface.stubs[known.cls]:
                return self.surface.stubs[known.cls][name]
        return None
