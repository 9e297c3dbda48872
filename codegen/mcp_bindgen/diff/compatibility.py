"""Tell the authors of a schema whether a change may keep the date of its revision.

MCP names a revision by the date of its last backward-incompatible change: a compatible change keeps the date, any other
needs a new one (specification, Versioning). Two peers that agree on a date cannot detect which version of its schema
the other follows, so both versions must stay interoperable. Changes to Python source or wording do not affect that.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import Severity, View
from mcp_bindgen.diff.rules.annotations import DESCRIPTION_REQUIREMENTS_CHANGED, PROTOCOL_VERSION_CHANGED

_NEEDS_A_READER = (DESCRIPTION_REQUIREMENTS_CHANGED,)
"""Rules of the source view that can still indicate a break: some requirements exist only as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """Whether a change is backward compatible.

    `deciding` are the findings that provably break a peer of the other version and that no capability guards against;
    there are none if the change is compatible. `doubtful` are findings that a person must judge: breaks that no message
    proves, removed properties and messages that are now ignored, and requirements stated only as text.
    """

    compatible: bool
    deciding: tuple[Finding, ...]
    doubtful: tuple[Finding, ...]
    sentence: str


def compatibility(findings: Iterable[Finding]) -> Compatibility:
    """Judge a change by all its findings, in both views, after the search for witnesses."""
    found = tuple(findings)
    deciding = tuple(f for f in found if f.proven - f.gates.keys())
    doubtful = tuple(f for f in found if f not in deciding and _is_doubtful(f))
    return Compatibility(
        compatible=not deciding,
        deciding=deciding,
        doubtful=doubtful,
        sentence=f"{_sentence(deciding, _is_dated(found))}{_doubt(doubtful)}",
    )


def _is_doubtful(finding: Finding) -> bool:
    if finding.breaks:
        return bool(finding.unproven - finding.gates.keys())
    if finding.rule.view is View.SOURCE:
        return finding.rule in _NEEDS_A_READER
    return finding.rule.severity is not Severity.INFO


def _is_dated(findings: Iterable[Finding]) -> bool:
    """Whether the two sides already have different dates."""
    return any(f.rule is PROTOCOL_VERSION_CHANGED for f in findings)


def _sentence(deciding: tuple[Finding, ...], dated: bool) -> str:
    if not deciding:
        after = "the revision did not need a new date" if dated else "the revision may keep its date"
        return f"The change is backward compatible: {after}."
    number = f"{len(deciding)} finding{'' if len(deciding) == 1 else 's'}"
    after = "the revision needs the new date that it has" if dated else "the revision needs a new date"
    return f"The change is not backward compatible ({number}): {after}."


def _doubt(doubtful: tuple[Finding, ...]) -> str:
    if not doubtful:
        return ""
    what = "1 more change needs" if len(doubtful) == 1 else f"{len(doubtful)} more changes need"
    return f" {what} human review."
