"""Find a message that proves a break: valid for its sender, rejected by its receiver.

Candidates are built along the path from the root of the message to the changed value, otherwise as small as the
sender's schema allows, and validated by `jsonschema` against the schemas of both sides. A message proves the break only
if the receiver's objection goes away once the value at that place is put back.
"""

from dataclasses import replace
from itertools import islice
from typing import Any

from mcp_bindgen.diff.finding import Carrier, Finding, Pair
from mcp_bindgen.diff.rules.properties import PROPERTY_MOVED
from mcp_bindgen.diff.types.methods import settle
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.exchange import Exchange, Message
from mcp_bindgen.diff.wire.proof import MAX_CANDIDATES, Proof, are_about, hints_in, path, prove, repairs, turned
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.values.builder import Step

_ELSEWHERE = (PROPERTY_MOVED,)
"""Rules whose change is rejected at a place other than the end of the path."""


MAX_CARRIERS = 8
"""The number of messages in which one break is looked for."""
MAX_REPAIRS = 40
"""The number of values that are put back at the place of a break."""


class Witnesses:
    """Finds witnesses for the findings between two revisions."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        settled = settle(old, new)
        self._old = Exchange(settled.old, {})
        self._new = Exchange(settled.new, renamed_methods(settled.old, settled.new))

    def testify(self, finding: Finding) -> Finding:
        """Return the finding with a message for each pair of peers that it breaks, or the reason why there is none."""
        found: dict[Pair, Any] = {}
        reasons = dict(finding.why_unproven)
        for pair in sorted(finding.proven):
            if finding.rule.unprovable:
                reasons[pair] = finding.rule.unprovable
                continue
            message, tried = self._witness(finding, pair)
            if message is not None:
                found[pair] = message.frame
            else:
                reasons[pair] = _reason(tried)
        return replace(finding, witnesses=found, unproven=frozenset(reasons), why_unproven=reasons)

    def _witness(self, finding: Finding, pair: Pair) -> tuple[Message | None, int]:
        """Return a message that proves the break, or None and the number of valid candidates tried."""
        valid = 0
        # A separate message is clearer than an embedded one, and the shortest path is clearest.
        carriers = sorted(finding.carriers.items(), key=lambda item: (self._embeds(item[0]), len(item[1]), item[0]))
        for carrier, way in [row for row in carriers if pair in finding.breaks_in(row[0])][:MAX_CARRIERS]:
            proof = self._proof(finding, carrier, way, from_old=carrier.is_from_old(pair))
            valid += proof.sent
            if proof.value is not None:
                return proof.value, valid
        return None, valid

    def _proof(self, finding: Finding, carrier: Carrier, way: tuple[Step, ...], *, from_old: bool) -> Proof[Message]:
        sender, receiver = (self._old, self._new) if from_old else (self._new, self._old)
        ways = tuple(map(turned, way)), way
        sent, taken = ways if from_old else ways[::-1]
        hints = hints_in(finding.old, finding.new)

        def refuses(message: Message) -> bool:
            if finding.is_about_method:
                return not (receiver.takes_frame(carrier, message) and receiver.errors(carrier, message) == [])
            return _refuses(receiver, carrier, message, () if finding.rule in _ELSEWHERE else (sent, taken), hints)

        candidates = sender.messages(carrier, sent, hints)
        return prove(candidates, sends=lambda message: sender.sends(carrier, message), refuses=refuses)

    def _embeds(self, carrier: Carrier) -> bool:
        return self._old.embeds(carrier) or self._new.embeds(carrier)


def _refuses(
    receiver: Exchange,
    carrier: Carrier,
    message: Message,
    ways: tuple[tuple[Step, ...], ...],
    hints: tuple[float | str, ...],
) -> bool:
    """Whether a receiver rejects what a message carries because of the end of the path, as each side names it."""
    if not ways:
        return bool(receiver.errors(carrier, message))
    sent, taken = ways
    form = taken[0].name if taken and taken[0].kind == "member" else ""
    errors = receiver.errors(carrier, message, form)
    if not errors:
        return False
    is_there = are_about(errors, sent)
    if message.is_left_out or not path(sent):
        return is_there
    others = list(islice(receiver.messages(carrier, taken, hints), MAX_REPAIRS))
    payloads = (other.payload() for other in others)
    for repaired in repairs(message.payload(), path(sent), payloads, path(taken)):
        left = receiver.errors(carrier, Message(repaired, (), message.form), form)
        if left is not None and (not left or (is_there and not are_about(left, sent))):
            return True
    # Nothing can be put back where the receiver accepts no value at all.
    is_only_there = all(are_about((error,), sent) for error in errors)
    return is_only_there and not any(receiver.errors(carrier, other, form) == [] for other in others)


def _reason(tried: int) -> str:
    if not tried:
        return "no valid message of the sender was found that contains it"
    return f"the receiver rejects none of the {tried} messages tried because of it"


class Examples:
    """Finds the counterpart in the other revision of a message that proves a break."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = Exchange(old, {})
        self._new = Exchange(new, renamed_methods(old, new))

    def pair(self, finding: Finding, pair: Pair) -> tuple[Any, Any]:
        """Return the messages of the old and the new revision, None for one that does not exist.

        One of them is the witness. The other is valid for its own revision and has the same method.
        """
        witness = finding.witnesses.get(pair)
        if witness is None or finding.is_about_method:
            return None, None
        for carrier, way in sorted(finding.carriers.items()):
            if pair not in finding.breaks_in(carrier):
                continue
            from_old = carrier.is_from_old(pair)
            other, steps = (self._new, way) if from_old else (self._old, tuple(map(turned, way)))
            tried = islice(other.messages(carrier, steps, ()), MAX_CANDIDATES)
            found = next((m.frame for m in tried if other.sends(carrier, m) and carrier.part in witness), None)
            return (witness, found) if from_old else (found, witness)
        return None, None
