"""A server made from a lock file: it lists the recorded tools, validates arguments, and makes up results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.check.arguments import Validator
from mcp_bindgen.ingest.sources import parse_json, read_bytes
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, clip
from mcp_bindgen.ir.json_values import as_object, is_list, is_object
from mcp_bindgen.live.bindings import own_package, package_of, revisions
from mcp_bindgen.mock.exact import canonical, exact
from mcp_bindgen.tool_clients.contract import GATED, Contract, Tool, read_contract
from mcp_bindgen.values.schema import NoValue, value_of
from mcp_runtime.json_schema.meter import PEER_STEPS, Meter

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers

ATTEMPTS: Final = 20
"""How many values are made before an output schema counts as one that accepts none of them."""
PAGE: Final = 500
"""How many tools are listed at a time."""
_OUTPUT: Final = "structuredContent"
_OUTPUT_SCHEMA: Final = "outputSchema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """The result of calls with some arguments, or with any if they are None."""

    arguments: Mapping[str, Any] | None
    result: Mapping[str, Any]


Examples = Mapping[str, Sequence[Example]]
"""The examples of each tool, in the order in which they are tried."""


class Answers:
    """Results of tools: from examples, or made from the output schema.

    Args:
        contract: the tools.
        examples: the examples of each tool.
        seed: equal seeds give equal results to equal calls.
    """

    def __init__(self, contract: Contract, examples: Examples, seed: int) -> None:
        self.tools = {tool.name: tool for tool in contract.tools}
        self._examples = examples
        self._seed = seed
        self._validators: dict[tuple[str, str], Validator] = {}
        self._lock = Lock()

    def mismatch(self, tool: Tool, value: Any, schema: str = "inputSchema") -> str:
        """Return why a value is not valid; empty if it is, or if the schema cannot be used."""
        validator = self._validator(tool, schema)
        validator.restart()
        return validator.mismatch(value) or ""

    def answer(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return why arguments are not valid, or else the result; one thread at a time does this."""
        with self._lock:
            reason = self.mismatch(tool, arguments)
            return reason, {} if reason else self.result(tool, arguments)

    def result(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a call, keyed by wire names."""
        for example in self._examples.get(tool.name, ()):
            if example.arguments is None or example.arguments == arguments:
                return dict(example.result)
        if tool.output_schema is None:
            return as_result(f"{tool.name}({canonical(arguments)})")
        made, reason = self._made(tool, arguments)
        if reason:
            return {**as_result(f"no result for {tool.name}: {reason}; give one with --examples"), "isError": True}
        return as_result(made)

    def _made(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[Any, str]:
        validator, meter = self._validator(tool, _OUTPUT_SCHEMA), Meter(PEER_STEPS)
        validator.restart()
        reason = "no value was found that its output schema accepts"
        for attempt in range(ATTEMPTS):
            chance = Random(f"{self._seed} {attempt} {tool.name} {canonical(arguments)}")
            try:
                made = value_of(tool.output_schema, chance, meter=meter)
                if is_object(made) and validator.mismatch(made) == "":
                    return made, ""
            except NoValue as error:
                reason = str(error)
            if validator.unusable:
                return None, f"its output schema cannot be used: {validator.unusable}"
        return None, reason

    def _validator(self, tool: Tool, name: str) -> Validator:
        """Return what validates values against a schema of a tool; without one, every value is valid."""
        if (tool.name, name) not in self._validators:
            self._validators[tool.name, name] = Validator(as_object(tool.raw.get(name)))
        return self._validators[tool.name, name]

    def check_examples(self, where: Path) -> None:
        """Check that the tools exist, and that their output schemas accept the structured results.

        Raises:
            InputError: one of them does not.
        """
        for name, examples in self._examples.items():
            place = Location(source=str(where)).child(name)
            if name not in self.tools:
                raise InputError.at(place, f"the lock has no tool {clip(name, 100)!r}")
            for example in examples if self.tools[name].output_schema is not None else ():
                reason = self.mismatch(self.tools[name], example.result.get(_OUTPUT), _OUTPUT_SCHEMA)
                if reason and not example.result.get("isError"):
                    raise InputError.at(place, f"its output schema does not accept this result: {reason}")


def as_result(value: Any) -> dict[str, Any]:
    """Return the result of a tool that returns a text, or else a JSON value."""
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    text = json.dumps(value, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], _OUTPUT: value}


def read_examples(path: Path) -> Examples:
    """Read a file of examples: a JSON object with, for each tool, a result or a list of cases.

    A case has a ``result``, and ``arguments`` if it is for calls with these alone. A result is a text, a whole result
    with ``content``, or the structured content.

    Raises:
        InputError: it cannot be read, or is none.
    """
    value = read_json(path)
    if not is_object(value):
        raise InputError.at(path, "must be a JSON object with the results of each tool")
    return {name: [_example(case, path, name) for case in _cases(given)] for name, given in value.items()}


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        InputError: it cannot be read.
    """
    problems = Diagnostics()
    value = parse_json(read_bytes(path, str(path)), str(path), problems)
    problems.raise_errors()
    return value


def _cases(given: Any) -> list[Any]:
    return given if is_list(given) else [{"result": given}]


def _example(case: Any, path: Path, name: str) -> Example:
    arguments = case.get("arguments") if is_object(case) else None
    if not is_object(case) or "result" not in case or not (arguments is None or is_object(arguments)):
        raise InputError.at(Location(source=str(path)).child(name), 'each case is {"arguments": {...}, "result": ...}')
    result = case["result"]
    is_whole = is_object(result) and is_list(result.get("content"))
    return Example(arguments=arguments, result=result if is_whole else as_result(result))


def lock_server(lock: Path, *, seed: int = 0, examples: Path | None = None, package: str = "") -> "ServerHandlers":
    """Return a server with the tools of a lock file, of the newest revision or of a generated package.

    Raises:
        InputError: a file cannot be used.
    """
    from mcp_runtime.core.connection.background import THREADS
    from mcp_runtime.core.errors import PeerError
    from mcp_runtime.core.protocol.dispatch import Side
    from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS
    from mcp_runtime.core.settings import ServerOptions
    from mcp_runtime.middleware.validate import INVALID_INPUT_IN_RESULT

    contract = read_contract(lock, Diagnostics())
    answers = Answers(contract, {} if examples is None else read_examples(examples), seed)
    if examples is not None:
        answers.check_examples(examples)
    listed = [
        ({key: value for key, value in tool.raw.items() if key != GATED}, tool.is_gated) for tool in contract.tools
    ]

    async def list_tools(self: Any, params: Any, ctx: Any) -> Any:
        declares = bool(ctx.requester.declared[Side.CLIENT])
        shown = [tool for tool, is_gated in listed if declares or not is_gated]
        cursor: str | None = getattr(params, "cursor", None)
        if cursor is not None and not (cursor.isdecimal() and 0 < int(cursor[:9]) < len(shown)):
            raise PeerError(INVALID_PARAMS, "there is no such page")
        start = int(cursor or 0)
        more = {"nextCursor": str(start + PAGE)} if start + PAGE < len(shown) else {}
        return complete({"tools": shown[start : start + PAGE], **more, "ttlMs": 0, "cacheScope": "private"})

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        tool = answers.tools.get(params.name)
        if tool is None:
            raise PeerError(INVALID_PARAMS, f"Unknown tool: {clip(params.name, 100)}")
        arguments: dict[str, Any] = params.model_dump(mode="json").get("arguments") or {}
        reason, result = await THREADS.run(answers.answer, tool, arguments)
        if reason:
            text = f"Invalid arguments for tool {tool.name}: {reason}"
            if ctx.requester.revision < INVALID_INPUT_IN_RESULT:
                raise PeerError(INVALID_PARAMS, text)
            return complete({**as_result(text), "isError": True})
        return complete(result)

    bindings = own_package(package) if package else package_of(revisions()[-1])
    server: ServerHandlers = type("Mock", (bindings.Server,), {"list_tools": list_tools, "call_tool": call_tool})()
    server.options = ServerOptions(name=contract.server, version=contract.version or "0", logging=False)
    return server


def complete(result: Mapping[str, Any]) -> Any:
    """Return what a handler returns for the runtime to write this complete result."""
    return exact({"resultType": "complete", **result})
