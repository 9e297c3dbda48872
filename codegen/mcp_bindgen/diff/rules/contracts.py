"""Rules for a server's own tools: what `mcp-bindgen tools check` finds between a contract and a live server."""

from mcp_bindgen.diff.rule import Change, Rule, Severity

_CONTRACT = "A contract is compared in one direction: what a caller that was written for it meets."

TOOL_REMOVED = Rule(
    id="tool-removed",
    purpose="A tool is gone, so calls of it fail.",
    change=Change.NARROWS,
    advice="Keep the old name beside the new one, or generate the client anew and change its callers.",
    unmirrored=_CONTRACT,
)
TOOL_INPUT_NARROWED = Rule(
    id="tool-input-narrowed",
    purpose="Arguments that a tool accepted may be refused now.",
    change=Change.NARROWS,
    advice="Let the schema accept what it accepted: make new arguments optional, keep old values.",
    unmirrored=_CONTRACT,
)
TOOL_OUTPUT_WIDENED = Rule(
    id="tool-output-widened",
    purpose="Structured content may hold now what callers could rely on never to see.",
    change=Change.WIDENS,
    advice="Keep what the schema promised, or let callers read the new form first.",
    unmirrored=_CONTRACT,
)
TOOL_TASK_SUPPORT_CHANGED = Rule(
    id="tool-task-support-changed",
    purpose="Whether a tool runs as a task changed, so that calls which worked may be refused.",
    change=Change.NARROWS,
    advice="Leave it optional for as long as callers rely on either way.",
    unprovable="no schema says whether a call runs as a task",
    unmirrored=_CONTRACT,
)
TOOL_LISTED_TWICE = Rule(
    id="tool-listed-twice",
    purpose="A tool is listed twice; the first one counts.",
    advice="List each tool once: clients do not agree on which one to call.",
    severity=Severity.WARNING,
    unmirrored=_CONTRACT,
)
TOOL_LESS_SAFE = Rule(
    id="tool-less-safe",
    purpose="A tool says now that it may do more harm than it said before.",
    advice="Look whether programs or people allowed it because of what it said.",
    severity=Severity.WARNING,
    unmirrored=_CONTRACT,
)
TOOL_ADDED = Rule(
    id="tool-added",
    purpose="A tool exists that did not.",
    advice="Nothing to do; generate the client anew to call it.",
    unmirrored=_CONTRACT,
)
TOOL_CHANGED = Rule(
    id="tool-changed",
    purpose="A tool changed in a way that breaks no caller.",
    advice="Nothing to do; generate the client anew to see it in the types.",
    unmirrored=_CONTRACT,
)
TOOL_DESCRIPTION_CHANGED = Rule(
    id="tool-description-changed",
    purpose="A tool describes itself in other words.",
    advice="Read them: a model chooses and uses tools by their descriptions.",
    unmirrored=_CONTRACT,
)
