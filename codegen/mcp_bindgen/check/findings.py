"""What is wrong with a server: which requirement it breaks, in which revisions, and the messages that show it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from mcp_bindgen.check.client import Said
from mcp_bindgen.check.requirements import REVISIONS, Row, row_of, rows
from mcp_bindgen.findings.severity import Severity

if TYPE_CHECKING:
    from mcp_runtime.observe.observer import Finding as Wrong

SITE: Final = "https://modelcontextprotocol.io/specification"
OTHERWISE: Final = "messages.base-protocol"
"""The requirement that any other message breaks: it is not one of the revision, in its place."""
UNSURE: Final = re.compile(
    "disguise|file URI|cannot be shown|a user name|is a request, which needs an id|elicitation had this id"
    "|Schema/properties/[^/]*: Input should be a valid dictionary"
    "|a number is too large|number out of range|nested deeper than|more than [0-9,]+ values|surrogate|hex escape"
    "|the same name twice"
)
"""What may be right: the observer is stricter than the specification about URLs, a client that retries may get the same
elicitation, `true` is a JSON Schema though the protocol's own schema has only objects there, and JSON allows more than
the observer reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause.

    Attributes:
        requirement: the id of the row that is broken.
        place: what it is about, such as a tool; empty for the server.
        revisions: the revisions in which it was seen.
        reason: what is wrong.
        said: messages that show it.
        probe: the requirement whose probe found it.
        also: requirements that are broken for the same cause.
        shown: the revision of the messages; empty if it is the only one.
    """

    requirement: str
    place: str
    revisions: tuple[str, ...]
    reason: str
    said: tuple[Said, ...]
    probe: str
    also: tuple[str, ...] = ()
    shown: str = ""

    @property
    def revision(self) -> str:
        """The revision in which its messages were sent."""
        return self.shown or self.revisions[0]

    @property
    def row(self) -> Row:
        """The requirement."""
        return row_of(self.requirement)

    @property
    def rule_id(self) -> str:
        """The requirement, as a baseline names it."""
        return self.requirement

    @property
    def places(self) -> frozenset[str]:
        """The place, as a baseline names it."""
        return frozenset((self.place,))

    @property
    def severity(self) -> Severity:
        """What the requirement is in these revisions: an error for a MUST, a warning for a SHOULD, or a note."""
        if any(revision in self.row.must for revision in self.revisions):
            return Severity.ERROR
        return Severity.INFO if self.requirement.startswith("contract.") else Severity.WARNING

    @property
    def link(self) -> str:
        """The address of the page that states it, in the revision of the messages; empty if no page does."""
        page = self.row.page_in(self.revision)
        return f"{SITE}/{self.revision}/{page}" if page else ""

    @property
    def fingerprint(self) -> str:
        """What identifies it over time."""
        return sha256(f"{self.requirement} {self.place}".encode("utf-8", "backslashreplace")).hexdigest()[:16]


def requirement_of(wrong: "Wrong", asked: str, text: str, revision: str, *, is_http: bool) -> str | None:
    """Return the id of the requirement that a message of the server breaks; None if that is not certain.

    Args:
        wrong: what the observer says.
        asked: the last message of the client.
        text: the message.
        revision: the revision of the conversation.
        is_http: whether messages are not lines, but bodies.
    """
    told = f"{wrong.method or ''} {wrong.pointer}: {wrong.reason}\n> {asked}\n< {text}"
    is_of_questions = "the same name twice" in wrong.reason and '"inputRequests"' in text
    if UNSURE.search(f"{wrong.pointer}: {wrong.reason}") and not is_of_questions:
        return None
    fitting = (id_ for id_, row in rows().items() if row.seen and revision in row.revisions)
    fitting = (id_ for id_ in fitting if not (is_http and id_.startswith("stdio.")))
    return next((id_ for id_ in fitting if re.search(rows()[id_].seen, told)), OTHERWISE)


def folded(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return one finding for each cause, with the revisions of all; errors come first."""
    found: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        first = found.setdefault((finding.requirement, finding.place), finding)
        revisions = sorted({*first.revisions, *finding.revisions}, key=REVISIONS.index)
        found[first.requirement, first.place] = replace(first, revisions=tuple(revisions), shown=first.revision)
    causes: dict[tuple[str, str], Finding] = {}
    effects: dict[str, list[str]] = {}
    for key, finding in found.items():
        cause = next((each for each in finding.row.follows if any(each == id_ for id_, _ in found)), None)
        if cause is None:
            causes[key] = finding
        else:
            effects.setdefault(cause, []).append(finding.requirement)
    told = [replace(each, also=tuple(effects.get(each.requirement, ()))) for each in causes.values()]
    return tuple(sorted(told, key=lambda each: (each.severity.rank, each.requirement)))
