"""Rules for a server's own tools: what `mcp-bindgen tools check` finds between a contract and a live server."""

from mcp_bindgen.diff.rule import Change, Rule
from mcp_bindgen.findings.severity import Severity

TOOL_REMOVED = Rule(
    id="tool-removed",
    purpose="A tool was removed, so calls to it fail.",
    change=Change.NARROWS,
    advice="Keep the old name alongside the new one, or regenerate the client and update its callers.",
)
TOOL_INVALID = Rule(
    id="tool-invalid",
    purpose="A tool is still listed, but its entry is not valid, so clients leave it out.",
    change=Change.NARROWS,
    advice="Correct the entry on the server. A Host with this lock withholds the tool.",
    severity=Severity.WARNING,
)
TOOL_INPUT_NARROWED = Rule(
    id="tool-input-narrowed",
    purpose="Arguments that a tool used to accept may now be rejected.",
    change=Change.NARROWS,
    advice="Keep the schema backward compatible: make new arguments optional and keep old values.",
)
TOOL_OUTPUT_WIDENED = Rule(
    id="tool-output-widened",
    purpose="Structured content may now contain values that the old schema ruled out.",
    change=Change.WIDENS,
    advice="Keep to the old schema, or update callers first.",
)
TOOL_OUTPUT_PROPERTY_REMOVED = Rule(
    id="tool-output-property-removed",
    purpose="Structured content no longer has a property that callers may read, although the schema still allows it.",
    advice="Keep the property, or update the callers that read it first.",
    severity=Severity.WARNING,
)
TOOL_TASK_SUPPORT_CHANGED = Rule(
    id="tool-task-support-changed",
    purpose="A tool's task support changed, so calls that used to work may be rejected.",
    change=Change.NARROWS,
    advice="Keep task support optional while callers rely on it either way.",
    unprovable="no schema describes whether a call runs as a task",
)
TOOL_LISTED_TWICE = Rule(
    id="tool-listed-twice",
    purpose="Two tools have the same name; the first one is used.",
    advice="List each tool once: clients differ in which one they call.",
    severity=Severity.WARNING,
)
TOOL_LESS_SAFE = Rule(
    id="tool-less-safe",
    purpose="A tool's annotations now declare more risk than before.",
    advice="Check whether it was allowed on the strength of its old annotations.",
    severity=Severity.WARNING,
)
TOOL_ADDED = Rule(
    id="tool-added", purpose="A tool was added.", advice="No action needed; regenerate the client to call it."
)
TOOL_CHANGED = Rule(
    id="tool-changed",
    purpose="A tool changed without breaking any caller; also a text about its arguments, such as a default.",
    advice="Regenerate the client to see the change in its types. A Host with this lock withholds the tool.",
)
TOOL_DESCRIPTION_CHANGED = Rule(
    id="tool-description-changed",
    purpose="A tool's description changed.",
    advice="Read the new one: models choose and use tools by it. A Host with this lock withholds the tool.",
)
