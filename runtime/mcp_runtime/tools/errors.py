"""Errors of tool calls, differences between tools and the contract, and where values differ from a schema."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from mcp_runtime.core.connection.background import THREADS
from mcp_runtime.core.errors import McpError, clipped
from mcp_runtime.core.json.values import spell_pointer
from mcp_runtime.core.model import ABSENT
from mcp_runtime.core.protocol.validation import locate

if TYPE_CHECKING:
    from mcp_runtime.json_schema.check import Check, Mismatch, UnusableSchema

T = TypeVar("T")

CONTRACT: Final = ("inputSchema", "outputSchema", "annotations", "execution")
"""The properties of a tool that callers rely on."""
MAX_EMPTY: Final = 100
"""How many pages of a list may be empty in a row."""
_SHORT: Final = 10_000
"""The length of a schema, in characters, up to which values are checked without a thread."""
BRIEF: Final = 0.01
"""How many seconds of CPU time a check may block the event loop; beyond that it runs in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How a server's tools differ from those that a client was generated from; falsy if they do not.

    Attributes:
        added: new tools, which break no caller.
        removed: tools that no longer exist.
        changed: the parts of the contract that differ, by tool.
        unusable: tools that are listed in a way that is not valid.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unusable: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.unusable)

    def __str__(self) -> str:
        parts = [f"{clipped(name, 80)}: {', '.join(members)} changed" for name, members in self.changed.items()]
        parts += [f"{clipped(name, 80)} is gone" for name in self.removed]
        parts += [f"{clipped(name, 80)} is listed, but not valid" for name in self.unusable]
        parts += [f"{clipped(name, 80)} is new" for name in self.added]
        return "; ".join(parts) or "no drift"


class EndlessList(McpError):
    """The pages of a list repeat themselves."""


class ToolArgumentError(McpError, ValueError):
    """The arguments do not match the tool's schema; the tool was not called.

    Args:
        tool: the name of the tool.
        pointer: the location in the value, as a JSON pointer.
        reason: what is wrong there.
    """

    def __init__(self, tool: str, pointer: str, reason: str) -> None:
        super().__init__(f"{tool}: arguments{pointer and f' at {pointer}'}: {reason}")
        self.tool, self.pointer, self.reason = tool, pointer, reason


class ToolOutputError(McpError):
    """The structured content does not match the tool's schema; the tool did run. `content` has its content blocks.

    Args:
        tool: the name of the tool.
        pointer: the location in the value, as a JSON pointer.
        reason: what is wrong there.
    """

    content: tuple[Any, ...] = ()

    def __init__(self, tool: str, pointer: str, reason: str) -> None:
        super().__init__(f"{tool}: structured content{pointer and f' at {pointer}'}: {reason}")
        self.tool, self.pointer, self.reason = tool, pointer, reason


class ToolError(McpError):
    """A tool ran and reported a failure (``isError``).

    Attributes:
        tool: the name of the tool.
        content: its content blocks.
        structured: its structured content, if any.
    """

    def __init__(self, tool: str, content: tuple[Any, ...], structured: Any = None) -> None:
        super().__init__(f"{tool}: {clipped(text_of(content) or 'the tool failed and gave no reason')}")
        self.tool, self.content, self.structured = tool, content, structured


class UnknownTool(McpError, LookupError):
    """The contract has no tool of that name.

    Args:
        client: the name of the client class.
        tool: the name that was asked for.
        known: the names of the tools of the contract.
    """

    def __init__(self, client: str, tool: str, known: Iterable[str]) -> None:
        names = tuple(known)
        near = get_close_matches(tool, names, n=1)
        hint = f"did you mean {near[0]}?" if near else "`tools list` shows those of its server"
        super().__init__(f"{clipped(tool, 80)}: {client} has no such tool; {hint}")
        self.client, self.tool, self.known = client, tool, names


class ToolRefused(McpError):
    """The program does not allow a tool; it was not called.

    Args:
        tool: the name of the tool.
    """

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool}: this program does not allow it")
        self.tool = tool


