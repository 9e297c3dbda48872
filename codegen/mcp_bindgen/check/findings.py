"""What is wrong with a server: which requirement it breaks, in which revisions, and the messages that show it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_bindgen.check.requirements import REVISIONS, Row, rows

SITE = "https://modelcontextprotocol.io/specification"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause.

    Attributes:
        requirement: the id of the row that is broken.
        revisions: the revisions in which it was seen.
        reason: what is wrong.
        said: messages that show it: whether the client sent each, and its text.
    """

    requirement: str
    revisions: tuple[str, ...]
    reason: str
    said: tuple[tuple[bool, str], ...]

    @property
    def row(self) -> Row:
        """The requirement."""
        return rows()[self.requirement]

    @property
    def is_error(self) -> bool:
        """Whether it is a MUST in one of the revisions; otherwise it is a warning."""
        return any(revision in self.row.must for revision in self.revisions)

    @property
    def link(self) -> str:
        """The address of the page that states it, in the newest of the revisions."""
        page = self.row.page.partition(",")[0]
        return f"{SITE}/{max(self.revisions)}/{page}"


def folded(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return one finding for each requirement, with the revisions of all and the first proof; errors come first."""
    found: dict[str, Finding] = {}
    for finding in findings:
        known = found.get(finding.requirement)
        if known is None:
            found[finding.requirement] = finding
        elif finding.revisions[0] not in known.revisions:
            revisions = sorted({*known.revisions, *finding.revisions}, key=REVISIONS.index)
            found[finding.requirement] = replace(known, revisions=tuple(revisions))
    return tuple(sorted(found.values(), key=lambda each: not each.is_error))
