"""Handlers that are replayed when their client comes back, maybe in another process."""

import asyncio
import gc
from base64 import b64decode
from typing import Any

import pytest

from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.sealed import InputState
from support.asking import PREFIX, asked, line, meta, text
from support.channels import Stream
from support.till import KEY, Till, again, answered

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestReplay:
    async def test_each_round_in_another_process_and_recorded_work_is_done_once(self) -> None:
        charged: list[tuple[str, str]] = []
        message = await again(Till(charged=charged), "thrice")
        states: set[str] = set()
        for number in range(3):
            assert list(asked(message)[0]) == [f"q{number}"] and len(charged) == number
            states.add(asked(message)[1])
            message = await again(Till(charged=charged), "thrice", **answered(message))
        expected = "q0 accept [1, 'after 0'] q1 accept [2, 'after 1'] q2 accept [3, 'after 2']"
        assert text(message) == expected and len(states) == 3
        assert [what for what, _ in charged] == ["after 0", "after 1", "after 2"]
        assert len({key for _, key in charged}) == 3

    async def test_a_state_reveals_nothing_to_the_client(self) -> None:
        message = await again(Till(), "thrice")
        message = await again(Till(), "thrice", **answered(message))
        state = asked(message)[1].encode()
        readable = state + b64decode(state + b"==", altchars=b"-_")
        assert not [word for word in (b"charge", b"accept", b"elicitation") if word in readable]

    @pytest.mark.requirement("input.missing")
    async def test_missing_answers_are_requested_again_and_unexpected_ones_ignored(self) -> None:
        message = await again(Till(), "together")
        assert list(asked(message)[0]) == ["q0", "q1", "q2"]
        partly = answered(message, "q1")
        partly["inputResponses"]["unknown"] = 1
        message = await again(Till(), "together", **partly)
        assert list(asked(message)[0]) == ["q0", "q2"]
        message = await again(Till(), "together", **answered(message))
        assert text(message) == "q0 accept q1 accept q2 accept"

    async def test_branches_may_get_their_answers_in_any_order(self) -> None:
        for first in (("a0",), ("b0",), ("a0", "b0")):
            message = await again(Till(), "branches")
            message = await again(Till(), "branches", **answered(message, *first))
            while "inputRequests" in message["result"]:
                message = await again(Till(), "branches", **answered(message))
            assert text(message) == "a0 accept a1 accept b0 accept b1 accept"

    async def test_a_question_that_is_asked_twice_is_answered_twice(self) -> None:
        message = await again(Till(), "same")
        first = asked(message)
        message = await again(Till(), "same", **answered(message))
        assert asked(message)[0] != first[0]
        assert text(await again(Till(), "same", **answered(message))) == "Sure? accept Sure? accept"

    async def test_an_answer_stays_with_its_question(self) -> None:
        """Of two equal questions, the first gets the first answer, which may be the one to the other question."""
        message = await again(Till(), "alike")
        requests = message["result"]["inputRequests"]
        first, second = ({"action": "accept", "content": {"said": said}} for said in ("first", "second"))
        one, two = requests
        message = await again(
            Till(), "alike", requestState=message["result"]["requestState"], inputResponses={two: second}
        )
        assert list(message["result"]["inputRequests"]) == [one]
        message = await again(
            Till(), "alike", requestState=message["result"]["requestState"], inputResponses={one: first}
        )
        expected = "{'said': 'second'} {'said': 'second'} {'said': 'first'} {'said': 'first'}"
        assert text(message) == expected

    async def test_work_that_has_begun_is_completed(self) -> None:
        charged: list[tuple[str, str]] = []
        message = await again(Till(charged=charged), "at once")
        assert text(await again(Till(charged=charged), "at once", **answered(message))) == "[1, 'x'] q accept"
        assert len(charged) == 1

    async def test_work_whose_result_was_lost_is_repeated_with_its_key(self) -> None:
        """The client sends the same state again, since the answer did not reach it."""
        charged: list[tuple[str, str]] = []
        message = await again(Till(charged=charged), "thrice")
        first, second = [await again(Till(charged=charged), "thrice", **answered(message)) for _ in range(2)]
        assert asked(first)[0] == asked(second)[0]
        assert [what for what, _ in charged] == ["after 0", "after 0"]
        assert charged[0][1] == charged[1][1]

    async def test_the_handler_ends_before_the_answer_leaves_and_cannot_change_it(self) -> None:
        server = Till()
        async with line(server) as client:
            asked(await client.call("thrice"))
            assert server.ended == ["the handler is replayed when the client has answered"]
            asked(await client.call("stubborn"))
            asked(await client.call("left behind"))
            assert client.connection.open_requests == 0

    async def test_the_capabilities_of_the_retry_count(self) -> None:
        message = await again(Till(), "thrice")
        none: Any = {**meta(), f"{PREFIX}clientCapabilities": {}}
        error = (await again(Till(), "thrice", _meta=none, **answered(message)))["error"]
        assert error["code"] == -32021

    async def test_middleware_sees_each_round_as_a_request(self) -> None:
        seen: list[str] = []

        async def watch(exchange: Any, proceed: Any) -> Any:
            result = await proceed()
            if exchange.method.name == "tools/call":
                seen.append(type(result).__name__)
            return result

        server = Till()
        server.options = ServerOptions(inputs=InputState(keys=[KEY]), middleware=(watch,))
        message = await again(server, "same")
        message = await again(server, "same", **answered(message))
        await again(server, "same", **answered(message))
        assert seen == ["InputRequiredResult", "InputRequiredResult", "CallToolResult"]

    async def test_a_handler_that_fails_while_its_request_is_cancelled_leaves_nothing_in_the_log(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        failing = asyncio.Event()

        class Failing(Till):
            async def call_tool(self, params: Any, ctx: Any) -> Any:
                await failing.wait()
                raise ValueError("the client has left")

        async with line(Failing()) as client:
            channel = Stream()
            client.streams.deliver(channel, id=1, method="tools/call", params={"name": "x", "_meta": meta()})
            await asyncio.sleep(0.01)
            failing.set()
            client.streams.deliver(channel, method="notifications/cancelled", params={"requestId": 1})
            await asyncio.sleep(0.01)
        gc.collect()
        assert "never retrieved" not in caplog.text
