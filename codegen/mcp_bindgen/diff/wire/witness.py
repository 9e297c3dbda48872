"""Find a message that proves a break: valid for its sender, rejected by its receiver.

Candidates are built along the path from the root of the message to the changed value, otherwise as small as the
sender's schema allows, and validated by `jsonschema` against the schemas of both sides. A message proves the break only
if the receiver's objection goes away once the value at that place is put back.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

from jsonschema import ValidationError

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Travel
from mcp_bindgen.diff.rules.properties import PROPERTY_MOVED
from mcp_bindgen.diff.types.methods import settle
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.exchange import Exchange, Message
from mcp_bindgen.diff.wire.proof import (
    MAX_CANDIDATES,
    Proof,
    are_about,
    completed,
    hints_in,
    is_about,
    path,
    prove,
    put,
    repairs,
    turned,
)
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.values.builder import Step

_ELSEWHERE = (PROPERTY_MOVED,)
"""Rules whose change is rejected at a place other than the end of the path."""


MAX_CARRIERS = 8
"""The number of messages of one kind in which a break is looked for."""
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
        embeds = {c: self._old.embeds(c) or self._new.embeds(c) for c in finding.carriers}
        carriers = sorted(finding.carriers.items(), key=lambda item: (embeds[item[0]], len(item[1]), item[0]))
        tried = Counter[tuple[str, Travel]]()
        for carrier, way in [row for row in carriers if pair in finding.breaks_in(row[0])]:
            tried[carrier.part, carrier.travel] += 1
            if tried[carrier.part, carrier.travel] > MAX_CARRIERS:
                continue
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
        objection = _Objection(receiver, carrier, sent, taken, hints)
        if finding.is_about_method:
            reasons = [objection.is_to_frame]
        elif finding.rule in _ELSEWHERE:
            reasons = [objection.is_to_message]
        else:
            reasons = [objection.is_to_place_alone, objection.is_to_place]
        tried = 0
        for refuses in reasons:
            candidates = objection.completed(sender.messages(carrier, sent, hints), is_first=refuses is reasons[0])
            proof = prove(candidates, sends=lambda message: sender.sends(carrier, message), refuses=refuses)
            if proof.is_found:
                return proof
            tried = max(tried, proof.sent)
        return Proof(False, None, tried)


class _Objection:
    """What a receiver rejects of a message at the end of a path, which each side names in its own way."""

    def __init__(
        self,
        receiver: Exchange,
        carrier: Carrier,
        sent: tuple[Step, ...],
        taken: tuple[Step, ...],
        hints: tuple[float | str, ...],
    ) -> None:
        self._receiver, self._carrier, self._sent = receiver, carrier, sent
        self._place, self._there = path(sent), path(taken)
        self._others = list(islice(receiver.messages(carrier, taken, hints), MAX_REPAIRS))

    @cached_property
    def _accepted(self) -> Message | None:
        return next((other for other in self._others if self._errors(other) == []), None)

    def _errors(self, message: Message) -> list[ValidationError] | None:
        return self._receiver.errors(self._carrier, message)

    def completed(self, messages: Iterable[Message], *, is_first: bool) -> Iterator[Message]:
        """Iterate over messages with all else that the receiver requires; at first, also as they are."""
        for message in messages:
            if is_first:
                yield message
            if self._accepted is None or message.is_left_out or not self._place:
                payload = message.payload()
            else:
                payload = completed(message.payload(), self._place, self._accepted.payload(), self._there)
            if not is_first or payload != message.payload():
                yield replace(message, frame=put(message.frame, message.path, payload))

    def is_to_frame(self, message: Message) -> bool:
        """Whether the receiver rejects a message, or has no such message."""
        taken = self._receiver.takes_frame(self._carrier, message)
        return not taken or self._receiver.errors(self._carrier, message) != []

    def is_to_message(self, message: Message) -> bool:
        """Whether the receiver rejects a message."""
        return bool(self._receiver.errors(self._carrier, message))

    def is_to_place_alone(self, message: Message) -> bool:
        """Whether the receiver rejects a message that it accepts once the value at the place is put back."""
        errors = self._errors(message)
        if not errors or not all(are_about((error,), self._sent) or _may_be_about_more(error) for error in errors):
            return False
        if message.is_left_out or not self._place:
            return are_about(errors, self._sent)
        if any(self._errors(repaired) == [] for repaired in self._repaired(message)):
            return True
        # Nothing can be put back where the receiver accepts no value at all.
        return self._accepted is None and all(are_about((error,), self._sent) for error in errors)

    def is_to_place(self, message: Message) -> bool:
        """Whether the receiver rejects the value at the place, beside others that its sender cannot avoid."""
        errors = self._errors(message) or []
        others = [error.absolute_path for error in errors if not is_about(error, self._sent)]
        if len(others) == len(errors) or message.is_left_out or not self._place:
            return False
        left = (self._errors(repaired) for repaired in self._repaired(message))
        return any(each and [error.absolute_path for error in each] == others for each in left)

    def _repaired(self, message: Message) -> Iterator[Message]:
        payloads = (other.payload() for other in self._others)
        for payload in repairs(message.payload(), self._place, payloads, self._there):
            yield Message(payload, (), message.form)


def _may_be_about_more(error: ValidationError) -> bool:
    """Whether an error may be about a value inside the one that it names."""
    return error.validator not in ("required", "additionalProperties")


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
