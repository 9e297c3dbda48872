"""Every function that takes a peer's schema takes few steps with a hostile one, whatever it answers.

Steps are calls of Python and C functions, which do not depend on the machine.
"""

import asyncio
import json
from collections.abc import Callable
from cProfile import Profile
from functools import partial
from typing import Final

import pytest

from host.serving import InMemory
from mcp_bindings import Client
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.host import Host, allow_all
from support.hostile_schemas import FAMILIES, SIZE, VALUE, hostile
from support.schema_functions import EXEMPT, REFUSALS, ROWS, takers

MAX_STEPS: Final = 4_000_000
"""How many function calls one use of a schema may make: about half a second, without counting."""
MAX_COMPARED: Final = 2 * MAX_STEPS
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
        assert steps <= (MAX_COMPARED if "narrowing" in name else MAX_STEPS), name


@pytest.mark.parametrize("family", QUICK)
def test_a_small_hostile_schema_takes_few_steps(family: str) -> None:
    takes_few_steps(family, SIZE // 20)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hostile_schema_takes_few_steps(family: str) -> None:
    takes_few_steps(family, SIZE)


class Hostile(mcp.Server):
    """A server with one tool for each of the families, and a good one."""

    async def list_tools(self, params: mcp.PaginatedRequestParams, ctx: mcp.Context) -> mcp.ListToolsResult:
        schemas = {f"t{number}": hostile(family, 20_000) for number, family in enumerate(FAMILIES)}
        tools = [
            {"name": name, "inputSchema": schema} for name, schema in {**schemas, "good": {"type": "object"}}.items()
        ]
        return mcp.ListToolsResult.model_validate(
            {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools}
        )

    async def call_tool(self, params: mcp.CallToolRequestParams, ctx: mcp.Context) -> mcp.CallToolResult:
        return mcp.CallToolResult(content=[mcp.TextContent(text="called")])


async def test_a_call_with_a_hostile_schema_does_not_block_the_loop() -> None:
    """The loop turns while arguments are checked, and the other tools stay usable."""
    async with Host([InMemory(name="s", command=("x",), make=Hostile)], Client, policy=allow_all) as host:
        view = host.view()
        assert len(view.tools) == len(FAMILIES) + 1
        assert len(view.for_openai()) == len(view.for_gemini()) == len(view.tools)
        turns = 0
        for name in view.tools:
            call = asyncio.create_task(view.call(name, VALUE))
            while not call.done():
                await asyncio.sleep(0)
                turns += 1
            assert call.result().text()
        assert turns > 10 * len(view.tools)
        assert (await view.call("s__good", {})).text() == "called"
