"""Capabilities by path (``server.tools.listChanged``): who declared what, and what needs which.

Which message needs which capability is part of the generated method tables; this module only evaluates them.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import Method, NotificationMethod, RequestMethod
from mcp_runtime.core.protocol.dispatch import Side

Steps: TypeAlias = tuple[str, ...]
"""The path of a capability, split into steps."""

FORM: Final = "elicitation.form"
"""The one capability that is declared implicitly: an empty ``elicitation`` means forms (2025-11-25,
client/elicitation)."""
_FORM: Final = tuple(FORM.split("."))


def declares(capabilities: Mapping[str, Any], path: str) -> bool:
    """Whether a peer's capabilities include a path, given without the side (``tools.listChanged``).

    An empty object counts as declared; false and null do not.
    """
    return _leads(capabilities, tuple(path.split(".")))


def _leads(capabilities: Mapping[str, Any], steps: Steps) -> bool:
    value: Any = capabilities
    for step in steps:
        if value.__class__ is not dict or step not in value:
            return steps == _FORM and capabilities.get("elicitation") == {}
        value = value[step]
    return value is not None and value is not False


def declarer(path: str, sender: Side) -> Side:
    """Return the side that must have declared a capability for the sender to send what needs it."""
    return _located(path, sender)[0]


@lru_cache(maxsize=512)
def _located(path: str, sender: Side) -> tuple[Side, Steps]:
    """Return which side must declare a capability, and its path there."""
    side, *there = path.split(".")
    return sender.other if side == "receiver" else Side(side), tuple(there)


def is_open(path: str, sender: Side, declared: Mapping[Side, Mapping[str, Any]]) -> bool:
    """Whether a side may send what needs a capability."""
    side, steps = _located(path, sender)
    return _leads(declared[side], steps)


def sendable(revision: Any, sender: Side, declared: Mapping[Side, Mapping[str, Any]]) -> frozenset[str]:
    """Return the methods that a side may send in a revision, given the capabilities."""
    granted = [
        path
        for side, by_name in _needed(revision, sender).items()
        for name in declared[side]
        if name in by_name
        for path, steps in by_name[name]
        if _leads(declared[side], steps)
    ]
    return _permitted(revision, frozenset(granted))


@lru_cache(maxsize=64)
def _needed(revision: Any, sender: Side) -> Mapping[Side, Mapping[str, list[tuple[str, Steps]]]]:
    """Return what messages of a side need, by the side that declares it and then by its first name.

    Most names are not declared at all.
    """
    groups: dict[Side, dict[str, list[tuple[str, Steps]]]] = {side: {} for side in Side}
    for path in sorted({method.capability for method in revision.methods.values() if method.capability}):
        side, steps = _located(path, sender)
        groups[side].setdefault(steps[0], []).append((path, steps))
    return groups


@lru_cache(maxsize=1024)
def _permitted(revision: Any, granted: frozenset[str]) -> frozenset[str]:
    """Return the methods that need nothing beyond these capabilities; all idle sessions share the answers."""
    methods = revision.methods.items()
    return frozenset(name for name, method in methods if not method.capability or method.capability in granted)


def derive(side: Side, methods: Iterable[Method[Any]]) -> dict[str, Any]:
    """Return the capabilities that a side declares because it answers these methods."""
    found: dict[str, Any] = {}
    for method in sorted(methods, key=lambda m: isinstance(m, NotificationMethod)):
        if not method.capability or declarer(method.capability, side.other) is not side:
            continue
        path = method.capability.partition(".")[2]
        # A notification adds to what a request declares; alone it implies no capability.
        if isinstance(method, RequestMethod) or path.partition(".")[0] in found:
            put(found, path)
    if found.get("elicitation"):
        # A client with URL elicitation (it handles the notification that one is complete) must declare forms too, or
        # has none.
        put(found, FORM)
    return found


def merge(capabilities: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Declare more, keyed by wire names; existing declarations stay, unless None replaces them."""
    forms = "elicitation" in capabilities and declares(capabilities, FORM)
    for name, value in more.items():
        held = capabilities.get(name)
        if not is_object(held) or not isinstance(value, Mapping):
            capabilities[name] = value
            continue
        # A client that declares another mode of elicitation must declare forms too, or no longer has them.
        implied: dict[str, Any] = {"form": {}} if forms and name == "elicitation" and value else {}
        joined: dict[str, Any] = {**implied, **held, **value}
        capabilities[name] = {n: v for n, v in joined.items() if v is not None}


def put(capabilities: dict[str, Any], path: str) -> None:
    """Declare a capability: ``listChanged`` and ``subscribe`` are flags, the others objects."""
    *holders, last = path.split(".")
    for step in holders:
        capabilities = capabilities.setdefault(step, {})
    capabilities.setdefault(last, True if last in _FLAGS else {})


_FLAGS: Final = frozenset(("listChanged", "subscribe"))
