"""What a comparison finds: one change, where it is, which messages carry it, and who breaks."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mcp_bindgen.diff.rules import Change, Rule, Severity


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
    """One step from the root of a message to a value: a member by name, an item, a map's value, a union's member."""

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return {"item": "[]", "value": "{}", "member": f"<{self.name}>"}.get(self.kind, f".{self.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One change. `place` names the definition and the member; `carriers` are the messages with the way to it."""

    rule: Rule
    place: str
    old: str
    new: str
    carriers: Mapping[Carrier, tuple[Step, ...]] = field(default_factory=dict[Carrier, tuple[Step, ...]])
    witnesses: Mapping[Pair, Any] = field(default_factory=dict[Pair, Any])
    unproven: frozenset[Pair] = frozenset()

    @property
    def breaks(self) -> frozenset[Pair]:
        """Which pairs of peers the change breaks, as far as the rule can tell."""
        return frozenset(pair for carrier in self.carriers for pair in breaks(self.rule.change, carrier.travel))

    @property
    def proven(self) -> frozenset[Pair]:
        """Which pairs of peers the change breaks, unless witnesses were looked for in vain."""
        return self.breaks - self.unproven

    @property
    def is_about_method(self) -> bool:
        """Whether the receiver lacks the message as a whole, so that any one of the kind proves the break."""
        return self.rule.id in ("request-method-added", "request-method-removed")

    @property
    def severity(self) -> Severity:
        """How much the finding matters when the two revisions meet; a break that nothing proves is a warning."""
        if self.proven:
            return Severity.ERROR
        return Severity.WARNING if self.breaks else self.rule.severity

    @property
    def fingerprint(self) -> str:
        """A name for the finding that stays the same as long as the change does."""
        text = "\0".join((self.rule.id, self.place, self.old, self.new))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def breaks(change: Change, travel: Travel) -> frozenset[Pair]:
    """Return the pairs of peers that break if a type changes so on its way.

    A receiver of the new revision refuses what was narrowed away, one of the old revision what came in addition.
    """
    receiver_is_new = Pair.OLD_CLIENT if travel is Travel.TO_SERVER else Pair.NEW_CLIENT
    receiver_is_old = Pair.NEW_CLIENT if travel is Travel.TO_SERVER else Pair.OLD_CLIENT
    found = {receiver_is_new} if Change.NARROWS in change else set[Pair]()
    return frozenset(found | ({receiver_is_old} if Change.WIDENS in change else set()))
