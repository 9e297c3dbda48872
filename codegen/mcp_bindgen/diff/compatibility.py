"""Give each pair of peers a verdict, and tell authors of a schema whether a change may keep the date of its revision.

MCP names a revision by the date of its last backward-incompatible change: a compatible change keeps the date, any other
needs a new one (specification, Versioning). Two peers that agree on a date cannot detect which version of its schema
the other follows, so both versions must stay interoperable. Changes to Python source or wording do not affect that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules.annotations import DESCRIPTION_REQUIREMENTS_CHANGED, PROTOCOL_VERSION_CHANGED
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import count

_NEEDS_A_READER = (DESCRIPTION_REQUIREMENTS_CHANGED,)
"""Rules of the source view that can still indicate a break: some requirements exist only as text."""


class Verdict(StrEnum):
    """What is known about a pair of peers."""

    BREAKS = "breaks"
    """A message proves it, and no undeclared capability keeps the peers from sending it."""
    COMPATIBLE = "compatible"
    """Every change in messages is proven harmless, or needs a capability that one of the peers does not declare."""
    NOT_PROVEN = "not proven"
    """Neither: there are changes that no message proves to break the peers and no proof excludes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """Whether a change is backward compatible.

    `deciding` are the findings that provably break a pair of peers, `undecided` those that may. `doubtful` are findings
    that a person should read: removed properties and messages that are now ignored, and requirements stated only as
    text.
    """

    verdicts: Mapping[Pair, Verdict]
    deciding: tuple[Finding, ...]
    undecided: tuple[Finding, ...]
    doubtful: tuple[Finding, ...]
    sentence: str

    @property
    def verdict(self) -> Verdict:
        """The verdict on all pairs of peers, which is the worst of them."""
        return min(self.verdicts.values(), key=[Verdict.BREAKS, Verdict.NOT_PROVEN, Verdict.COMPATIBLE].index)


def compatibility(findings: Iterable[Finding]) -> Compatibility:
    """Judge a change by all its findings, in both views, after the search for witnesses."""
    found = tuple(findings)
    verdicts = {pair: verdict(found, pair) for pair in Pair}
    deciding = tuple(f for f in found if f.proven - f.gates.keys())
    undecided = tuple(f for f in found if not f.proven - f.gates.keys() and f.unproven - f.gates.keys())
    doubtful = tuple(f for f in found if not f.breaks and _is_doubtful(f))
    sentence = _sentence(deciding, undecided, is_dated=any(f.rule is PROTOCOL_VERSION_CHANGED for f in found))
    return Compatibility(
        verdicts=verdicts,
        deciding=deciding,
        undecided=undecided,
        doubtful=doubtful,
        sentence=f"{sentence}{_doubt(doubtful)}",
    )


def verdict(findings: Iterable[Finding], pair: Pair) -> Verdict:
    """Return the verdict on one pair of peers."""
    ungated = [finding for finding in findings if pair not in finding.gates]
    if any(pair in finding.proven for finding in ungated):
        return Verdict.BREAKS
    return Verdict.NOT_PROVEN if any(pair in finding.unproven for finding in ungated) else Verdict.COMPATIBLE


def _is_doubtful(finding: Finding) -> bool:
    if finding.rule.view is View.SOURCE:
        return finding.rule in _NEEDS_A_READER
    return finding.rule.severity is not Severity.INFO


def _sentence(deciding: tuple[Finding, ...], undecided: tuple[Finding, ...], *, is_dated: bool) -> str:
    if deciding:
        after = "the revision already has a new date" if is_dated else "the revision needs a new date"
        return f"The change is not backward compatible ({count(len(deciding), 'finding')}): {after}."
    if undecided:
        return (
            f"It is not proven that the change is backward compatible ({count(len(undecided), 'finding')})."
            " Rule the breaks out, or accept each finding in a baseline with a reason."
        )
    after = "the revision did not need a new date" if is_dated else "the revision may keep its date"
    return f"The change is backward compatible: {after}."


def _doubt(doubtful: tuple[Finding, ...]) -> str:
    if not doubtful:
        return ""
    what = "1 more change needs" if len(doubtful) == 1 else f"{len(doubtful)} more changes need"
    return f" {what} human review."
