"""A view: the tools that one model sees, in the form of its provider's API, and the calls that it makes.

A view is older than its calls. Each call is checked, decided and sent by what the server offers then.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any, Final, Literal

from mcp_runtime.core.errors import ConnectionClosed, McpError, clipped
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.options import CallOptions
from mcp_runtime.host.calls import call_tool
from mcp_runtime.host.catalogue import Catalogue, HostTool, search
from mcp_runtime.host.dialects import anthropic, gemini, openai
from mcp_runtime.host.dialects.dialect import Dialect, Lowered
from mcp_runtime.host.dialects.lowering import lower
from mcp_runtime.host.dialects.reading import Inexpressible
from mcp_runtime.host.dialects.restoring import restore
from mcp_runtime.host.policy import Policy, Refused, ToolCall
from mcp_runtime.host.results import HostResult
from mcp_runtime.json_schema.check import Check, ExhaustedSchema, UnusableSchema
from mcp_runtime.tools.errors import find_mismatch, unblocking

_log: Final = logging.getLogger("mcp_runtime.host")
_ANYTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
"""The schema of any arguments, as every provider takes it."""
_AGAIN: Final = 30.0
"""How many seconds a call that may be repeated waits for its server to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The tools of a catalogue that a model may use; it lists the same ones when the servers change.

    Attributes:
        tools: the tools by name.
        omitted: how many more would match, but are too many.
        host: the `Host` that makes the calls.
    """

    tools: Mapping[str, HostTool]
    omitted: int = 0
    host: Any = field(repr=False)

    def search(self, words: str, limit: int = 10) -> "View":
        """Return the view of the tools that fit some words best, in that order.

        Args:
            words: what the tools should be about.
            limit: how many at the most.
        """
        found = search(self.tools.values(), words, limit)
        return replace(self, tools={tool.name: tool for tool in found}, omitted=len(self.tools) - len(found))

    def for_openai(
        self, *, strict: bool = True, api: Literal["responses", "chat"] = "responses"
    ) -> list[dict[str, Any]]:
        """Return the tools for the Responses API, or for the Chat Completions API.

        Args:
            strict: whether strict mode is used for each tool that it can express.
            api: the API.
        """
        write = openai.tool if api == "responses" else openai.chat_tool
        return self._written(write, openai.STRICT if strict else openai.LOOSE)

    def for_anthropic(self) -> list[dict[str, Any]]:
        """Return the tools for the Messages API."""
        return self._written(anthropic.tool, anthropic.RULES)

    def for_gemini(self) -> list[dict[str, Any]]:
        """Return the function declarations for Gemini."""
        return self._written(gemini.tool, gemini.RULES)

    def converted(self, name: str, dialect: Dialect) -> Lowered:
        """Return the schema of a tool in a dialect, with a report of what it lost.

        Args:
            name: the name of the tool.
            dialect: the rules of a provider (`mcp_runtime.host.dialects`).

        Raises:
            KeyError: the view has no such tool.
        """
        return _lowered(self.tools[name].schema_text, dialect)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        *,
        options: CallOptions | None = None,
        retry: bool = False,
        meta: Mapping[str, Any] | None = None,
        ctx: Any = None,
    ) -> HostResult:
        """Make a call of a model. What the model, the policy or the server does wrong is in the result.

        The arguments and the policy's decision are those for the tool as its server offers it now.

        Args:
            name: the name of the tool, as the model gave it.
            arguments: its arguments, as the model gave them: an object, or the text of one.
            options: timeouts and progress of the call.
            retry: whether a call that its server lost is repeated once, if the tool says that this does no harm.
            meta: what the call has in `_meta` beside what it must have, keyed by wire names.
            ctx: passed on to the policy, as `ToolCall.ctx`.
        """
        if name not in self.tools:
            return _failed(name, f"There is no tool {clipped(name, 100)}.")
        await self.host.use(self.tools[name].server)
        tool = self._current(self.tools[name])
        if tool is None:
            return self._gone(self.tools[name])
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments or {})
        except (ValueError, RecursionError):
            return _failed(name, "The arguments are not JSON.")
        checked = await self._checked(tool, given)
        if isinstance(checked, str):
            return _failed(name, f"The arguments of {name} are wrong: {checked}")
        try:
            decided = await self._decided(ToolCall(tool=tool, arguments=checked, ctx=ctx))
        except Exception as error:  # A policy that fails must not let anything pass.
            _log.warning("%s: the policy failed, so the call was refused", name, exc_info=True)
            return _failed(name, "The call was refused: the policy failed.", error)
        if isinstance(decided, str):
            return _failed(name, decided)
        return await self._sent(tool, decided, options, retry, meta)

    async def _checked(self, tool: HostTool, given: Any) -> dict[str, Any] | str:
        """Return arguments as the tool accepts them, or what is wrong with them."""
        if not is_object(given):
            return "they must be an object"
        try:
            return await unblocking(tool.schema_text, partial(_fitting, tool, given))
        except ExhaustedSchema as error:
            return f"the tool cannot be used, since they cannot be checked: {error}"

    async def _decided(self, call: ToolCall) -> Mapping[str, Any] | str:
        """Return the arguments to send, or why nothing is sent."""
        policy: Policy = self.host.policy
        decision = await policy(call)
        if isinstance(decision, Refused):
            return decision.reason
        if isinstance(decision, ToolCall):
            checked = await self._checked(call.tool, dict(decision.arguments))
            return f"The policy made wrong arguments: {checked}" if isinstance(checked, str) else checked
        return call.arguments if decision is True else "The call was refused."

    async def _sent(
        self,
        tool: HostTool,
        arguments: Mapping[str, Any],
        options: CallOptions | None,
        retry: bool,
        meta: Mapping[str, Any] | None,
    ) -> HostResult:
        server = self.host.servers[tool.server]
        is_repeatable = retry and (tool.hint("readOnlyHint") or tool.hint("idempotentHint"))
        # The tool may change while a person decides, or with the next process of its server.
        while self._current(tool) == tool:
            try:
                as_task = tool.tool in server.as_tasks
                result = await call_tool(server.client, tool.tool, dict(arguments), options, as_task=as_task, meta=meta)
            except McpError as error:
                if not is_repeatable or not isinstance(error, ConnectionClosed):
                    return _failed(tool.name, f"{tool.name} failed: {clipped(' '.join(str(error).split()))}", error)
                is_repeatable = False
                with suppress(McpError):  # The next attempt says why.
                    await server.ready(_AGAIN)
            else:
                return HostResult(name=tool.name, is_error=result.is_error is True, result=result)
        return self._gone(tool)

    def _current(self, tool: HostTool) -> HostTool | None:
        """Return a tool as its server offers it now; None if it does not, or if the host withholds it."""
        found: HostTool | None = self.host.catalogue.get(tool.name)
        return found

    def _gone(self, tool: HostTool) -> HostResult:
        if tool.tool in self.host.servers[tool.server].withheld:
            return _failed(tool.name, f"{tool.name} has changed, and is withheld until a person accepts it.")
        changed = self._current(tool) is not None
        return _failed(tool.name, f"{tool.name} {'has just changed' if changed else 'is no longer offered'}.")

    def _written(self, tool: Callable[[str, str, Lowered], dict[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
        return [tool(name, one.description, self.converted(name, dialect)) for name, one in self.tools.items()]


def view_of(host: Any, catalogue: Catalogue, allow: Sequence[str], deny: Sequence[str], limit: int | None) -> View:
    """Return the view of a catalogue; see `Host.view`."""

    def matches(tool: HostTool, patterns: Sequence[str]) -> bool:
        spelled = f"{tool.server}__{tool.tool}"  # the name in the catalogue may be cut
        return any(fnmatchcase(tool.name, one) or fnmatchcase(spelled, one) for one in patterns)

    found = [tool for tool in catalogue.tools.values() if matches(tool, allow) and not matches(tool, deny)]
    kept = found[:limit]
    return View(tools={tool.name: tool for tool in kept}, omitted=len(found) - len(kept), host=host)


@lru_cache(maxsize=4_096)
def _lowered(schema: str, dialect: Dialect) -> Lowered:
    try:
        return lower(json.loads(schema), dialect)
    except Inexpressible as error:
        loose = openai.LOOSE if dialect is openai.STRICT else dialect
        because = f"{dialect.name} has no schema for {error}"
        try:
            found = lower(json.loads(schema), loose) if loose is not dialect else Lowered(schema=_ANYTHING)
        except Inexpressible:
            found = Lowered(schema=_ANYTHING)
        return replace(found, is_strict=False, because=because)


def _fitting(tool: HostTool, given: Any, check: Check | UnusableSchema, seconds: float) -> dict[str, Any] | str:
    """Return arguments as the tool accepts them, or what is wrong with them.

    Raises:
        ExhaustedSchema: that takes too many steps, or too long.
    """
    if find_mismatch(check, given, seconds) is None:
        return dict(given)
    restored = restore(tool.input_schema, given, seconds)
    wrong = find_mismatch(check, restored, seconds)
    return restored if wrong is None else f"{wrong.pointer or 'at the top'}: {wrong.reason}"


def _failed(name: str, text: str, error: Exception | None = None) -> HostResult:
    return HostResult(name=name, is_error=True, refusal=text, error=error)
