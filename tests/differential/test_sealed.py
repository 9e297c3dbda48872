"""Handlers of any shape behave the same whether they wait for their client or restart with each answer."""

import asyncio
import random
from functools import partial
from typing import Any, TypeAlias

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions, Suspended
from mcp_runtime.sealed import InputState
from support.asking import FORM, Line, text
from support.channels import Stream, Streams

pytestmark = pytest.mark.differential

Step: TypeAlias = "str | list[Program]"
"""``?x`` asks, ``!x`` does recorded work, and several programs run at the same time."""
Program: TypeAlias = "list[Step]"


def program(chance: random.Random, branch: str = "") -> Program:
    """Return a program in which names are reused, but not by two concurrent branches."""
    steps: Program = []
    for number in range(chance.randint(1, 3)):
        kind = chance.random()
        if kind < 0.25 and len(branch) < 4:
            steps.append([program(chance, f"{branch}{number}{inner}") for inner in range(chance.randint(2, 3))])
        else:
            steps.append(f"{'?' if kind < 0.7 else '!'}{branch}{chance.choice('ab')}")
    return steps


class Player(v.Server):
    """Runs a program; its effects are recorded outside of it."""

    def __init__(self, steps: Program, done: list[str], inputs: Any) -> None:
        self.options = ServerOptions(name="player", inputs=inputs)
        self.steps = steps
        self.done = done

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        return v.CallToolResult(content=[v.TextContent(text=await self.play(self.steps, ctx))])

    async def play(self, steps: Program, ctx: v.Context) -> str:
        parts: list[str] = []
        for step in steps:
            if isinstance(step, list):
                parts.append(f"({' | '.join(await asyncio.gather(*(self.play(inner, ctx) for inner in step)))})")
            elif step[0] == "?":
                answer = await ctx.client.elicit(message=step, requested_schema=FORM)
                parts.append(f"{step} {(answer.content or {})['said']}")
            else:
                parts.append(await ctx.recorded(step, partial(self.work, step)))
        return " ".join(parts)

    async def work(self, name: str, key: str) -> str:
        self.done.append(name)
        for _ in range(len(self.done) % 3):
            await asyncio.sleep(0)
        return name


async def conversation(steps: Program, inputs: Suspended | InputState, seed: int) -> tuple[str, list[str]]:
    """Call the tool until it answers, with answers to some of its questions each time; return its text and its work.

    Each request has its own connection and, where states are sealed, its own server.
    """
    chance, done = random.Random(seed), list[str]()
    answered: Any = {}
    server = Player(steps, done, inputs)
    for _ in range(100):
        server = Player(steps, done, inputs) if isinstance(inputs, InputState) else server
        streams = Streams()
        connection = await start_server(streams, server)
        [*_, message] = await Line(streams, connection).over(Stream(), "play", **answered)
        await connection.aclose()
        assert "result" in message, message
        if "inputRequests" not in message["result"]:
            return text(message), sorted(done)
        requests: dict[str, Any] = message["result"]["inputRequests"]
        chosen = [key for key in requests if chance.random() < 0.6]
        answers = {key: {"action": "accept", "content": {"said": requests[key]["params"]["message"]}} for key in chosen}
        answered = {"requestState": message["result"]["requestState"], "inputResponses": answers}
    raise AssertionError("the conversation does not end")


async def test_sealed_and_suspended_handlers_do_the_same(cases: int) -> None:
    asked = 0
    for seed in range(max(20, cases // 20)):
        steps = program(random.Random(seed))
        waited = await conversation(steps, Suspended(shared=True), seed)
        replayed = await conversation(steps, InputState(keys=[bytes(32)], rounds=100, max_bytes=1 << 20), seed)
        assert waited == replayed, f"seed {seed}: {steps}"
        asked += waited[0].count("?")
    assert asked > 20
