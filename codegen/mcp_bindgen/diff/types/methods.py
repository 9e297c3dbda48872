"""Read the methods of two revisions in each other's light.

A schema says by its root unions which way a message travels, and by names which result answers a request. Where one
side forgets a message, or has a new name for one of them, the other side says what is meant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mcp_bindgen.diff.types.equality import Equality
from mcp_bindgen.diff.types.leaves import leaves
from mcp_bindgen.diff.types.matching import match_definitions
from mcp_bindgen.ir.names import method_constant, references
from mcp_bindgen.ir.nodes import Direction, Method, Protocol, Ref, Struct

_UNIONS: Mapping[str, Direction] = {
    "ClientRequest": Direction.CLIENT_TO_SERVER,
    "ClientNotification": Direction.CLIENT_TO_SERVER,
    "ServerRequest": Direction.SERVER_TO_CLIENT,
    "ServerNotification": Direction.SERVER_TO_CLIENT,
}
"""The unions by which a schema says who sends a message."""
_RESULT_UNIONS = ("ClientResult", "ServerResult")
_ALIKE = 0.3
"""How much of two results must be the same for one to be the other under a new name (0 to 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Two revisions whose methods agree where only one of them is explicit.

    `guessed` are the methods that no root union and no result of either side mentions: the IR guessed their direction.
    """

    old: Protocol
    new: Protocol
    guessed: frozenset[str]


def settle(old: Protocol, new: Protocol) -> Settled:
    """Return both revisions with the directions and the results of their methods settled."""
    stated = stated_directions(old), stated_directions(new)
    guessed = {
        method.name
        for protocol in (old, new)
        for method in protocol.methods
        # What the IR knows from a row or another revision is one way; where it knows nothing, it says both.
        if not any(method.name in side for side in stated) and method.direction is Direction.BOTH
    }
    sides = [
        replace(
            protocol, methods=tuple(_directed(method, stated[side], stated[1 - side]) for method in protocol.methods)
        )
        for side, protocol in enumerate((old, new))
    ]
    results = _Results(sides[0], sides[1])
    return Settled(old=results.settled(old=True), new=results.settled(old=False), guessed=frozenset(guessed))


def stated_directions(protocol: Protocol) -> Mapping[str, Direction]:
    """Return the directions that a schema states itself, by method: its root unions, and results that hold requests."""
    found: dict[str, Direction] = {}
    for root, direction in _UNIONS.items():
        for method in _members(root, protocol):
            found[method] = direction if found.get(method, direction) is direction else Direction.BOTH
    for method in _embedded(protocol):
        found.setdefault(method, Direction.EMBEDDED)
    return found


def _embedded(protocol: Protocol) -> Iterator[str]:
    """Iterate over the requests that a result holds, through unions and maps."""
    pending = [name for name in protocol.definitions if name.endswith("Result") and name not in _RESULT_UNIONS]
    seen = set(pending)
    while pending:
        definition = protocol.definitions[pending.pop()]
        types = [f.type for f in definition.fields] if isinstance(definition, Struct) else [definition.type]
        fresh = {name for type_ in types for name in references(type_)} - seen
        seen |= fresh
        pending += fresh
    yield from (method.name for method in protocol.methods if method.is_request and method.message in seen)


def _members(root: str, protocol: Protocol) -> Iterator[str]:
    """Iterate over the methods that a root union admits; one of a single message may be a copy of that."""
    pending, seen = [root], {root}
    while pending:
        definition = protocol.definitions.get(pending.pop())
        if isinstance(definition, Struct):
            method = method_constant(definition)
            if method is not None:
                yield method
        elif definition is not None:
            fresh = set(references(definition.type)) - seen
            seen |= fresh
            pending += fresh


def _directed(method: Method, own: Mapping[str, Direction], other: Mapping[str, Direction]) -> Method:
    """Return a method with the direction that its own side states, else the other side, else what the IR guessed."""
    return replace(method, direction=own.get(method.name, other.get(method.name, method.direction)))


class _Results:
    """Pairs results through the methods that they answer."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._sides = old, new
        self._pairs: frozenset[tuple[str, str]] | None = None

    def settled(self, *, old: bool) -> Protocol:
        """Return one side, each of its requests with the result that the other side's shows to be meant."""
        protocol, other = self._sides if old else self._sides[::-1]
        others = {method.name: method for method in other.methods}
        methods = tuple(self._answered(m, others.get(m.name), protocol, other, old=old) for m in protocol.methods)
        return replace(protocol, methods=methods)

    def _answered(
        self, method: Method, partner: Method | None, here: Protocol, there: Protocol, *, old: bool
    ) -> Method:
        if partner is None or _is_named(method, here) or not _is_named(partner, there) or not partner.result:
            return method
        result = self._partner(partner.result, old=old)
        if result is None or method.result is None:
            return method
        wrapper = here.definitions.get(f"{partner.result}Response")
        stated = wrapper.field("result") if isinstance(wrapper, Struct) else None
        forms = leaves(stated.type, here) if stated else ()
        named = [form.name for form in forms if isinstance(form, Ref) and form.name != result]
        return replace(method, result=result, alternatives=tuple(dict.fromkeys([*named, *method.alternatives])))

    def _partner(self, result: str, *, old: bool) -> str | None:
        """Return what one side calls a result of the other side."""
        if self._pairs is None:
            self._pairs = frozenset(match_definitions(*self._sides).pairs)
        found = next((pair[not old] for pair in sorted(self._pairs) if pair[old] == result), None)
        return found or self._most_alike(result, old=old)

    def _most_alike(self, result: str, *, old: bool) -> str | None:
        """Return the definition that only one side has and that says most of what a result of the other side says."""
        here, there = self._sides if old else self._sides[::-1]
        equality = Equality(*self._sides)
        whole = there.definitions[result]
        rated: list[tuple[float, str]] = []
        for name, candidate in here.definitions.items():
            is_free = isinstance(candidate, Struct) and name not in there.definitions and not candidate.holder
            if is_free and isinstance(candidate, Struct) and isinstance(whole, Struct):
                pair = (candidate, whole) if old else (whole, candidate)
                rated.append((-equality.likeness(*pair, frozenset(("_meta",))), name))
        best = min(rated, default=(0.0, ""))
        return best[1] if -best[0] >= _ALIKE else None


def _is_named(method: Method, protocol: Protocol) -> bool:
    """Whether a request has a result of its name, so that nothing had to be guessed."""
    return not method.is_request or f"{method.message.removesuffix('Request')}Result" in protocol.definitions
