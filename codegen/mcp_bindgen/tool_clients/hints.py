"""The annotations of a tool: what its server says about the consequences of a call (specification, ToolAnnotations)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_bindgen.tool_clients.contract import Tool


@dataclass(frozen=True, slots=True)
class Hint:
    """One annotation.

    Attributes:
        name: its name on the wire.
        python: its name in Python.
        default: what a caller has to assume if the annotation is absent: the worst case.
        yes: what it says if it is true.
        no: what it says if it is false.
    """

    name: str
    python: str
    default: bool
    yes: str
    no: str


HINTS = (
    Hint("readOnlyHint", "read_only", False, "does not modify its environment", "may modify its environment"),
    Hint("destructiveHint", "destructive", True, "may make destructive changes", "only makes additive changes"),
    Hint(
        "idempotentHint",
        "idempotent",
        False,
        "repeating a call with the same arguments has no further effect",
        "repeating a call may have further effects",
    ),
    Hint("openWorldHint", "open_world", True, "may reach external systems", "stays within a closed domain"),
)
_OF_CHANGES = ("destructiveHint", "idempotentHint")
"""Hints that only apply to tools that modify something."""


def describe(tool: "Tool") -> str:
    """Return in words what a tool's annotations claim; a hint that is absent claims nothing."""
    stated = {hint: tool.hint(hint.name) for hint in HINTS}
    if tool.hint("readOnlyHint"):
        stated = {hint: value for hint, value in stated.items() if hint.name not in _OF_CHANGES}
    return "; ".join(hint.yes if value else hint.no for hint, value in stated.items() if value is not None)


def effective(tool: "Tool") -> dict[str, bool]:
    """Return what a tool's annotations claim, by the names of Python; one that modifies nothing destroys nothing."""
    stated = {hint.python: value for hint in HINTS if (value := tool.hint(hint.name)) is not None}
    return stated | ({"destructive": False} if tool.hint("readOnlyHint") else {})
