"""Decide which module of a generated package contains a definition: the one where a reader looks for it.

1. An inline object goes with the definition that contains it.
2. A definition that no method reaches goes to `messages`: the frames, and the unions over all messages.
3. A definition that only one feature's methods reach goes to the feature's module: the first segment of their names, or
   the second if the first is taken (``server/discover`` to `discover`).
4. A definition that several features reach goes to the module of its `@category` (``tools/list`` to `tools`,
   ``Content`` to `content`), unless that names a feature that does not reach it itself.

Modules never import each other in a cycle. So a definition without a module by these rules, or that would close a cycle
there, goes to the lowest module that uses it, otherwise to `common`, otherwise to the highest module that it needs.
Definitions that fewer features reach are placed first, since the others are shared anyway. See docs/decisions/0003.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from mcp_bindgen.emit.python.names import MAX_LENGTH, identifier, snake
from mcp_bindgen.ir.names import closure
from mcp_bindgen.ir.nodes import Definition, Direction, Protocol

COMMON = "common"
MESSAGES = "messages"
RESERVED = frozenset((COMMON, MESSAGES, "binding", "client", "constants", "errors", "methods", "models", "server"))

Needs = Mapping[str, Sequence[str]]
"""The names in the Python statement of each definition."""


def categories(protocols: Iterable[Protocol]) -> dict[str, str]:
    """Return the `@category` of each definition, from the first of the protocols that states one."""
    found: dict[str, str] = {}
    for definition in chain.from_iterable(protocol.definitions.values() for protocol in protocols):
        if definition.category:
            found.setdefault(definition.name, definition.category)
    return found


def assign_modules(protocol: Protocol, needs: Needs, released: Mapping[str, str]) -> dict[str, str]:
    """Name the module of every definition of a protocol.

    `released` are the categories in released revisions, for definitions without one in the protocol itself.
    """
    areas = _areas(protocol, needs)
    features = frozenset(chain.from_iterable(areas.values()))
    wishes = {name: _wish(name, protocol.definitions, areas, features, released) for name in needs}

    def precedence(name: str) -> tuple[int, int]:
        wish, reach = wishes[name], len(areas[name])
        return (0, 0) if reach < 2 else (reach, 0 if wish == COMMON else 1 if wish in features else 2)

    users_first = _users_first(needs)
    layout = _Layout(needs, users_first)
    for name in sorted(users_first, key=precedence):
        if wishes[name] and layout.fits(name, wishes[name]):
            layout.put(name, wishes[name])
    for name in reversed(users_first):
        if name not in layout.modules:
            layout.put(name, next(module for module in layout.others(name) if layout.fits(name, module)))
    return {name: layout.modules[name] for name in protocol.definitions}


def _areas(protocol: Protocol, needs: Needs) -> dict[str, set[str]]:
    """Return the features whose methods reach each definition."""
    areas: dict[str, set[str]] = {name: set() for name in needs}
    for method in protocol.methods:
        # Alternative results are rare: definitions that only they reach are loaded when one arrives. The result of an
        # embedded request is part of the params of another request.
        result = None if method.direction is Direction.EMBEDDED else method.result
        roots = {root for root in (method.message, method.params, result) if root}
        for name in closure(roots, needs.__getitem__):
            areas[name].add(_module(method.name))
    return areas


def _wish(
    name: str,
    definitions: Mapping[str, Definition],
    areas: Mapping[str, set[str]],
    features: Collection[str],
    released: Mapping[str, str],
) -> str:
    """Return the module in which a reader looks for a definition; empty if unknown."""
    definition = definitions[name]
    holder = definition.holder.partition(".")[0]
    if holder and holder in definitions:
        return _wish(holder, definitions, areas, features, released)
    if len(areas[name]) < 2:
        return next(iter(areas[name]), MESSAGES)
    category = definition.category or released.get(name, "")
    home = _module(category, {COMMON}) if category else ""
    return home if home in areas[name] or home not in features else ""


def _module(path: str, known: Iterable[str] = ()) -> str:
    """Name a module after the first segment of a method or of a category, or the next if that is a module's name."""
    names = [identifier(snake(part[:MAX_LENGTH]).removesuffix("_types")) for part in path.split("/")]
    free = (name for name in names if name not in RESERVED.difference(known))
    return next(free, f"{names[0]}_")


def _users_first(needs: Needs) -> list[str]:
    """Sort definitions so that each precedes its dependencies, except in cycles."""
    done: list[str] = []
    seen: set[str] = set()
    pending = [(name, False) for name in needs]
    while pending:
        name, is_left = pending.pop()
        if is_left:
            done.append(name)
        elif name not in seen:
            seen.add(name)
            pending += [(name, True), *((other, False) for other in needs[name])]
    return done[::-1]


class _Layout:
    """The modules of the definitions placed so far, and their dependencies."""

    def __init__(self, needs: Needs, users_first: Sequence[str]) -> None:
        users: dict[str, list[str]] = {name: [] for name in needs}
        for name, needed in needs.items():
            for other in needed:
                users[other].append(name)
        self.modules: dict[str, str] = {}
        self._bits = {name: 1 << number for number, name in enumerate(needs)}
        self._needed = self._closure(needs, users_first[::-1])
        self._using = self._closure(users, users_first)
        self._members: dict[str, int] = {COMMON: 0}
        self._under: dict[str, set[str]] = {COMMON: set()}

    def _closure(self, edges: Needs, order: Sequence[str]) -> dict[str, int]:
        """Return what each definition reaches, itself included; in this order one pass suffices, except for cycles."""
        reached = dict(self._bits)
        changed = True
        while changed:
            changed = False
            for name in order:
                found = reached[name]
                for other in edges[name]:
                    found |= reached[other]
                changed = changed or found != reached[name]
                reached[name] = found
        return reached

    def _holding(self, definitions: int) -> set[str]:
        return {module for module, members in self._members.items() if members & definitions}

    def fits(self, name: str, module: str) -> bool:
        """Whether a definition can be in a module without an import cycle."""
        above = self._holding(self._using[name]) - {module}
        below = self._holding(self._needed[name]) - {module}
        if above & below or COMMON in above or (module == COMMON and below):
            return False
        return not self._under.get(module, set()) & above and not any(module in self._under[one] for one in below)

    def put(self, name: str, module: str) -> None:
        """Place a definition in a module in which it fits."""
        self._under.setdefault(module, set())
        above = self._holding(self._using[name]) - {module}
        below = self._holding(self._needed[name]) - {module}
        under = below.union(*(self._under[one] for one in below))
        self._under[module] |= under
        for other, others in self._under.items():
            if other in above or module in others or others & above:
                others.update({module}, self._under[module])
        self._members[module] = self._members.get(module, 0) | self._bits[name]
        self.modules[name] = module

    def others(self, name: str) -> list[str]:
        """List candidate modules for a definition without one by name; at least one of them fits."""
        above = self._holding(self._using[name])
        below = self._holding(self._needed[name])
        lowest = [one for one in self._members if one in above and above <= {one} | self._over(one)]
        highest = [one for one in self._members if one in below and not below & self._over(one)]
        return [*lowest, COMMON, *highest]

    def _over(self, module: str) -> set[str]:
        return {other for other, under in self._under.items() if module in under}
