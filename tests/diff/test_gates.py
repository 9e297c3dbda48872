"""Gates that protect two peers from breaks between released revisions: capabilities and params that one lacks."""

from itertools import pairwise

from mcp_bindgen.diff.finding import Pair
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.gates import OPTED_IN
from mcp_bindgen.load.protocol import load_released
from support.samples import TRANSCRIBED


def test_gates_protect_peers_that_cannot_declare_a_feature() -> None:
    """A client of 2025-06-18 cannot declare tasks or URL elicitation."""
    pairs = [(load_released(old), load_released(new)) for old, new in pairwise(TRANSCRIBED)]
    found = [f for old, new in pairs for f in compare_messages(old, new)]
    gates = {(f.rule.id, f.place, f.new): dict(f.gates) for f in found if f.gates}
    old, new = Pair.OLD_CLIENT, Pair.NEW_CLIENT
    tasks = {
        ("request-method-added", f"{message}Request", f"tasks/{method}"): {
            old: f"capability:client.tasks{rest}",
            new: f"capability:server.tasks{rest}",
        }
        for message, method, rest in (
            ("CancelTask", "cancel", ".cancel"),
            ("GetTask", "get", ""),
            ("GetTaskPayload", "result", ""),
            ("ListTasks", "list", ".list"),
        )
    }
    augmented = {
        ("result-alternative-added", "CallToolResult", "CreateTaskResult"): {old: "params.task"},
        ("result-alternative-added", "CreateMessageResult", "CreateTaskResult"): {new: "params.task"},
        ("result-alternative-added", "ElicitResult", "CreateTaskResult"): {new: "params.task"},
        ("result-alternative-removed", "CallToolResult", "-"): {new: "params.task"},
        ("result-alternative-removed", "CreateMessageResult", "-"): {old: "params.task"},
        ("result-alternative-removed", "ElicitResult", "-"): {old: "params.task"},
    }
    with_tools = {
        ("union-member-added", place, form): {pair: "capability:client.sampling.tools"}
        for place, pair in (("SamplingMessage.content", old), ("CreateMessageResult.content", new))
        for form in ("SamplingMessageContentBlock[]", "ToolResultContent", "ToolUseContent")
    }
    assert {(row.place, row.form) for row in OPTED_IN} == {(place, form) for _, place, form in with_tools}
    assert gates == {
        **augmented,
        **with_tools,
        ("request-method-added", "ElicitRequest", "elicitation/create"): {old: "capability:client.elicitation"},
        ("union-member-added", "ElicitRequestParams", "ElicitRequestURLParams"): {
            old: "capability:client.elicitation.url"
        },
        **tasks,
    }
