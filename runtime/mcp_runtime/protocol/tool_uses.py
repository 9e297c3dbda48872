"""Uses of tools and their results in the messages of sampling (2025-11-25, client/sampling)."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_runtime.protocol.jsonrpc import is_array, is_object


def unbalanced(messages: Sequence[Any]) -> tuple[int, str] | None:
    """Return the first message in which uses of tools and results do not belong together, and why; None if all do.

    A message with results of tools has nothing else in it, and comes from the user. A message that uses tools comes
    from the assistant, and the next one has exactly one result for each use.

    Args:
        messages: by wire names; those of revisions before 2025-11-25 have no tools.
    """
    open_uses: Sequence[str] = ()
    for number, message in enumerate(messages):
        blocks, role = _blocks(message), message.get("role") if is_object(message) else None
        results = [block for block in blocks if block.get("type") == "tool_result"]
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if results and (len(results) < len(blocks) or role != "user"):
            return number, "results of tools come in a message of the user with nothing else in it"
        if uses and role != "assistant":
            return number, "only the assistant uses tools"
        answered = [str(result.get("toolUseId")) for result in results]
        if sorted(answered) != sorted(open_uses):
            missing = "a use of a tool has no result in the next message"
            extra = "a result belongs to no use of a tool in the message before"
            return number, missing if set(open_uses) - set(answered) else extra
        open_uses = [str(use.get("id")) for use in uses]
        if len(set(open_uses)) < len(open_uses):
            return number, "two uses of tools have the same id"
    return (len(messages) - 1, "a use of a tool has no result in the next message") if open_uses else None


def _blocks(message: Any) -> list[Mapping[str, Any]]:
    content: Any = message.get("content") if is_object(message) else None
    return [block for block in (content if is_array(content) else [content]) if is_object(block)]
