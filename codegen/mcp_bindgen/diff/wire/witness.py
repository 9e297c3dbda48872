"""Find a message that proves a break: valid for its sender, rejected by its receiver.

Candidates are built along the path from the root of the message to the changed value, otherwise as small as the
sender's schema allows, and validated by `jsonschema` against the schemas of both sides. A message that is rejected for
any other reason does not prove the break.
"""

from dataclasses import replace
from typing import Any

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Travel, breaks
from mcp_bindgen.diff.rules.properties import PROPERTY_MOVED
from mcp_bindgen.diff.types.methods import settle
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.exchange import Exchange, Message
from mcp_bindgen.diff.wire.frames import FRAME
from mcp_bindgen.diff.wire.proof import Proof, are_about, numbers_in, prove, turned
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.values.builder import Step

_ELSEWHERE = (PROPERTY_MOVED,)
"""Rules whose change is rejected at a place other than the end of the path."""


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
                sides = (self._old, self._new)
                has_forms = any(len(side.forms(carrier)) > 1 for side in sides for carrier in finding.carriers)
                reasons[pair] = _reason(finding, tried, has_forms)
        return replace(finding, witnesses=found, unproven=frozenset(reasons), why_unproven=reasons)

    def _witness(self, finding: Finding, pair: Pair) -> tuple[Message | None, int]:
        """Return a message that proves the break, or None and the number of valid candidates tried."""
        valid = 0
        # A separate message is clearer than an embedded one, and the shortest path is clearest.
        carriers = sorted(finding.carriers.items(), key=lambda item: (self._embeds(item[0]), len(item[1]), item[0]))
        for carrier, way in carriers:
            if pair in breaks(finding.change, carrier.travel):
                from_old = (pair is Pair.OLD_CLIENT) == (carrier.travel is Travel.TO_SERVER)
                proof = self._proof(finding, carrier, way, from_old=from_old)
                valid += proof.sent
                if proof.value is not None:
                    return proof.value, valid
        return None, valid

    def _proof(self, finding: Finding, carrier: Carrier, way: tuple[Step, ...], *, from_old: bool) -> Proof[Message]:
        sender, receiver = (self._old, self._new) if from_old else (self._new, self._old)
        steps = tuple(map(turned, way)) if from_old else way

        def refuses(message: Message) -> bool:
            if finding.is_about_method:
                return not (receiver.takes_frame(carrier, message) and receiver.takes(carrier, message))
            return _refuses(receiver, carrier, message, () if finding.rule in _ELSEWHERE else steps)

        candidates = sender.messages(carrier, steps, numbers_in(finding.old, finding.new))
        return prove(candidates, sends=lambda message: sender.sends(carrier, message), refuses=refuses)

    def _embeds(self, carrier: Carrier) -> bool:
        return self._old.embeds(carrier) or self._new.embeds(carrier)


def _refuses(receiver: Exchange, carrier: Carrier, message: Message, way: tuple[Step, ...]) -> bool:
    """Whether a receiver rejects what a message carries because of the end of the path."""
    if carrier.part != FRAME and (not receiver.knows(carrier) or message.is_left_out):
        return not way and not receiver.takes(carrier, message)
    form = turned(way[0]).name if way and way[0].kind == "member" else ""
    validator = receiver.judge(carrier, form)
    payload = message.frame if carrier.part == FRAME else message.payload()
    return validator is not None and are_about(validator.iter_errors(payload), way)


def _reason(finding: Finding, tried: int, has_forms: bool) -> str:
    if not tried:
        return "no valid message of the sender was found that contains it"
    messages = "the only message" if tried == 1 else ("both messages" if tried == 2 else f"all {tried} messages")
    steps = {step.kind for way in finding.carriers.values() for step in way}
    why = ", as another form that it supports" if has_forms or "member" in steps else ""
    return f"the receiver accepts {messages} tried{why}"
