"""Decisions about calls before they are sent, and what a model is told of refused ones."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp_runtime.host.catalogue import HostTool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that a model wants to make; its arguments fit the tool's schema.

    Attributes:
        tool: the tool.
        arguments: its arguments, keyed by wire names.
        ctx: the context of the client's request that the call is made for, where an App offers the host's tools
            (`mcp_runtime.gateway`); otherwise None.
    """

    tool: HostTool
    arguments: Mapping[str, Any]
    ctx: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """The decision not to make a call.

    Attributes:
        reason: a text for the model.
    """

    reason: str


Decision: TypeAlias = ToolCall | Refused | bool
"""Whether a call is made; a `ToolCall` of the same tool replaces its arguments."""
Policy: TypeAlias = Callable[[ToolCall], Awaitable[Decision]]


async def allow_all(call: ToolCall) -> Decision:
    """Allow every call.

    Args:
        call: the call.
    """
    return True


async def read_only(call: ToolCall) -> Decision:
    """Allow tools of trusted servers that say they do not modify their environment (``readOnlyHint``).

    Args:
        call: the call.
    """
    if call.tool.hint("readOnlyHint"):
        return True
    untrusted = "" if call.tool.is_trusted else ", and its server is not trusted"
    return Refused(f"{call.tool.name} may change something{untrusted}; only reading is allowed")


def ask_unless_read_only(ask: Policy) -> Policy:
    """Return a policy that allows tools of trusted servers which say they only read, and asks about others.

    Args:
        ask: decides about those.
    """

    async def decide(call: ToolCall) -> Decision:
        return call.tool.hint("readOnlyHint") or await ask(call)

    return decide
