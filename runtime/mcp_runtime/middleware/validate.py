"""Validates what MCP's schema leaves open: arguments and results of tools, and arguments of prompts.

On the server side, the arguments of a tool are checked against its ``inputSchema``, its structured results against its
``outputSchema``, and prompts for their required arguments (server/tools, server/prompts). On the client side,
structured results are checked (server/tools, Output Schema: clients SHOULD).
"""

import json
import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping
from threading import Lock
from time import thread_time
from typing import Any, Final
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from mcp_runtime.core.connection.background import THREADS
from mcp_runtime.core.connection.calls import Proceed, Way
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.errors import McpError, PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcp_runtime.core.protocol.names import PROMPTS_GET, TASKS_RESULT, TOOLS_CALL
from mcp_runtime.json_schema.check import MAX_SECONDS, Check, Mismatch, UnusableSchema, check_installed
from mcp_runtime.middleware.catalogue import Catalogue

__all__ = ["Validate"]

INVALID_INPUT_IN_RESULT: Final = "2025-11-25"
"""The first revision in which invalid arguments are answered by a result with ``isError``, so that a model can correct
itself; earlier ones list them among the protocol errors (server/tools, Error Handling)."""
_MAX_CHECKS: Final = 1_000
"""How many compiled schemas are kept."""
_BRIEF: Final = 0.05
"""Seconds of CPU time for which a check of a result may block the event loop; beyond that it runs in a thread."""
_MAX_TASKS: Final = 10_000
"""How many tasks with unchecked results are remembered."""


class _Schema:
    """A listed schema of a tool, compiled on first use."""

    __slots__ = ("check", "model", "refused")

    def __init__(self, model: Any) -> None:
        self.model = model
        self.check: Check | None = None
        self.refused: UnusableSchema | None = None


class _Tool:
    """The schemas of a tool."""

    __slots__ = ("input", "output")

    def __init__(self, tool: Any) -> None:
        output = getattr(tool, "output_schema", None)
        self.input = _Schema(tool.input_schema)
        self.output = None if output is None else _Schema(output)


class _Known:
    """What is known of the server at one end of a connection."""

    def __init__(self) -> None:
        self.tools = Catalogue("tools", _Tool)
        self.prompts = Catalogue("prompts", _required)
        self.tasks: OrderedDict[str, str] = OrderedDict()

    def by_list(self, name: str) -> Catalogue[Any] | None:
        """Return the catalogue that a method lists or reports as changed."""
        for catalogue in (self.tools, self.prompts):
            if name in (catalogue.list_method, catalogue.changed_method):
                return catalogue
        return None

    def remember(self, task_id: str, tool: str) -> None:
        """Remember which tool a task calls."""
        self.tasks[task_id] = tool
        if len(self.tasks) > _MAX_TASKS:
            self.tasks.popitem(last=False)


