"""What a comparison finds: one change, where it is, which messages carry it, and who breaks."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mcp_bindgen.diff.rule import Change, Rule, Severity
from mcp_bindgen.diff.sites import MethodSite

FRAMES = "JSONRPCMessage"
"""The union of all JSON-RPC messages."""


class Travel(StrEnum):
    """The way a value goes."""

    TO_SERVER = "client to server"
    TO_CLIENT = "server to client"


class Pair(StrEnum):
    """Two peers that meet: one written for the old revision, one for the new."""

    OLD_CLIENT = "old client, new server"
    NEW_CLIENT = "new client, old server"


@dataclass(frozen=True, slots=True, order=True)
class Carrier:
    """A message that carries a value: its method, which half of it, and the way it goes."""

    method: str
    part: str
    travel: Travel


@dataclass(frozen=True, slots=True)
class Step:
    """One step from the root of a message to a value: a member by name, an item, a map's value, a union's member.

    `name` is that of the new side, `was` that of the old one where it is another.
    """

    kind: str
    name: str = ""
    was: str = ""

    def __str__(self) -> str:
        return {"item": "[]", "value": "{}", "member": f"<{self.name}>"}.get(self.kind, f".{self.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a finding is about, as one side calls it: a definition, or a member of it by its name on the wire."""

    definition: str
    member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One change.

    `effect` is what it does to the valid values where that is less than its rule says, see `Rule.change_at`.
    `place` names the definition and the member as the old side calls them, `now` as the new side does: the two differ
    where a definition has another name. `before` and `after` are the definition and the member on each side, None where
    a side has nothing of the kind. `pointer` is the JSON pointer of the place in the schema.json of the new side, or
    of the old one if only that has it. `carriers` are the messages with the way to it; what is part of any message has
    a carrier without a method. `gates` says for a pair of peers what keeps them from meeting the break:
    ``capability:server.tasks`` if the older peer cannot have declared that. `why_unproven` is why no message proves
    the break of a pair.
    """

    rule: Rule
    place: str
    old: str
    new: str
    effect: Change | None = None
    before: Subject | None = None
    after: Subject | None = None
    pointer: str = ""
    carriers: Mapping[Carrier, tuple[Step, ...]] = field(default_factory=dict[Carrier, tuple[Step, ...]])
    now: str = ""
    gates: Mapping[Pair, str] = field(default_factory=dict[Pair, str])
    witnesses: Mapping[Pair, Any] = field(default_factory=dict[Pair, Any])
    unproven: frozenset[Pair] = frozenset()
    why_unproven: Mapping[Pair, str] = field(default_factory=dict[Pair, str])

    @property
    def change(self) -> Change:
        """What the change does to the set of valid values."""
        return self.rule.change if self.effect is None else self.effect

    @property
    def breaks(self) -> frozenset[Pair]:
        """Which pairs of peers the change breaks, as far as the rule can tell."""
        return frozenset(pair for carrier in self.carriers for pair in breaks(self.change, carrier.travel))

    @property
    def proven(self) -> frozenset[Pair]:
        """Which pairs of peers the change breaks, unless witnesses were looked for in vain."""
        return self.breaks - self.unproven

    @property
    def is_about_method(self) -> bool:
        """Whether the receiver lacks the message as a whole, so that any one of the kind proves the break."""
        return self.rule.site is MethodSite

    @property
    def severity(self) -> Severity:
        """How much the finding matters when the two revisions meet; a break that nothing proves is a warning."""
        if self.proven:
            return Severity.ERROR
        return Severity.WARNING if self.breaks else self.rule.severity

    @property
    def gated_severity(self) -> Severity:
        """How much the finding matters to peers that keep to their gates: capabilities that were declared."""
        if self.proven and self.proven <= self.gates.keys():
            return Severity.WARNING
        return self.severity

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods whose messages carry the change, sorted; none if every message may."""
        return tuple(sorted({carrier.method for carrier in self.carriers} - {""}))

    @property
    def fingerprint(self) -> str:
        """A name for the finding that stays the same as long as the change does."""
        renamed = (self.now,) if self.now not in ("", self.place) else ()
        text = "\0".join((self.rule.id, self.place, self.old, self.new, *renamed))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def breaks(change: Change, travel: Travel) -> frozenset[Pair]:
    """Return the pairs of peers that break if a type changes so on its way.

    A receiver of the new revision refuses what was narrowed away, one of the old revision what came in addition.
    """
    receiver_is_new = Pair.OLD_CLIENT if travel is Travel.TO_SERVER else Pair.NEW_CLIENT
    receiver_is_old = Pair.NEW_CLIENT if travel is Travel.TO_SERVER else Pair.OLD_CLIENT
    found = {receiver_is_new} if Change.NARROWS in change else set[Pair]()
    return frozenset(found | ({receiver_is_old} if Change.WIDENS in change else set()))