class ToolDrift(McpError):
    """A server's tools are no longer those that its client was generated from.

    Args:
        client: the name of the client class.
        drift: how they differ.
    """

    def __init__(self, client: str, drift: Drift) -> None:
        super().__init__(f"{client}: {drift}; `mcp-bindgen tools check` shows whether callers break")
        self.client, self.drift = client, drift


def digest(value: Any) -> str:
    """Hash `value`, a JSON value; the order of properties does not matter."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def text_of(content: tuple[Any, ...]) -> str:
    """Return the text of all text blocks in `content`, separated by newlines."""
    return "\n".join(block.text for block in content if getattr(block, "type", "") == "text")


def structured_of(result: Any) -> Any:
    """Return the structured content of a result; in older revisions it is kept as an undeclared property."""
    known = getattr(result, "structured_content", None)
    extra: Mapping[str, Any] = result.model_extra or {}
    return extra.get("structuredContent") if known is None else None if known is ABSENT else known


def first_fault(error: ValidationError, value: Any) -> tuple[str, str]:
    """Return the location and the reason of the first validation error."""
    found = error.errors(include_url=False)[0]
    return spell_pointer(locate(found, value)), clipped(str(found["msg"]))


def mismatch_of(schema: str, value: Any) -> tuple[str, str] | None:
    """Return where a value does not match a schema, and why; None for schemas that cannot be evaluated.

    A value that takes too many steps to check does not match.
    """
    return _mismatch(value, compiled(schema)) if schema else None


async def find_mismatch_of(schema: str, value: Any) -> tuple[str, str] | None:
    """Return the same without blocking the event loop."""
    return await unblocking(schema, partial(_mismatch, value)) if schema else None


def _mismatch(value: Any, check: "Check | UnusableSchema", seconds: float | None = None) -> tuple[str, str] | None:
    from mcp_runtime.json_schema.check import ExhaustedSchema

    try:
        mismatch = find_mismatch(check, value, seconds)
    except ExhaustedSchema as error:
        if seconds == BRIEF:
            raise
        return "", f"cannot be checked: {error}"
    return (mismatch.pointer, mismatch.reason) if mismatch else None


async def unblocking(schema: str, work: "Callable[[Check | UnusableSchema, float], T]") -> T:
    """Do work with a peer's schema, given as text: at once if it takes little time, or else in a thread.

    Raises:
        ExhaustedSchema: the work raises it, also with the time that it has in a thread.
    """
    from mcp_runtime.json_schema.check import MAX_SECONDS, ExhaustedSchema

    if len(schema) <= _SHORT:
        with suppress(ExhaustedSchema):
            return work(compiled(schema), BRIEF)
    return await THREADS.run(lambda: work(compile_schema(schema), MAX_SECONDS))


def find_mismatch(check: "Check | UnusableSchema", value: Any, seconds: float | None = None) -> "Mismatch | None":
    """Return where a value does not match a compiled schema; None for schemas that cannot be evaluated.

    Raises:
        ExhaustedSchema: evaluating it takes too many steps, or more than these seconds of CPU time.
    """
    from mcp_runtime.json_schema.check import MAX_SECONDS, ExhaustedSchema, UnusableSchema

    try:
        if isinstance(check, UnusableSchema):
            raise check
        return check.find(value, MAX_SECONDS if seconds is None else seconds)
    except ExhaustedSchema:
        raise
    except UnusableSchema:
        return None


def compile_schema(schema: str) -> "Check | UnusableSchema":
    """Return a peer's schema, given as text, compiled; or why it cannot be."""
    from mcp_runtime.json_schema.check import Check, UnusableSchema

    try:
        return Check(json.loads(schema), is_trusted=False)
    except UnusableSchema as error:
        return error


@lru_cache(maxsize=1024)
def compiled(schema: str) -> "Check | UnusableSchema":
    """Return the same, compiled once; one thread may use it at a time."""
    return compile_schema(schema)


@lru_cache(maxsize=4096)
def adapter_of(type_: Any) -> TypeAdapter[Any]:
    """Return a type's validator and serializer; models bring their own configuration."""
    has_own = hasattr(type_, "model_config")
    return TypeAdapter[Any](type_, config=None if has_own else ConfigDict(strict=True))