class Validate:
    """Checks arguments and results against the schemas that a server lists; works on either side, or both.

    Schemas are compiled once. Tools are learned from the lists that pass by; for a tool that was not listed yet, the
    server's own handler is called, or the server is asked.

    Args:
        arguments: whether a server checks the arguments of tools.
        results: whether structured results are checked.
        prompts: whether a server checks for required arguments of prompts.
        skip: names of tools that are not checked.
        ask: whether a client requests the list of tools when it calls an unknown one.
        invalid_input: how a server answers invalid arguments: ``result`` for a result with ``isError``, or ``error``
            for an error with code -32602; by default as the revision specifies.
        max_steps: the maximum number of steps per validation, each a few microseconds long; by default fewer for a
            peer's schemas, and more for large values.

    Raises:
        ModuleNotFoundError: the validation library is not installed.
        ValueError: `invalid_input` is something else.
    """

    def __init__(
        self,
        *,
        arguments: bool = True,
        results: bool = True,
        prompts: bool = True,
        skip: Collection[str] = (),
        ask: bool = True,
        invalid_input: str | None = None,
        max_steps: int | None = None,
    ) -> None:
        if invalid_input not in (None, "result", "error"):
            raise ValueError(f"invalid_input: must be 'result' or 'error', not {invalid_input!r}")
        check_installed()
        self._arguments = arguments
        self._results = results
        self._prompts = prompts
        self._skip = frozenset(skip)
        self._ask = ask
        self._invalid_input = invalid_input
        self._max_steps = max_steps
        self._lock = Lock()
        self._checks: OrderedDict[tuple[bool, str], Check] = OrderedDict()
        self._known: WeakKeyDictionary[Connection, dict[str, _Known]] = WeakKeyDictionary()

    async def __call__(self, exchange: Exchange, proceed: Proceed) -> Any:
        """Check a message and its result.

        Args:
            exchange: the message.
            proceed: passes the message on.

        Raises:
            PeerError: on the server side, the client's arguments or the server's own result are not valid.
            RemoteProtocolError: on the client side, the server's structured result is not valid.
        """
        name = exchange.method.name
        asks = exchange.way is (Way.SENT if exchange.connection.side is Side.CLIENT else Way.RECEIVED)
        known = self._known_of(exchange)
        catalogue = known.by_list(name)
        if catalogue is not None:
            if not isinstance(exchange.method, RequestMethod):
                catalogue.forget()
                return await proceed()
            if asks:
                result = await proceed()
                catalogue.learn(result)
                return result
        if not asks or name not in (TOOLS_CALL, PROMPTS_GET, TASKS_RESULT):
            return await proceed()
        if exchange.connection.side is Side.SERVER:
            if name == PROMPTS_GET and self._prompts:
                await self._check_prompt(known, exchange)
            if name == TOOLS_CALL and (refusal := await self._check_arguments(known, exchange)) is not None:
                return refusal
        result = await proceed()
        if self._results and name != PROMPTS_GET:
            await self._check_result(known, exchange, result)
        return result

    async def _check_arguments(self, known: _Known, exchange: Exchange) -> Any:
        """Return the result that rejects the arguments of a call; None if they are valid."""
        name: str = exchange.params.name
        if not self._arguments or name in self._skip:
            return None
        tool = await known.tools.find(exchange, name)
        if tool is None:
            return None
        what = f"inputSchema of tool {clipped(name, 100)}"
        mismatch = self._own(exchange.connection, tool.input, exchange.params.arguments or {}, what)
        return None if mismatch is None else self._refuse_input(exchange, mismatch)

    async def _check_prompt(self, known: _Known, exchange: Exchange) -> None:
        name: str = exchange.params.name
        required = await known.prompts.find(exchange, name) or ()
        missing = [argument for argument in required if argument not in (exchange.params.arguments or {})]
        if missing:
            message = f"prompt {clipped(name, 100)} needs the argument{'s' * (len(missing) > 1)} {', '.join(missing)}"
            raise PeerError(INVALID_PARAMS, message, {"missing": missing})

    def _refuse_input(self, exchange: Exchange, mismatch: Mismatch) -> Any:
        name = clipped(exchange.params.name, 100)
        in_result = self._invalid_input == "result" or (
            self._invalid_input is None and exchange.requester.revision >= INVALID_INPUT_IN_RESULT
        )
        method = exchange.method
        # A request to create a task for the call has no plain result.
        if in_result and isinstance(method, RequestMethod) and getattr(exchange.params, "task", None) is None:
            text = f"Invalid arguments for tool {name}: {mismatch}"
            return method.result.load()(content=[{"type": "text", "text": text}], isError=True)
        pointer = f"/arguments{mismatch.pointer}"
        raise PeerError(INVALID_PARAMS, f"invalid arguments for tool {name}: {mismatch}", {"pointer": pointer})

    async def _check_result(self, known: _Known, exchange: Exchange, result: Any) -> None:
        """Check the result of a tool, whether returned at once or as the result of its task."""
        params, connection = exchange.params, exchange.connection
        name: str | None = params.name if exchange.method.name == TOOLS_CALL else known.tasks.get(params.task_id)
        if name is None or name in self._skip or not isinstance(result, BaseModel):
            return
        created: Any = result if "task" in type(result).__pydantic_fields__ else None
        if created is not None:
            known.remember(created.task.task_id, name)
            return
        outcome = result.model_dump(mode="json", include=_OUTCOME)
        tool = None if outcome.get("isError") else await self._find(known, exchange, name)
        if tool is None or tool.output is None:
            return
        if connection.side is Side.SERVER:
            self._check_own_result(connection, tool.output, outcome, clipped(name, 100))
        else:
            await self._check_their_result(exchange, tool.output, outcome, clipped(name, 100))

    def _check_own_result(self, connection: Connection, schema: _Schema, outcome: Mapping[str, Any], name: str) -> None:
        mismatch = _MISSING
        if _STRUCTURED in outcome:
            mismatch = self._own(connection, schema, outcome[_STRUCTURED], f"outputSchema of tool {name}")
        if mismatch is not None:
            text = "the result of tool %s does not match its outputSchema: %s"
            connection.log_limited(logging.ERROR, text, name, mismatch)
            raise PeerError(INTERNAL_ERROR, f"tool {name} failed: its result is not valid")

    async def _check_their_result(
        self, exchange: Exchange, schema: _Schema, outcome: Mapping[str, Any], name: str
    ) -> None:
        mismatch = _MISSING
        try:
            if _STRUCTURED in outcome:
                mismatch = await self._theirs(schema, outcome[_STRUCTURED])
        except UnusableSchema as error:
            reason = f"the outputSchema of tool {name} cannot be used, so its result is not checked: {error}"
            exchange.connection.report(_broken(exchange, "", reason))
            return
        if mismatch is not None:
            pointer = f"/{_STRUCTURED}{mismatch.pointer}"
            raise _broken(exchange, pointer, f"does not match the outputSchema of tool {name}: {mismatch.reason}")

    async def _theirs(self, schema: _Schema, value: Any) -> Mismatch | None:
        """Validate against a schema of the server, in a thread if that takes long; raises UnusableSchema."""
        if schema.refused is not None:
            raise schema.refused
        if schema.check is not None and self._lock.acquire(blocking=False):
            began = thread_time()
            try:
                return schema.check.find(value, _BRIEF)
            except UnusableSchema:
                if thread_time() - began < _BRIEF:
                    raise
            finally:
                self._lock.release()
        return await THREADS.run(self._slowly, schema, value)

    def _slowly(self, schema: _Schema, value: Any) -> Mismatch | None:
        with self._lock:
            began = thread_time()
            try:
                check = self._check(schema, is_trusted=False)
            except UnusableSchema as error:
                schema.refused = error
                raise
            return check.find(value, MAX_SECONDS - (thread_time() - began))

    def _own(self, connection: Connection, schema: _Schema, value: Any, what: str) -> Mismatch | None:
        """Validate against a schema of this server, whose defects must not be exposed to clients."""
        try:
            return self._check(schema, is_trusted=True).find(value)
        except UnusableSchema as error:
            connection.log_limited(logging.ERROR, "the %s cannot be used: %s", what, error)
            raise PeerError(INTERNAL_ERROR, f"the {what} cannot be used: {error}") from error

    async def _find(self, known: _Known, exchange: Exchange, name: str) -> _Tool | None:
        if exchange.connection.side is Side.SERVER:
            return await known.tools.find(exchange, name)
        if not self._ask:
            return known.tools.get(name)
        try:
            return await known.tools.find(exchange, name)
        except McpError as error:
            # The call itself has succeeded.
            exchange.connection.report(error)
            return None

    def _check(self, schema: _Schema, *, is_trusted: bool) -> Check:
        """Return a compiled schema, shared by all connections and kept when the list passes by again."""
        if schema.check is None:
            schema.check = self._compiled(schema.model.model_dump(mode="json"), is_trusted)
        return schema.check

    def _compiled(self, schema: Mapping[str, Any], is_trusted: bool) -> Check:
        # Schemas are identified by their text, since Python treats 1 and True as equal.
        key = (is_trusted, json.dumps(schema, sort_keys=True))
        check = self._checks.get(key)
        if check is None:
            check = self._checks[key] = Check(schema, is_trusted=is_trusted, max_steps=self._max_steps)
            if len(self._checks) > _MAX_CHECKS:
                self._checks.popitem(last=False)
        else:
            self._checks.move_to_end(key)
        return check

    def _known_of(self, exchange: Exchange) -> _Known:
        """Return what is known of the server of a message: a connection may have one per revision."""
        by_revision = self._known.setdefault(exchange.connection, {})
        revision = exchange.requester.revision
        found = by_revision.get(revision)
        if found is None:
            found = by_revision[revision] = _Known()
        return found


_STRUCTURED: Final = "structuredContent"
_OUTCOME: Final = {"is_error", "isError", "structured_content", _STRUCTURED}
"""The checked properties of a result: Python names and, since a task's result may have any type, wire names."""
_MISSING: Final[Mismatch | None] = Mismatch(pointer="", reason=f"{_STRUCTURED} is missing")


def _required(prompt: Any) -> tuple[str, ...]:
    return tuple(argument.name for argument in prompt.arguments or () if argument.required)


def _broken(exchange: Exchange, pointer: str, reason: str) -> RemoteProtocolError:
    return RemoteProtocolError(
        revision=exchange.requester.revision, method=exchange.method.name, pointer=pointer, reason=reason
    )
