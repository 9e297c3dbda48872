"""What is decided by hand: how a revision is told what it has no form for, or why it cannot be.

A row that fits no difference between two neighbouring legacy revisions is stale, and an error (`stale`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RULE_SPLIT = "split"
"""The name of the conversion that makes several items of a list out of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One decision.

    Attributes:
        rule: the rule of the diff that sees the difference.
        places: where, as the diff names places.
        value: what only the newer side has there, as the diff spells it.
        kind: the name by which a user's policy chooses.
        convert: the function of `mcp_runtime.bridge.fallbacks` that says it otherwise; empty if nothing does.
        says: what becomes of it, for people.
        reason: why so.
    """

    rule: str
    places: tuple[str, ...]
    value: str
    kind: str
    convert: str = ""
    says: str
    reason: str

    def fits(self, rule: str, place: str, value: str) -> bool:
        """Whether the row is about a difference."""
        return self.rule == rule and place in self.places and value == self.value


ROWS: tuple[Row, ...] = (
    Row(
        rule="union-member-added",
        places=(
            "CreateMessageResult.content",
            "CallToolResult.content[]",
            "PromptMessage.content",
            "SamplingMessage.content",
        ),
        value="AudioContent",
        kind="audio",
        convert="describe",
        says="a text that names the media type and the size",
        reason="Content that a client does not know fails its whole message; a model that reads the text knows of it.",
    ),
    Row(
        rule="union-member-added",
        places=("CallToolResult.content[]", "PromptMessage.content"),
        value="ResourceLink",
        kind="resource_link",
        convert="describe",
        says="a text with its name, title, description, media type and address",
        reason="An embedded resource would need the contents, which a link has not; the address lets a client read it.",
    ),
    Row(
        rule="property-added-optional",
        places=("CallToolResult.structuredContent",),
        value="{ [key: string]: any }",
        kind="structured_content",
        convert="say_structured",
        says="its JSON as a text block, unless a text block says the same; the member itself is sent along",
        reason="A client that does not know the member reads the content alone.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParamsRequestedSchema.properties{}",),
        value="TitledSingleSelectEnumSchema",
        kind="titled_enum",
        convert="name_titles",
        says="the older form, with `enum` and `enumNames`",
        reason="The older client would take it for a free text, since it does not know `oneOf`.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParamsRequestedSchema.properties{}",),
        value="UntitledSingleSelectEnumSchema",
        kind="untitled_enum",
        says="the same, which is an `EnumSchema` there",
        reason="Both revisions admit it; only the name of its definition is new.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParamsRequestedSchema.properties{}",),
        value="TitledMultiSelectEnumSchema",
        kind="multi_select",
        says="the request is refused",
        reason="No older form lets a person choose several values, and an answer of another type would be no answer.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParamsRequestedSchema.properties{}",),
        value="UntitledMultiSelectEnumSchema",
        kind="multi_select",
        says="the request is refused",
        reason="No older form lets a person choose several values, and an answer of another type would be no answer.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitResult.content{}",),
        value="string[]",
        kind="multi_select",
        convert="join_strings",
        says="one string, with commas",
        reason="An older server cannot have asked for several values, so it gets what is closest to them.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParams",),
        value="ElicitRequestURLParams",
        kind="url_elicitation",
        says="the request is refused",
        reason="A form cannot lead to a web page, and what is asked there must not pass through the client.",
    ),
    Row(
        rule="union-member-added",
        places=("SamplingMessage.content",),
        value="SamplingMessageContentBlock[]",
        kind="content_list",
        convert=RULE_SPLIT,
        says="a message of the same role for each block",
        reason="Messages of one role may follow each other, so that no block is lost.",
    ),
    Row(
        rule="union-member-added",
        places=("CreateMessageResult.content",),
        value="SamplingMessageContentBlock[]",
        kind="content_list",
        convert="join",
        says="the only block, or one text that says what each block was",
        reason="The older result holds one block, and there is only one result.",
    ),
    Row(
        rule="union-member-added",
        places=("SamplingMessage.content", "CreateMessageResult.content"),
        value="ToolUseContent",
        kind="tool_use",
        convert="describe",
        says="a text with the name of the tool and its arguments",
        reason="The older peer offered no tools to the model, so this is only history for it to read.",
    ),
    Row(
        rule="union-member-added",
        places=("SamplingMessage.content", "CreateMessageResult.content"),
        value="ToolResultContent",
        kind="tool_result",
        convert="describe",
        says="a text with what the tool answered",
        reason="The older peer offered no tools to the model, so this is only history for it to read.",
    ),
    Row(
        rule="result-alternative-added",
        places=("CallToolResult", "CreateMessageResult", "ElicitResult"),
        value="CreateTaskResult",
        kind="task",
        says="the result is refused",
        reason="Who does not know tasks did not ask for one, and could not get its outcome.",
    ),
    Row(
        rule="property-now-optional",
        places=("CancelledNotificationParams.requestId",),
        value="optional",
        kind="task_cancelled",
        says="the notification is refused",
        reason="Without the id it can only be about a task, which the older revision does not have.",
    ),
)
"""Every decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingRow:
    """A difference of the frame around messages, which the session sees to: no conversion of params or results.

    `between` names the neighbours that it stands between.
    """

    place: str
    rules: tuple[str, ...]
    between: tuple[tuple[str, str], ...]
    says: str


FRAMING: tuple[FramingRow, ...] = (
    FramingRow(
        place="JSONRPCMessage",
        rules=("jsonrpc-message-form-added", "jsonrpc-message-form-removed"),
        between=(("2024-11-05", "2025-03-26"), ("2025-03-26", "2025-06-18")),
        says="batches are read in the one revision that has them, refused in the others, and never begun",
    ),
    FramingRow(
        place="JSONRPCError.id",
        rules=("property-now-optional",),
        between=(("2025-06-18", "2025-11-25"),),
        says="an error in answer to a request has its id in every revision; one without is read in all of them",
    ),
    FramingRow(
        place="URL_ELICITATION_REQUIRED",
        rules=("error-code-added",),
        between=(("2025-06-18", "2025-11-25"),),
        says="an error code passes as it is; who does not know it takes it for a failure like any other",
    ),
)
"""What the session sees to."""


class Rows:
    """Looks rows up, and knows which of them were of use."""

    def __init__(self, rows: Iterable[Row] = ROWS) -> None:
        self._rows = tuple(rows)
        self._used: set[tuple[int, str]] = set()

    def find(self, rule: str, place: str, value: str) -> Row | None:
        """Return the row about a difference, None if there is none."""
        for index, row in enumerate(self._rows):
            if row.fits(rule, place, value):
                self._used.add((index, place))
                return row
        return None

    def stale(self) -> Sequence[str]:
        """Return what rows name that was looked up by nobody: rule, place and value."""
        return [
            f"{row.rule} {place} {row.value}"
            for index, row in enumerate(self._rows)
            for place in row.places
            if (index, place) not in self._used
        ]
