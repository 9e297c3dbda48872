"""Which findings a reader wants to see, and which make the command fail."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rule import View
from mcp_bindgen.findings.severity import Severity


class Role(StrEnum):
    """The role of the reader's program."""

    CLIENT = "client"
    SERVER = "server"


class Peer(StrEnum):
    """Which of the two revisions the peer uses: the newer one (the usual concern), or the older one."""

    NEWER = "newer"
    OLDER = "older"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a reader asked for; by default, all findings are shown and errors make the command fail.

    `view` is None for both views, `role` None for both roles. `fail_on` is the lowest severity that makes the command
    fail, None if none does. With `new_revision`, changes that need a new date make it fail. `severities` are the
    overridden severities, by rule id.
    """

    view: View | None = None
    role: Role | None = None
    peer: Peer = Peer.NEWER
    ignore_gated: bool = False
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
        """Whether the reader asked for a finding; findings that break only the other role are not shown."""
        if self.view is View.WIRE and finding.rule.view is not View.WIRE:
            return False
        if self.view is View.SOURCE and finding.rule.view is not View.SOURCE and not finding.rule.breaks_source:
            return False
        return not finding.breaks or not finding.breaks.isdisjoint(self.pairs)

    def broken(self, finding: Finding) -> tuple[Pair, ...]:
        """Return which of the requested pairs of peers a finding is proven to break."""
        return tuple(pair for pair in self.pairs if pair in finding.proven)

    def severity(self, finding: Finding) -> Severity:
        """Return the severity for the reader: the override, or otherwise the severity for the requested pairs."""
        overridden = self.severities.get(finding.rule.id)
        if overridden or not finding.breaks:
            return overridden or finding.severity
        broken = self.broken(finding)
        gated = self.ignore_gated and set(broken) <= finding.gates.keys()
        return Severity.ERROR if broken and not gated else Severity.WARNING

    def counts(self, severity: Severity) -> bool:
        """Whether findings of a severity reach the threshold."""
        return severity.reaches(self.fail_on)
