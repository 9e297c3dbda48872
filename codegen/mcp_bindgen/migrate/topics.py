"""What a migration guide is about: the findings of a comparison, by topic of the protocol."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mcp_bindgen.diff.report.model import Judged
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules.messages import ERROR_CODE_RENUMBERED, RESULT_ALTERNATIVE_ADDED
from mcp_bindgen.diff.rules.properties import PROPERTY_ADDED_REQUIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A part of the protocol, and what belongs to it.

    `about` is a regular expression that some name of a finding matches: of its place, of a reading, or of the method if
    all its messages are of one.
    """

    title: str
    about: str


TOPICS = (
    Topic(title="Caching", about=r"\.(ttlMs|cacheScope)$"),
    Topic(title="Errors", about=r"^[A-Z]+(_[A-Z]+)+$|Error(\.|$|Response)"),
    Topic(
        title="Results and messages", about=r"\.resultType$|^ResultType|^JSONRPC|^(Client|Server)Result$|^Result(\.|$)"
    ),
    Topic(title="Tasks", about=r"[Tt]ask"),
    Topic(
        title="Handshake and metadata",
        about=r"^initialize$|^notifications/initialized$|^ping$|^server/discover$|^Initialize|^Discover|^Ping"
        r"|RequestMetaObject|RequestParamsMeta|^MetaObject|_meta$|^Implementation|^(List\w+|Paginated)Request(Params)?\.params",
    ),
    Topic(title="Capabilities", about=r"Capabilities"),
    Topic(
        title="Input requests: sampling, elicitation, roots",
        about=r"^sampling/|^elicitation/|^roots/|^notifications/(elicitation|roots)/|^InputRe|InputRequired|^Elicit"
        r"|^CreateMessage|^Sampling|^Root|^ListRoots|^Model(Hint|Preferences)|^ToolChoice|^Tool(Use|Result)Content",
    ),
    Topic(
        title="Subscriptions",
        about=r"subscri|^Subscri|^Unsubscri|^Subscriptions|/list_changed$|^notifications/resources/",
    ),
    Topic(title="Tools", about=r"^tools/|^(Call|List)?Tools?([A-Z.]|$)|^CallTool"),
    Topic(title="Resources", about=r"^resources/|Resource"),
    Topic(title="Prompts", about=r"^prompts/|Prompt"),
    Topic(title="Completion", about=r"^completion/|^Complete"),
    Topic(
        title="Logging, progress and cancellation",
        about=r"^logging/|Log|[Pp]rogress|[Cc]ancelled|^notifications/message",
    ),
    Topic(title="Content", about=r"Content|Annotations|Icon|^BaseMetadata"),
)
OTHER = Topic(title="Everything else", about=r"")
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

    def applies(self, findings: Iterable[Judged], topic: Topic) -> bool:
        """Whether the sentence belongs to a topic of a comparison with these findings."""
        return topic.title == self.topic and any(
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


def by_topic(findings: Iterable[Judged]) -> Iterator[tuple[Topic, list[Judged]]]:
    """Iterate over the topics that findings belong to, in their order; each finding is in the first that fits."""
    groups: dict[Topic, list[Judged]] = {}
    for judged in findings:
        groups.setdefault(topic_of(judged), []).append(judged)
    for topic in (*TOPICS, OTHER):
        if topic in groups:
            yield topic, groups[topic]


def topic_of(judged: Judged) -> Topic:
    """Return the topic that a finding belongs to."""
    finding = judged.finding
    names = [finding.place, finding.now, finding.old, finding.new]
    names += finding.methods if len(finding.methods) == 1 else ()
    fitting = (topic for topic in TOPICS if any(re.search(topic.about, name) for name in names if name))
    return next(fitting, OTHER)
