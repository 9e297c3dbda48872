"""Decide which module of a generated package holds a definition.

A definition belongs to the feature whose methods reach it: the first segment of their names. What the methods of
several features reach is `common`, what none reaches is `messages`: the frames, and the unions over all messages. So
the modules depend on each other in one direction: messages on features, features on common.
"""

from collections.abc import Iterable, Mapping

from mcp_bindgen.emit.python.names import identifier, snake
from mcp_bindgen.ir.names import references
from mcp_bindgen.ir.nodes import Definition, Protocol, Struct

COMMON = "common"
MESSAGES = "messages"
RESERVED = frozenset((COMMON, MESSAGES, "binding", "client", "constants", "errors", "methods", "models", "server"))


def assign_modules(protocol: Protocol, settled: Mapping[str, str]) -> dict[str, str]:
    """Name the module of every definition of a protocol.

    The same definition is in the same module in every revision, so what the released revisions have `settled` goes
    first.
    """
    fresh = settle_modules([protocol])
    shared = {name: settled.get(name, module) for name, module in fresh.items()}
    return _layered(protocol, shared)


def settle_modules(protocols: Iterable[Protocol]) -> dict[str, str]:
    """Name the module of every definition of some protocols by the methods that reach it in any of them."""
    areas: dict[str, set[str]] = {}
    for protocol in protocols:
        for name in protocol.definitions:
            areas.setdefault(name, set())
        for method in protocol.methods:
            # Other results are rare: what only they reach is loaded when one of them comes.
            roots = {root for root in (method.message, method.params, method.result) if root}
            module = _module(method.name)
            for name in _reached(roots, protocol.definitions):
                areas[name].add(module)
    return {name: _of(found) for name, found in areas.items()}


def _of(areas: set[str]) -> str:
    return MESSAGES if not areas else next(iter(areas)) if len(areas) == 1 else COMMON


def _module(method: str) -> str:
    name = identifier(snake(method.partition("/")[0]))
    return f"{name}_" if name in RESERVED else name


def _reached(roots: set[str], definitions: Mapping[str, Definition]) -> set[str]:
    found = set(roots)
    pending = list(roots)
    while pending:
        fresh = set(dependencies(definitions[pending.pop()])) - found
        found |= fresh
        pending += fresh
    return found


def dependencies(definition: Definition) -> Iterable[str]:
    """Iterate over the definitions that a definition names, its bases included."""
    if isinstance(definition, Struct):
        yield from (base.name for base in definition.bases)
        for field in definition.fields:
            yield from references(field.type)
        if definition.extra is not None:
            yield from references(definition.extra)
    else:
        yield from references(definition.type)


def _layered(protocol: Protocol, modules: dict[str, str]) -> dict[str, str]:
    """Lift what a module may not hold, because something beneath it needs it.

    A revision of the user's may refer to a definition in a way that no released revision does.
    """
    changed = True
    while changed:
        changed = False
        for name, definition in protocol.definitions.items():
            for needed in dependencies(definition):
                ours, theirs = modules[name], modules[needed]
                if theirs not in (ours, COMMON) and ours != MESSAGES:
                    modules[needed] = COMMON
                    changed = True
    return modules
