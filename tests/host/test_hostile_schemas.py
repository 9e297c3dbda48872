"""Every function that takes a peer's schema takes few steps with a hostile one, whatever it answers.

Steps are calls of Python and C functions, which do not depend on the machine.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from cProfile import Profile
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
from pydantic import ConfigDict

from host.serving import InMemory
from mcp_bindgen.mock import server as mock_server
from mcp_bindings import Client
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.names import CLIENT_CAPABILITIES, CLIENT_INFO, VERSION
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.host import Host, allow_all
from mcp_runtime.middleware import Validate
from mcp_runtime.observe.observer import Observer
from mcp_runtime.testing import connect
from mcp_runtime.tools import Tool, ToolClient, ToolModel
from mcp_runtime.tools.errors import find_mismatch_of
from mock.locks import tool, write_lock
from support.hostile_schemas import FAMILIES, SIZE, VALUE, hostile
from support.schema_functions import EXEMPT, REFUSALS, ROWS, takers

MAX_STEPS: Final = 4_000_000
"""How many function calls one use of a schema may make: less than half a second, without counting."""
MAX_COMPARED: Final = 5_000_000
"""The same for comparing two schemas of that size."""
MAX_TURN: Final = 400_000
"""How many function calls an event loop may make before it turns to something else: about 50 ms."""


QUICK: Final = "wide enums,long names,deep allOf,recursive arrays,many properties,big numbers,patterns".split(",")
"""One family of each kind."""


def steps_of(use: Callable[[], object]) -> int:
    """Return how many functions are called."""
    profile = Profile(timeunit=0, builtins=True, subcalls=False)
    profile.enable()
    try:
        use()
    except REFUSALS as refused:
        assert len(str(refused)) < 2_000
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def test_each_function_that_takes_a_schema_has_a_row() -> None:
    assert set(takers()) == {name.partition(" ")[0] for name in ROWS} | EXEMPT.keys()


def takes_few_steps(family: str, size: int) -> None:
    text = json.dumps(hostile(family, size))
    for name, use in ROWS.items():
        steps = steps_of(partial(use, json.loads(text)))
        assert steps <= (MAX_COMPARED if "gaps" in name else MAX_STEPS), name


@pytest.mark.parametrize("family", QUICK)
def test_a_small_hostile_schema_takes_few_steps(family: str) -> None:
    takes_few_steps(family, SIZE // 20)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hostile_schema_takes_few_steps(family: str) -> None:
    takes_few_steps(family, SIZE)


class Hostile(mcp.Server):
    """A server with one tool for each of the families, and a good one."""

    def __init__(self, size: int = 20_000) -> None:
        self.size = size

    async def list_tools(self, params: mcp.PaginatedRequestParams, ctx: mcp.Context) -> mcp.ListToolsResult:
        schemas = {f"t{number}": hostile(family, self.size) for number, family in enumerate(FAMILIES)}
        tools = [
            {"name": name, "inputSchema": schema, "outputSchema": schema}
            for name, schema in {**schemas, "good": {"type": "object"}}.items()
        ]
        return mcp.ListToolsResult.model_validate(
            {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools}
        )

    async def call_tool(self, params: mcp.CallToolRequestParams, ctx: mcp.Context) -> mcp.CallToolResult:
        return mcp.CallToolResult(content=[mcp.TextContent(text="called")], structured_content=VALUE)


async def longest_turn(work: Coroutine[Any, Any, object]) -> int:
    """Return how many functions the event loop calls at most before it turns to something else."""
    counts = [0]

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        counts[-1] += event in ("call", "c_call")

    task = asyncio.create_task(work)
    sys.setprofile(count)
    try:
        while not task.done():
            await asyncio.sleep(0)
            counts.append(0)
    finally:
        sys.setprofile(None)
    with suppress(*REFUSALS, McpError):
        await task
    return max(counts)


async def test_a_call_with_a_hostile_schema_does_not_block_the_loop() -> None:
    """The other tools stay usable."""
    async with Host([InMemory(name="s", command=("x",), make=Hostile)], Client, policy=allow_all) as host:
        view = host.view()
        assert len(view.tools) == len(FAMILIES) + 1
        assert len(view.for_openai()) == len(view.for_gemini()) == len(view.tools)
        for name in view.tools:
            assert await longest_turn(view.call(name, VALUE)) <= MAX_TURN, name
        assert (await view.call("s__good", {})).text() == "called"


@pytest.mark.parametrize("size", [9_000, pytest.param(20_000, marks=pytest.mark.slow)])
async def test_a_result_with_a_hostile_schema_does_not_block_the_loop(size: int) -> None:
    """Its checks by generated clients, and by those that validate what no client was generated for."""
    async with connect(Hostile(size), mcp.Client, options=ClientOptions(middleware=(Validate(),))) as client:
        await client.list_tools()
        for number, family in enumerate(FAMILIES):
            check = find_mismatch_of(json.dumps(hostile(family, size)), VALUE)
            assert await longest_turn(check) <= MAX_TURN, family
            work = client.call_tool(name=f"t{number}", arguments={})
            assert await longest_turn(work) <= MAX_TURN, family


class Loose(ToolModel):
    """Arguments of any names."""

    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize("size", [9_000, pytest.param(20_000, marks=pytest.mark.slow)])
async def test_arguments_for_a_hostile_schema_do_not_block_the_loop(size: int) -> None:
    """In both ways of calling a tool by a generated client: by a method of its own, and by name."""
    tools: dict[str, Tool[Any]] = {
        f"t{number}": Tool(name=f"t{number}", input=Loose, input_schema=json.dumps(hostile(family, size)))
        for number, family in enumerate(FAMILIES)
    }

    class Known(ToolClient):
        __tools__ = tools

        async def run(self, name: str, **values: Any) -> object:
            return await self._call(tools[name], values, None)

    async with connect(Hostile(1_000), mcp.Client) as client:
        known = Known(client)
        for name, family in zip(tools, FAMILIES, strict=True):
            for work in (known.run(name, **VALUE), known.call(name, VALUE)):
                assert await longest_turn(work) <= MAX_TURN, family


@pytest.mark.parametrize("size", [9_000, pytest.param(16_000, marks=pytest.mark.slow)])
async def test_an_observer_of_a_hostile_schema_does_not_block_the_loop(size: int) -> None:
    """It is part of the proxies that relay HTTP."""
    meta: dict[str, Any] = {VERSION: mcp.REVISION, CLIENT_INFO: {"name": "c", "version": "1"}, CLIENT_CAPABILITIES: {}}
    common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    for family in FAMILIES:
        tool: dict[str, Any] = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": hostile(family, size)}
        messages: tuple[tuple[Side, dict[str, Any]], ...] = (
            (Side.CLIENT, {"id": 1, "method": "tools/list", "params": {"_meta": meta}}),
            (Side.SERVER, {"id": 1, "result": {"tools": [tool], **common}}),
            (Side.CLIENT, {"id": 2, "method": "tools/call", "params": {"_meta": meta, "name": "t", "arguments": {}}}),
            (Side.SERVER, {"id": 2, "result": {**common, "content": [], "structuredContent": VALUE}}),
        )
        assert await longest_turn(observed(messages)) <= MAX_TURN, family


async def observed(messages: Iterable[tuple[Side, dict[str, Any]]]) -> None:
    observer = Observer([mcp.BINDING])
    for sender, message in messages:
        await asyncio.sleep(0)
        found = observer.take(sender, json.dumps({"jsonrpc": "2.0", **message}).encode())
        assert sender is Side.SERVER or not found


@pytest.mark.slow
async def test_a_mock_with_a_hostile_schema_does_not_block_the_loop(tmp_path: Path) -> None:
    families = [family for family in FAMILIES if family != "one big number"]  # which no lock contains
    schemas = {f"t{number}": hostile(family, 20_000) for number, family in enumerate(families)}
    lock = write_lock(tmp_path, *(tool(name, schema, schema) for name, schema in schemas.items()))
    async with connect(mock_server(lock=lock), mcp.Client) as client:
        for number, family in enumerate(families):
            work = client.call_tool(name=f"t{number}", arguments=VALUE)
            assert await longest_turn(work) <= MAX_TURN, family
