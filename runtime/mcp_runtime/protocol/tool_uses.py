"""Tool uses and tool results in the messages of sampling (2025-11-25, client/sampling)."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_runtime.protocol.jsonrpc import is_array, is_object


def unbalanced(messages: Sequence[Any]) -> tuple[int, str] | None:
    """Return the first message in which tool uses and results do not match, and why; None if all do.

    A message with tool results contains nothing else and comes from the user. A message that uses tools comes from the
    assistant, and the next one has exactly one result for each use.

    Args:
        messages: keyed by wire names; those of revisions before 2025-11-25 have no tools.
    """
    open_uses: Sequence[str] = ()
    for number, message in enumerate(messages):
        blocks, role = _blocks(message), message.get("role") if is_object(message) else None
        results = [block for block in blocks if block.get("type") == "tool_result"]
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if results and (len(results) < len(blocks) or role != "user"):
            return number, "tool results must be in a user message with nothing else in it"
        if uses and role != "assistant":
            return number, "only the assistant may use tools"
        answered = [str(result.get("toolUseId")) for result in results]
        if sorted(answered) != sorted(open_uses):
            missing = "a tool use has no result in the next message"
            extra = "a tool result does not belong to a tool use in the previous message"
            return number, missing if set(open_uses) - set(answered) else extra
        open_uses = [str(use.get("id")) for use in uses]
        if len(set(open_uses)) < len(open_uses):
            return number, "two tool uses have the same id"
    return (len(messages) - 1, "a tool use has no result in the next message") if open_uses else None


def _blocks(message: Any) -> list[Mapping[str, Any]]:
    content: Any = message.get("content") if is_object(message) else None
    return [block for block in (content if is_array(content) else [content]) if is_object(block)]
