"""Use the methods of each revision to complete those of the other.

A schema gives the direction of a message by its root unions, and the result of a request by names. If one side omits a
message or renames a definition, the other side resolves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mcp_bindgen.diff.types.equality import Equality
from mcp_bindgen.diff.types.matching import match_definitions
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.methods import PAIRINGS, UNIONS
from mcp_bindgen.ir.names import contained, field_of
from mcp_bindgen.ir.nodes import Direction, Method, Protocol, Ref, Struct
from mcp_bindgen.load.protocol import default_rows

_ALIKE = 0.3
"""How similar two results must be to count as a rename (0 to 1)."""
_GENERAL = ("EmptyResult", "Result")
"""The results of requests without their own."""

RESULT_TAG = "resultType"
"""The property that says which form of result an answer is (2026-07-28 basic/index, ResultType)."""
COMPLETE = "complete"
"""The form of a result without that property."""
_ASKED_FOR = frozenset(row.result for row in PAIRINGS)


def result_tag(protocol: Protocol, result: str) -> str:
    """Return the value of `resultType` in a result: its constant, or as schema/defaults.toml says; or an empty text."""
    rows, struct = default_rows(), protocol.resolve(Ref(name=result))
    name, field = (struct.name, struct.field(RESULT_TAG)) if isinstance(struct, Struct) else (result, None)
    if field and field.constant:
        return str(field.constant.values[0])
    return str(rows.get(f"{name}.{RESULT_TAG}", rows[RESULT_TAG] if field else ""))


def result_forms(protocol: Protocol, method: Method) -> Mapping[str, tuple[str, ...]]:
    """Return the forms of the result of a request by their tag, each with its types, the usual one first.

    An alternative without a tag, or which only the params ask for, is a form by its name.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in (method.result, *method.alternatives):
        if name:
            tag = "" if name in _ASKED_FOR and name != method.result else result_tag(protocol, name)
            tag = tag or (COMPLETE if name == method.result else name)
            found[tag] = (*found.get(tag, ()), name)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Two revisions whose methods were completed from each other.

    `guessed` are the methods whose sender neither side nor another revision states.
    """

    old: Protocol
    new: Protocol
    guessed: frozenset[str]


def settle(old: Protocol, new: Protocol) -> Settled:
    """Return both revisions with the directions and the results of their methods resolved.

    Where a schema has root unions, a message that is in none of them, and embedded in no result, is sent by nobody.
    """
    old, new = _stated(old), _stated(new)
    sides = _directed(old, new), _directed(new, old)
    stated = {method.name for side in (old, new) for method in side.methods if method.is_directed}
    guessed = {
        method.name
        for side in sides
        for method in side.methods
        if method.name not in stated and method.direction is Direction.BOTH
    }
    results = _Results(sides[0], sides[1])
    return Settled(old=results.settled(old=True), new=results.settled(old=False), guessed=frozenset(guessed))


def has_roots(protocol: Protocol) -> bool:
    """Whether a schema says who sends its messages."""
    return any(root in protocol.definitions for root in UNIONS)


def _stated(protocol: Protocol) -> Protocol:
    """Return a revision with the methods and results that it states, even results that JSON-RPC cannot send."""
    methods: list[Method] = []
    for method in protocol.methods:
        own = f"{method.message.removesuffix('Request')}Result"
        response = protocol.definitions.get(f"{own}Response")
        names = {own} if response is None else {*contained(response)}
        is_own = method.result in _GENERAL and own in names & protocol.definitions.keys()
        if method.is_directed or not has_roots(protocol):
            methods.append(replace(method, result=own) if is_own else method)
    return replace(protocol, methods=tuple(methods))


def _directed(protocol: Protocol, other: Protocol) -> Protocol:
    """Return a revision whose methods take the direction that only the other one states."""
    stated = {method.name: method.direction for method in other.methods if method.is_directed}
    methods = (
        method if method.is_directed else replace(method, direction=stated.get(method.name, method.direction))
        for method in protocol.methods
    )
    return replace(protocol, methods=tuple(methods))


class _Results:
    """Pairs results through the methods that they answer."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._sides = old, new
        self._pairs: frozenset[tuple[str, str]] | None = None

    def settled(self, *, old: bool) -> Protocol:
        """Return one side, with the results of its requests corrected by the other side."""
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
        stated = field_of(f"{partner.result}Response", "result", here.definitions)
        forms = leaves(stated.type, here) if stated else ()
        named = [form.name for form in forms if isinstance(form, Ref) and form.name != result]
        return replace(method, result=result, alternatives=tuple(dict.fromkeys([*named, *method.alternatives])))

    def _partner(self, result: str, *, old: bool) -> str | None:
        """Return the name on one side of a result of the other side."""
        if self._pairs is None:
            self._pairs = frozenset(match_definitions(*self._sides).pairs)
        found = next((pair[not old] for pair in sorted(self._pairs) if pair[old] == result), None)
        return found or self._most_alike(result, old=old)

    def _most_alike(self, result: str, *, old: bool) -> str | None:
        """Return the definition of one side only that is most similar to a result of the other side."""
        here, there = self._sides if old else self._sides[::-1]
        equality = Equality(*self._sides)
        whole = there.definitions[result]
        rated: list[tuple[float, str]] = []
        for candidate in here.structs():
            if candidate.name not in there.definitions and not candidate.holder and isinstance(whole, Struct):
                pair = (candidate, whole) if old else (whole, candidate)
                rated.append((-equality.likeness(*pair, frozenset(("_meta",))), candidate.name))
        best = min(rated, default=(0.0, ""))
        return best[1] if -best[0] >= _ALIKE else None


def _is_named(method: Method, protocol: Protocol) -> bool:
    """Whether a request has a result with a matching name, so that nothing was guessed."""
    return not method.is_request or f"{method.message.removesuffix('Request')}Result" in protocol.definitions
