"""A handler with three rounds of input and a payment between them: in one process, and with each round in another."""

import json
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.transports.stdio import connect_stdio
from support.asking import asked, meta, text
from support.programs import quick_python

PROGRAM = str(Path(__file__).parents[1] / "support" / "order_program.py")
ANSWERS = {"What?": "teas", "How many teas?": "3", "Where to?": "the garden"}
EXPECTED = "3 teas to the garden"


class Guest(v.ClientHandlers):
    async def elicit(self, params: v.ElicitRequestParams, ctx: v.ClientContext) -> v.ElicitResult:
        return v.ElicitResult(action="accept", content={"said": ANSWERS[params.message]})


async def whole_call(*arguments: str) -> str:
    """Call the tool with our client, in one process."""
    async with connect_stdio(quick_python(), PROGRAM, *arguments) as peer:
        client = await v.Client.open(peer, handlers=Guest())
        [block] = (await client.call_tool(name="order")).content
    assert isinstance(block, v.TextContent)
    return block.text


def one_request(*arguments: str, **more: Any) -> tuple[Any, str]:
    """Start a process, send it one request, and let it end; return the answer and its other output."""
    params = {"name": "order", "_meta": meta(), **more}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    command = [quick_python(), PROGRAM, *arguments]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    with server:
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        line = server.stdout.readline()
        _, said = server.communicate(timeout=60)
    return json.loads(line), said.decode()


def rounds(arguments: Sequence[tuple[str, ...]]) -> tuple[str, list[str]]:
    """Call the tool with each round in a separate process with its own arguments; return its text and the states."""
    (message, _), states = one_request(*arguments[0]), list[str]()
    for more in arguments[1:]:
        questions, state = asked(message)
        answers = {key: {"action": "accept", "content": {"said": ANSWERS[said]}} for said, key in questions.items()}
        states.append(state)
        message, _ = one_request(*more, requestState=state, inputResponses=answers)
    return text(message), states


async def test_suspended_the_payment_is_made_once(tmp_path: Path) -> None:
    payments = tmp_path / "payments"
    assert await whole_call(str(payments)) == EXPECTED
    assert payments.read_text().startswith("3 teas ") and len(payments.read_text().splitlines()) == 1


@pytest.mark.slow
async def test_sealed_with_each_round_in_another_process_it_is_recorded(tmp_path: Path) -> None:
    payments, old, new = tmp_path / "payments", secrets.token_hex(32), secrets.token_hex(32)
    worker = (str(payments), old)
    assert await whole_call(*worker) == EXPECTED
    # During key rotation, workers of all three kinds answer the same client.
    changing, changed = (str(payments), new, old), (str(payments), new)
    for workers in ([worker] * 4, [worker, changing, changing, changed]):
        said, states = rounds(workers)
        assert said == EXPECTED and len(set(states)) == 3
    lines = payments.read_text().splitlines()
    assert len(lines) == 3 and len(set(lines)) == 3 and all(line.startswith("3 teas ") for line in lines)


@pytest.mark.slow
def test_a_lost_suspended_handler_is_explained_in_the_log(tmp_path: Path) -> None:
    _, state = asked(one_request(str(tmp_path / "payments"))[0])
    message, said = one_request(str(tmp_path / "payments"), requestState=state)
    assert (message["error"]["code"], message["error"]["data"]) == (-32602, {"pointer": "/requestState"})
    assert "with several workers, use InputState" in said
