"""Every function that takes a peer's schema takes few steps with a hostile one, whatever it answers.

Steps are calls of Python and C functions, which do not depend on the machine.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any, Final

import pytest

from host.serving import InMemory
from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.live.arguments import parse_arguments
from mcp_bindgen.tool_clients.listing import spell_arguments
from mcp_bindgen.values.schema import Least, NoValue, value_of
from mcp_bindings import Client
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.client_features.forms import choices, defaults, problems
from mcp_runtime.host import Host, allow_all
from mcp_runtime.host.dialects import anthropic, gemini, openai
from mcp_runtime.host.dialects.lowering import lower
from mcp_runtime.host.dialects.reading import Inexpressible
from mcp_runtime.host.dialects.restoring import restore
from mcp_runtime.json_schema.check import Check, UnusableSchema
from mcp_runtime.tools.errors import mismatch_of
from support.hostile_schemas import FAMILIES, VALUE, hostile

MAX_STEPS: Final = 2_000_000
"""How many function calls one use of a schema may make: about half a second, without counting."""
_REFUSALS: Final = (UnusableSchema, Inexpressible, NoValue, InputError)
"""How the functions say that a schema cannot be used."""

FUNCTIONS: Final[Mapping[str, Callable[[dict[str, Any]], object]]] = {
    "check": lambda schema: Check(schema, is_trusted=False).find(VALUE),
    **{
        f"lower for {dialect.name}": partial(lower, dialect=dialect)
        for dialect in (openai.STRICT, openai.LOOSE, anthropic.RULES, gemini.RULES)
    },
    "restore": lambda schema: restore(schema, VALUE),
    "mismatch_of": lambda schema: mismatch_of(json.dumps(schema), VALUE),
    "problems of a form": lambda schema: problems(schema, VALUE),
    "defaults of a form": lambda schema: (defaults(schema), [*map(choices, schema["properties"].values())]),
    "value_of": lambda schema: value_of(schema, Least()),
    "spell_arguments": spell_arguments,
    "parse_arguments": lambda schema: parse_arguments({"name": "t", "inputSchema": schema}, ["x={}", "p0=a"]),
}
"""The functions that take a peer's schema."""


def steps_of(use: Callable[[], object]) -> int:
    """Return how many functions are called, up to a few more than are allowed."""
    steps = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")
        if steps > MAX_STEPS:
            sys.setprofile(None)
            pytest.fail("takes too many steps")

    sys.setprofile(count)
    try:
        use()
    except _REFUSALS as refused:
        assert len(str(refused)) < 2_000
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("family", FAMILIES)
def test_a_hostile_schema_takes_few_steps(family: str) -> None:
    schema = hostile(family)
    for name, use in FUNCTIONS.items():
        assert steps_of(partial(use, schema)) <= MAX_STEPS, name


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
