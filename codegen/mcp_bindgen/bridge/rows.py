"""Manual decisions: how to express for a revision what it has no form for, or why that is impossible.

A row that matches no difference between two adjacent revisions is stale, which is an error (`stale`).
"""

from collections.abc import Iterable, Sequence

from mcp_bindgen.bridge.eras import ERA_FRAMING, ERA_ROWS
from mcp_bindgen.bridge.row import RULE_SPLIT, FramingRow, Row

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
        reason="An unknown kind of content would invalidate the whole message; a model can read the text.",
    ),
    Row(
        rule="union-member-added",
        places=("CallToolResult.content[]", "PromptMessage.content"),
        value="ResourceLink",
        kind="resource_link",
        convert="describe",
        says="a text with its name, title, description, media type and address",
        reason="An embedded resource needs the contents, which a link does not have; a client can read the address.",
    ),
    Row(
        rule="property-added-optional",
        places=("CallToolResult.structuredContent",),
        value="{ [key: string]: any }",
        kind="structured_content",
        convert="say_structured",
        says="its JSON as a text block, unless a text block has the same content; the property itself is sent along",
        reason="A client that does not know the property reads only the content.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParamsRequestedSchema.properties{}",),
        value="TitledSingleSelectEnumSchema",
        kind="titled_enum",
        convert="name_titles",
        says="the older form, with `enum` and `enumNames`",
        reason="The older client would treat it as free text, since it does not know `oneOf`.",
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
        reason="No older form allows choosing several values, and an answer of another type would not be valid.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParamsRequestedSchema.properties{}",),
        value="UntitledMultiSelectEnumSchema",
        kind="multi_select",
        says="the request is refused",
        reason="No older form allows choosing several values, and an answer of another type would not be valid.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitResult.content{}",),
        value="string[]",
        kind="multi_select",
        convert="join_strings",
        says="one string, with commas",
        reason="An older server cannot have asked for several values, so it gets the closest form.",
    ),
    Row(
        rule="union-member-added",
        places=("ElicitRequestParams",),
        value="ElicitRequestURLParams",
        kind="url_elicitation",
        says="the request is refused",
        reason="A form cannot open a web page, and the input there must not pass through the client.",
    ),
    Row(
        rule="union-member-added",
        places=("SamplingMessage.content",),
        value="SamplingMessageContentBlock[]",
        kind="content_list",
        convert=RULE_SPLIT,
        says="a message of the same role for each block",
        reason="Consecutive messages may have the same role, so no block is lost.",
    ),
    Row(
        rule="union-member-added",
        places=("CreateMessageResult.content",),
        value="SamplingMessageContentBlock[]",
        kind="content_list",
        convert="join",
        says="the only block, or one text that describes each block",
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
        says="a text with the result of the tool",
        reason="The older peer offered no tools to the model, so this is only history for it to read.",
    ),
    Row(
        rule="result-alternative-added",
        places=("CallToolResult", "CreateMessageResult", "ElicitResult"),
        value="CreateTaskResult",
        kind="task",
        says="the result is refused",
        reason="A peer without tasks did not request one, and could not fetch its result.",
    ),
    Row(
        rule="property-now-optional",
        places=("CancelledNotificationParams.requestId",),
        value="optional",
        kind="task_cancelled",
        says="the notification is refused",
        reason="Without the id it can only be about a task, which the older revision does not have.",
    ),
    Row(
        rule="property-now-required",
        places=("CancelledNotificationParams.requestId",),
        value="required",
        kind="task_cancelled",
        says="the notification is refused",
        reason="Without the id it can only be about a task, and core 2026-07-28 has none.",
    ),
    Row(
        rule="result-alternative-removed",
        places=("CallToolResult", "CreateMessageResult", "ElicitResult"),
        value="CreateTaskResult",
        kind="task",
        says="the result is refused",
        reason="Tasks are an extension from 2026-07-28 on; core has no place for them.",
    ),
    Row(
        rule="result-alternative-added",
        places=("CallToolResult", "GetPromptResult", "ReadResourceResult"),
        value="InputRequiredResult",
        kind="input_required",
        says="its questions are asked as requests, and the handler is called again with the answers",
        reason="An older server asks its client with its own requests.",
    ),
    Row(
        rule="property-removed-required",
        places=("ElicitRequestURLParams.elicitationId",),
        value="string",
        kind="elicitation_id",
        convert="new_id",
        says="a generated id",
        reason="The older client uses it to match the completion notification, which is never sent.",
    ),
    Row(
        rule="type-widened",
        places=("CallToolResult.structuredContent", "ToolResultContent.structuredContent"),
        value="any",
        kind="structured_value",
        convert="say_structured",
        says="a value other than an object becomes a text block, unless one has the same content",
        reason="The older revision admits only objects there, and a client may refuse the result.",
    ),
    Row(
        rule="property-removed-required",
        places=("ToolOutputSchema.type",),
        value='"object"',
        kind="output_schema",
        convert="leave_out",
        says="a schema other than an object is omitted, along with the tool's promise to follow it",
        reason="The older revision admits only schemas of objects, and the content is sent as text.",
    ),
    Row(
        rule="constraint-added",
        places=("CompleteResultCompletion.values",),
        value="max items 100",
        kind="completions",
        convert="first_hundred",
        says="the first hundred values",
        reason="The older text had the same limit, but its schema did not.",
        way="up",
    ),
    *ERA_ROWS,
)
"""Every decision."""


FRAMING: tuple[FramingRow, ...] = (
    FramingRow(
        place="JSONRPCMessage",
        rules=("jsonrpc-message-form-added", "jsonrpc-message-form-removed"),
        between=(("2024-11-05", "2025-03-26"), ("2025-03-26", "2025-06-18")),
        says="batches are accepted in the one revision that has them, refused in the others, and never sent",
    ),
    FramingRow(
        place="JSONRPCError.id",
        rules=("property-now-optional",),
        between=(("2025-06-18", "2025-11-25"),),
        says="an error response to a request has its id in every revision; one without an id is accepted in all",
    ),
    FramingRow(
        place="URL_ELICITATION_REQUIRED",
        rules=("error-code-added",),
        between=(("2025-06-18", "2025-11-25"),),
        says="error codes pass unchanged; peers treat unknown codes like any other failure",
    ),
    *ERA_FRAMING,
)
"""Differences that the session handles."""


class Rows:
    """Looks up rows, and records which of them matched."""

    def __init__(self, rows: Iterable[Row] = ROWS) -> None:
        self._rows = tuple(rows)
        self._used: set[tuple[int, str]] = set()

    def find(self, rule: str, place: str, value: str) -> Row | None:
        """Return the row that covers a difference, or None."""
        for index, row in enumerate(self._rows):
            if row.fits(rule, place, value):
                self._used.add((index, place))
                return row
        return None

    def stale(self) -> Sequence[str]:
        """Return the parts of rows that never matched: rule, place and value."""
        return [
            f"{row.rule} {place} {row.value}"
            for index, row in enumerate(self._rows)
            for place in row.places
            if (index, place) not in self._used
        ]
