"""What a reader wants to see of a comparison, and at what level it counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rule import Severity, View


class Role(StrEnum):
    """What the reader's program is."""

    CLIENT = "client"
    SERVER = "server"


class Peer(StrEnum):
    """Which of the two revisions the other end speaks: the newer one (the usual worry), or the older one."""

    NEWER = "newer"
    OLDER = "older"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a reader asked for; by default everything, and errors count.

    `view` is None for both views, `role` None for both roles. `fail_on` is the least severity that counts, None for
    none. `new_revision` says that what demands a new date counts.
    `severities` are the severities of rules that the reader has overridden, by the id of the rule.
    """

    view: View | None = None
    role: Role | None = None
    peer: Peer = Peer.NEWER
    assume_gates: bool = False
    fail_on: Severity | None = Severity.ERROR
    new_revision: bool = False
    severities: Mapping[str, Severity] = field(default_factory=dict[str, Severity])

    def role_in(self, pair: Pair) -> Role:
        """Return the role of the reader's program in a pair of peers."""
        client_is_ours = (pair is Pair.OLD_CLIENT) == (self.peer is Peer.NEWER)
        return Role.CLIENT if client_is_ours else Role.SERVER

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of peers that the reader's program may be in, clients first."""
        found = sorted(Pair, key=self.role_in)
        return tuple(pair for pair in found if self.role in (None, self.role_in(pair)))

    def shows(self, finding: Finding) -> bool:
        """Whether the reader asked for a finding; one that breaks only the other role is none of theirs."""
        if self.view is View.WIRE and finding.rule.view is not View.WIRE:
            return False
        if self.view is View.SOURCE and finding.rule.view is not View.SOURCE and not finding.rule.breaks_source:
            return False
        return not finding.breaks or not finding.breaks.isdisjoint(self.pairs)

    def broken(self, finding: Finding) -> tuple[Pair, ...]:
        """Return the pairs of peers, of those asked for, that a finding breaks beyond doubt."""
        return tuple(pair for pair in self.pairs if pair in finding.proven)

    def severity(self, finding: Finding) -> Severity:
        """Return how much a finding matters to the reader: as overridden, else by the pairs that they asked for."""
        overridden = self.severities.get(finding.rule.id)
        if overridden or not finding.breaks:
            return overridden or finding.severity
        broken = self.broken(finding)
        gated = self.assume_gates and set(broken) <= finding.gates.keys()
        return Severity.ERROR if broken and not gated else Severity.WARNING

    def counts(self, severity: Severity) -> bool:
        """Whether findings of a severity are at the threshold."""
        return self.fail_on is not None and RANK[severity] <= RANK[self.fail_on]


RANK: Mapping[Severity, int] = {severity: rank for rank, severity in enumerate(Severity)}
"""The severities by rank, the worst first."""
