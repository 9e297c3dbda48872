"""What a migration guide is about: the findings of a comparison, by topic of the protocol."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.diff.report.model import Judged
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules.messages import ERROR_CODE_RENUMBERED, RESULT_ALTERNATIVE_ADDED
from mcp_bindgen.diff.rules.properties import PROPERTY_ADDED_REQUIRED
from mcp_bindgen.ingest.paths import read_toml, shipped
from mcp_bindgen.ingest.revisions import released

TOPICS: Mapping[str, str] = {
    "Caching": r"\.(ttlMs|cacheScope)$",
    "Errors": r"^[A-Z]+(_[A-Z]+)+$|Error(\.|$|Response)",
    "Results and messages": r"\.resultType$|^ResultType|^JSONRPC|^(Client|Server)Result$|^Result(\.|$)",
    "Tasks": r"[Tt]ask",
    "Handshake and metadata": (
        r"^initialize$|^notifications/initialized$|^ping$|^server/discover$|^Initialize|^Discover|^Ping"
        r"|RequestMetaObject|RequestParamsMeta|^MetaObject|_meta$|^Implementation|^(List\w+|Paginated)Request(Params)?\.params"
    ),
    "Capabilities": r"Capabilities",
    "Input requests: sampling, elicitation, roots": (
        r"^sampling/|^elicitation/|^roots/|^notifications/(elicitation|roots)/|^InputRe|InputRequired|^Elicit"
        r"|^CreateMessage|^Sampling|^Root|^ListRoots|^Model(Hint|Preferences)|^ToolChoice|^Tool(Use|Result)Content"
    ),
    "Subscriptions": r"subscri|^Subscri|^Unsubscri|^Subscriptions|/list_changed$|^notifications/resources/",
    "Tools": r"^tools/|^(Call|List)?Tools?([A-Z.]|$)|^CallTool",
    "Resources": r"^resources/|Resource",
    "Prompts": r"^prompts/|Prompt",
    "Completion": r"^completion/|^Complete",
    "Logging, progress and cancellation": r"^logging/|Log|[Pp]rogress|[Cc]ancelled|^notifications/message",
    "Content": r"Content|Annotations|Icon|^BaseMetadata",
}
"""The parts of the protocol, each with what belongs to it.

That is a regular expression that some name of a finding matches: of its place, of a reading, or of the method if all
its messages are of one.
"""
OTHER = "Everything else"
"""The topic of everything that belongs to no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A sentence that a guide adds if a rule finds something at a place; `reason` gives the source.

    `new` is what the finding must say of the new side, if it matters.
    """

    topic: str
    rule: Rule
    place: str
    text: str
    reason: str
    new: str = ""

    def applies(self, findings: Iterable[Judged], topic: str) -> bool:
        """Whether the sentence belongs to a topic of a comparison with these findings."""
        return topic == self.topic and any(
            judged.rule is self.rule
            and re.search(self.place, judged.finding.place)
            and self.new in ("", judged.finding.new)
            for judged in findings
        )


NOTES = (
    Note(
        topic="Results and messages",
        rule=PROPERTY_ADDED_REQUIRED,
        place=r"\.resultType$",
        text="A client treats a result without `resultType`, as sent by servers of older revisions, as `complete`.",
        reason="2026-07-28 schema, Result.resultType",
    ),
    Note(
        topic="Input requests: sampling, elicitation, roots",
        rule=RESULT_ALTERNATIVE_ADDED,
        place=r"^CallToolResult$",
        new="InputRequiredResult",
        text="A server asks by answering with an `InputRequiredResult`; the client sends its request again, with the"
        " answers in `inputResponses`.",
        reason="2026-07-28 basic/patterns/mrtr",
    ),
    Note(
        topic="Errors",
        rule=ERROR_CODE_RENUMBERED,
        place=r"^RESOURCE_NOT_FOUND$",
        text="An unknown resource is reported as invalid params. Clients should accept the old code as well.",
        reason="2026-07-28 server/resources, Error Handling",
    ),
)
"""Sentences that do not follow from findings. One that applies to no pair of released revisions fails a test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """The points below a heading of the changelog of a revision that no schema shows, each in our own words."""

    revision: str
    heading: str
    points: tuple[str, ...]

    @property
    def link(self) -> str:
        """The address of the heading."""
        anchor = self.heading.lower().replace(" ", "-")
        return f"https://modelcontextprotocol.io/specification/{self.revision}/changelog#{anchor}"


def prose_between(old: str, new: str) -> Iterator[Prose]:
    """Iterate over what the changelogs from one released revision to a later one add to the schemas."""
    listed = read_toml(shipped("schema") / "changelog.toml") if old in released() and new in released() else {}
    for revision, headings in listed.items():
        for heading, points in headings.items() if old < revision <= new else ():
            yield Prose(revision=revision, heading=heading, points=tuple(points.values()))


def by_topic(findings: Iterable[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """Iterate over the topics that findings belong to, in their order; each finding is in the first that fits."""
    groups: dict[str, list[Judged]] = {}
    for judged in findings:
        groups.setdefault(topic_of(judged), []).append(judged)
    for topic in (*TOPICS, OTHER):
        if topic in groups:
            yield topic, groups[topic]


def topic_of(judged: Judged) -> str:
    """Return the topic that a finding belongs to."""
    finding = judged.finding
    names = [finding.place, finding.now, finding.old, finding.new]
    names += finding.methods if len(finding.methods) == 1 else ()
    fitting = (topic for topic, about in TOPICS.items() if any(re.search(about, name) for name in names if name))
    return next(fitting, OTHER)
