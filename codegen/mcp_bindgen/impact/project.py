"""The state of a scan: the user's modules, and what was learned about them so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_bindgen.impact.modules import Modules
from mcp_bindgen.impact.surface import CALLERS, CONTEXTS, HANDLERS, StubMethod, Surface
from mcp_bindgen.impact.types import UNKNOWN, ClassObject, Type, UserClass, either, limited, members
from mcp_bindgen.impact.uses import Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A user's function: its parameters in order, and its declared return type, if any."""

    parameters: tuple[str, ...]
    is_async: bool
    kind: str = ""
    returns: Type | None = None


@dataclass(slots=True)
class Facts:
    """What was learned about the user's code; each pass may add to it."""

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
        """Add a possible type of a value."""
        known = table.get(key)
        joined = limited(type_ if known is None else either((known, type_)))
        if joined != known:
            table[key] = joined
            self.changed = True

    def learn_bases(self, key: tuple[str, str], bases: tuple[Type, ...]) -> None:
        """Record the bases of a class; a name may be bound to different classes in turn."""
        self.bases[key] = bases
        if (key, bases) not in self._seen:
            self._seen.add((key, bases))
            self.changed = True


@dataclass(slots=True, kw_only=True)
class Project:
    """A scan: the bindings that the code uses, its modules, and what is known and found so far."""

    surface: Surface
    packages: frozenset[str]
    modules: Modules
    facts: Facts = field(default_factory=Facts)
    uses: Uses = field(default_factory=Uses)

    def is_bindings(self, name: str) -> bool:
        """Whether a dotted name is the bindings package or one of its modules."""
        return any(name == package or name.startswith(f"{package}.") for package in self.packages)

    def leads_to_bindings(self, name: str) -> bool:
        """Whether a dotted name is a parent package of the bindings."""
        return any(package.startswith(f"{name}.") for package in self.packages)

    def lineage(self, class_: UserClass) -> Iterator[UserClass | ClassObject]:
        """Iterate over a class and its bases, nearest first, up to generated classes."""
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
        """Whether a class has an unknown base."""
        return any(
            UNKNOWN in members(base)
            for known in self.lineage(class_)
            if isinstance(known, UserClass)
            for base in self.facts.bases.get((known.module, known.name), ())
        )

    def generated_base(self, class_: UserClass) -> str | None:
        """Return the model that a user's class inherits, or None."""
        found = (known.cls for known in self.lineage(class_) if isinstance(known, ClassObject))
        return next((cls for cls in found if cls not in (*CALLERS, *HANDLERS, *CONTEXTS)), None)

    def handler(self, class_: UserClass, name: str) -> StubMethod | None:
        """Return the handler of a generated class that a method of a user's class overrides."""
        for known in self.lineage(class_):
            if isinstance(known, ClassObject) and known.cls in HANDLERS and name in self.surface.stubs[known.cls]:
                return self.surface.stubs[known.cls][name]
        return None
