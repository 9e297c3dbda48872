"""A finding of a comparison: one change, where it is, which messages carry it, and which peers it breaks."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mcp_bindgen.diff.rule import Change, Rule
from mcp_bindgen.diff.sites import MethodSite
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.values.builder import Step

FRAMES = "JSONRPCMessage"
"""The union of all JSON-RPC messages."""


class Travel(StrEnum):
    """The direction in which a value is sent."""

    TO_SERVER = "client to server"
    TO_CLIENT = "server to client"


class Pair(StrEnum):
    """A pair of peers: one written for the old revision, one for the new."""

    OLD_CLIENT = "old client, new server"
    NEW_CLIENT = "new client, old server"


@dataclass(frozen=True, slots=True, order=True)
class Carrier:
    """A message that carries a value: its method, the part that carries it, and the direction."""

    method: str
    part: str
    travel: Travel

    def is_from_old(self, pair: Pair) -> bool:
        """Whether the peer of the old revision sends it."""
        return (pair is Pair.OLD_CLIENT) == (self.travel is Travel.TO_SERVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a finding by its name on one side: a definition, or a property of it by its wire name."""

    definition: str
    member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One change.

    `place` names the definition and the property as on the old side, `now` as on the new side: they differ if a
    definition was renamed. `before` and `after` are the definition and the property on each side, None if they do not
    exist there. `pointer` is the JSON pointer of the place in the schema.json of the new side, or of the old side if
    only that has it. `carriers` are the messages with the path to it; a part of every message has a carrier without a
    method. `effects` are its effects on the valid values in each of them, if they are not what its rule says: those
    proven to break no peer are left out. `gates` maps a pair of peers to what protects them from the break:
    ``capability:server.tasks`` if the older peer cannot have declared it. `why_unproven` maps a pair to the reason why
    no message proves its break.
    """

    rule: Rule
    place: str
    old: str
    new: str
    before: Subject | None = None
    after: Subject | None = None
    pointer: str = ""
    carriers: Mapping[Carrier, tuple[Step, ...]] = field(default_factory=dict[Carrier, tuple[Step, ...]])
    effects: Mapping[Carrier, Change] = field(default_factory=dict[Carrier, Change])
    now: str = ""
    gates: Mapping[Pair, str] = field(default_factory=dict[Pair, str])
    witnesses: Mapping[Pair, Any] = field(default_factory=dict[Pair, Any])
    unproven: frozenset[Pair] = frozenset()
    why_unproven: Mapping[Pair, str] = field(default_factory=dict[Pair, str])

    @property
    def rule_id(self) -> str:
        """The id of its rule."""
        return self.rule.id

    @property
    def places(self) -> frozenset[str]:
        """Its place, by its name on either side."""
        return frozenset((self.place, self.now or self.place))

    @property
    def change(self) -> Change:
        """The effect of the change on the set of valid values, in any message."""
        found = Change.NONE
        for carrier in self.carriers:
            found |= self._effect(carrier)
        return found if self.carriers else self.rule.change

    def _effect(self, carrier: Carrier) -> Change:
        return self.effects.get(carrier, self.rule.change)

    def breaks_in(self, carrier: Carrier) -> frozenset[Pair]:
        """Return the pairs of peers that the change may break in one of its messages."""
        return breaks(self._effect(carrier), carrier.travel)

    @property
    def breaks(self) -> frozenset[Pair]:
        """Which pairs of peers the change may break: in all others it is proven harmless."""
        return frozenset(pair for carrier in self.carriers for pair in self.breaks_in(carrier))

    @property
    def proven(self) -> frozenset[Pair]:
        """Which pairs of peers the change breaks, without those for which the search found no witness."""
        return self.breaks - self.unproven

    @property
    def is_about_method(self) -> bool:
        """Whether the receiver does not support the message at all, so that any such message proves the break."""
        return self.rule.site is MethodSite

    @property
    def severity(self) -> Severity:
        """The severity when peers of the two revisions communicate; an unproven break is a warning."""
        if self.proven:
            return Severity.ERROR
        return Severity.WARNING if self.breaks else self.rule.severity

    @property
    def gated_severity(self) -> Severity:
        """The severity for peers that use only what the other has declared."""
        if self.proven and self.proven <= self.gates.keys():
            return Severity.WARNING
        return self.severity

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods whose messages carry the change, sorted; empty if any message may."""
        return tuple(sorted({carrier.method for carrier in self.carriers} - {""}))

    @property
    def fingerprint(self) -> str:
        """An identifier that stays the same as long as the change does."""
        renamed = (self.now,) if self.now not in ("", self.place) else ()
        text = "\0".join((self.rule.id, self.place, self.old, self.new, *renamed))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def breaks(change: Change, travel: Travel) -> frozenset[Pair]:
    """Return the pairs of peers that break if a type in messages of that direction changes this way.

    A receiver of the new revision rejects removed values; one of the old revision rejects added values.
    """
    receiver_is_new = Pair.OLD_CLIENT if travel is Travel.TO_SERVER else Pair.NEW_CLIENT
    receiver_is_old = Pair.NEW_CLIENT if travel is Travel.TO_SERVER else Pair.OLD_CLIENT
    found = {receiver_is_new} if Change.NARROWS in change else set[Pair]()
    return frozenset(found | ({receiver_is_old} if Change.WIDENS in change else set()))
