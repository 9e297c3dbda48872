"""Handlers that begin anew when their client comes back, maybe in another process: `InputState`."""

import asyncio
import logging
import secrets
import time
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.caller import CallOptions
from mcp_runtime.errors import LocalProtocolError, PeerError
from mcp_runtime.inputs import InputState, MemorySpentStates
from mcp_runtime.server import ServerHandlers, ServerOptions
from support.asking import FORM, PREFIX, YES, Known, Line, altered, asked, line, meta, text
from support.channels import Stream

KEY = secrets.token_bytes(32)
OTHER = secrets.token_bytes(32)
ONE_KEY: dict[str, Any] = {"keys": [KEY]}
USED: dict[str, Any] = {"pointer": "/requestState"}


class Till(v.Server):
    """Asks as its tools say; another object stands for another process. What it charges is kept outside of it."""

    charged: list[tuple[str, str]]

    def __init__(self, *, charged: list[tuple[str, str]] | None = None, **settings: Any) -> None:
        inputs = InputState(**{**ONE_KEY, **settings})
        self.options = ServerOptions(name="till", log_rate=None, progress_rate=None, inputs=inputs)
        self.charged = [] if charged is None else charged
        self.ended: list[str] = []
        self.question = "How much?"

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def list_prompts(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListPromptsResult:
        return v.ListPromptsResult(prompts=[])

    async def ask(self, ctx: v.Context, message: str, key: str | None = None) -> str:
        found = await ctx.client.elicit(message=message, requested_schema=FORM, options=CallOptions(key=key))
        return f"{message} {found.action}"

    async def charge(self, what: str, key: str) -> list[Any]:
        self.charged.append((what, key))
        await asyncio.sleep(0.01)
        return [len(self.charged), what]

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        said: list[Any] = []

        def charging(what: str) -> Callable[[str], Any]:
            return lambda key: self.charge(what, key)

        try:
            match params.name:
                case "thrice":
                    for number in range(3):
                        said.append(await self.ask(ctx, f"q{number}"))
                        said.append(await ctx.recorded("charge", charging(f"after {number}")))
                case "together":
                    said += await asyncio.gather(*(self.ask(ctx, f"q{number}") for number in range(3)))
                case "branches":
                    said += await asyncio.gather(*(self.branch(ctx, name) for name in "ab"))
                case "at once":
                    said += await asyncio.gather(ctx.recorded("charge", charging("x")), self.ask(ctx, "q"))
                case "changing" | "named":
                    said.append(await self.ask(ctx, self.question, "amount" if params.name == "named" else None))
                case "same":
                    said += [await self.ask(ctx, "Sure?"), await self.ask(ctx, "Sure?")]
                case "stubborn":
                    try:
                        await self.ask(ctx, "q")
                    except asyncio.CancelledError:
                        said.append("never seen")
                case "left behind":
                    ctx.connection.spawn(self.ask(ctx, "q"))
                    await asyncio.sleep(5)
                case "sleeps":
                    await asyncio.sleep(5)
                case "twice the key":
                    await asyncio.gather(self.ask(ctx, "a", "k"), self.ask(ctx, "b", "k"))
                case "asks inside":
                    await ctx.recorded("w", lambda key: self.ask(ctx, "inside"))
                case "not json":
                    await ctx.recorded("w", lambda key: asyncio.sleep(0, {1}))
                case "large":
                    await ctx.recorded("w", lambda key: asyncio.sleep(0, "x" * 60_000))
                    await self.ask(ctx, "q")
                case "endless":
                    for number in range(100):
                        await self.ask(ctx, f"q{number}")
                case _:
                    raise PeerError(-32602, "unknown tool")
        except LocalProtocolError as error:
            raise PeerError(-1, error.reason) from error
        except asyncio.CancelledError as error:
            self.ended.append(str(error))
            raise
        return v.CallToolResult(content=[v.TextContent(text=" ".join(map(str, said)))])

    async def get_prompt(self, params: v.GetPromptRequestParams, ctx: v.Context) -> v.GetPromptResult:
        await self.ask(ctx, "q")
        return v.GetPromptResult(messages=[])

    async def branch(self, ctx: v.Context, name: str) -> str:
        return " ".join([await self.ask(ctx, f"{name}{number}") for number in range(2)])


def answered(message: Any, *only: str) -> dict[str, Any]:
    """Return what a client sends again, with answers to all questions or to some."""
    questions, state = asked(message)
    return {
        "requestState": state,
        "inputResponses": {key: YES for said, key in questions.items() if not only or said in only},
    }


async def again(server: ServerHandlers, name: str, **params: Any) -> Any:
    """Send a request to a process that has just begun."""
    async with line(server) as client:
        return await client.call(name, **params)


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

    async def test_a_state_says_nothing_to_the_client(self) -> None:
        message = await again(Till(), "thrice")
        message = await again(Till(), "thrice", **answered(message))
        state = asked(message)[1].encode()
        readable = state + b64decode(state + b"==", altchars=b"-_")
        assert not [word for word in (b"charge", b"accept", b"elicitation") if word in readable]

    @pytest.mark.requirement("input.missing")
    async def test_what_is_missing_is_asked_again_and_what_was_not_asked_is_ignored(self) -> None:
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

    async def test_work_that_has_begun_is_waited_for(self) -> None:
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
            assert server.ended == ["the handler begins anew when the client has answered"]
            asked(await client.call("stubborn"))
            asked(await client.call("left behind"))
            assert client.connection.open_requests == 0

    async def test_what_the_retry_declares_is_what_counts(self) -> None:
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

    async def test_a_cancelled_request_ends_its_handler(self) -> None:
        server = Till()
        async with line(server) as client:
            channel, told = Stream(), {"name": "sleeps", "_meta": meta()}
            client.streams.deliver(channel, id=1, method="tools/call", params=told)
            await asyncio.sleep(0.01)
            client.streams.deliver(channel, method="notifications/cancelled", params={"requestId": 1, "reason": "late"})
            await asyncio.sleep(0.01)
            assert len(server.ended) == 1 and client.connection.open_requests == 0


class TestStates:
    @pytest.mark.requirement("input.state-verified", "input.state-bound")
    async def test_a_state_is_good_for_one_request_of_one_peer(self, caplog: pytest.LogCaptureFixture) -> None:
        async with line(Till()) as client:
            message = await client.call("same", channel=Known("ada"), args={"n": "1"})
            again_ = answered(message)
            state = again_["requestState"]

            async def retry(
                name: str = "same", *, by: Any = "ada", n: str = "1", by_: Line = client, **more: Any
            ) -> Any:
                channel = Known(by) if by else None
                return await by_.call(name, channel=channel, args={"n": n}, **{**again_, **more})

            wrong = [
                retry(by="bob"),
                retry(by=None),
                retry("together"),
                retry(n="2"),
                retry(method="prompts/get"),
                *(retry(requestState=altered(state, place)) for place in range(len(state))),
                *(
                    retry(requestState=wrong)
                    for wrong in (state + "=", state + "A", state[:-1], "", "é", "\ud83d\ude00")
                ),
                retry(requestState=7),
                retry(requestState="A" * 100_000),
            ]
            for error in [(await each)["error"] for each in wrong]:
                assert (error["code"], error["data"]) == (-32602, USED)
            assert "Sure? accept" in text(await retry(**answered(await retry())))
            other = Till(keys=[OTHER])
            async with line(other) as there:
                assert (await retry(by_=there))["error"]["code"] == -32602
            assert "all processes need the same InputState(keys=...)" in caplog.text
            named = Till()
            named.options = ServerOptions(name="another", inputs=InputState(keys=[KEY]))
            async with line(named) as there:
                assert (await retry(by_=there))["error"]["code"] == -32602

    async def test_only_one_spelling_of_a_state_is_accepted(self) -> None:
        """The last character of base64 may have bits that mean nothing."""
        for length in range(3):
            message = await again(Till(), "changing", args={"pad": "x" * length})
            retry = answered(message)
            for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
                changed = retry["requestState"][:-1] + last
                if changed != retry["requestState"]:
                    got = await again(
                        Till(), "changing", args={"pad": "x" * length}, **{**retry, "requestState": changed}
                    )
                    assert got["error"]["code"] == -32602

    @pytest.mark.requirement("input.state-bound")
    async def test_time_ends_it(self) -> None:
        message = await again(Till(expiry=0.05), "changing")
        await asyncio.sleep(0.1)
        error = (await again(Till(), "changing", **answered(message)))["error"]
        assert (error["code"], error["data"]) == (-32602, USED)

    async def test_keys_change_one_after_the_other(self) -> None:
        message = await again(Till(keys=[KEY]), "same")
        message = await again(Till(keys=[OTHER, KEY]), "same", **answered(message))
        retry = answered(message)
        assert (await again(Till(keys=[KEY]), "same", **retry))["error"]["code"] == -32602
        assert text(await again(Till(keys=[OTHER]), "same", **retry)) == "Sure? accept Sure? accept"

    @pytest.mark.requirement("input.state-once")
    async def test_a_state_can_be_used_twice_unless_a_store_says_no(self) -> None:
        message = await again(Till(), "changing")
        for _ in range(2):
            assert text(await again(Till(), "changing", **answered(message))) == "How much? accept"
        spent = MemorySpentStates()
        message = await again(Till(spent=spent), "changing")
        wrong = {**answered(message), "inputResponses": dict.fromkeys(asked(message)[0].values(), 7)}
        assert (await again(Till(spent=spent), "changing", **wrong))["error"]["data"]["pointer"].startswith("/inputR")
        assert text(await again(Till(spent=spent), "changing", **answered(message))) == "How much? accept"
        error = (await again(Till(spent=spent), "changing", **answered(message)))["error"]
        assert (error["code"], error["data"]) == (-32602, USED)
        assert len(spent) == 1

    @pytest.mark.requirement("input.validated")
    @pytest.mark.parametrize(("wrong", "where"), [({"action": "maybe"}, "/action"), (7, "")])
    async def test_an_answer_that_is_not_valid_is_refused(self, wrong: Any, where: str) -> None:
        message = await again(Till(), "named")
        retry = answered(message)
        error = (await again(Till(), "named", **{**retry, "inputResponses": {"amount": wrong}}))["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == f"/inputResponses/amount{where}"
        assert text(await again(Till(), "named", **retry)) == "How much? accept"


class TestLimits:
    @pytest.mark.parametrize("name", ["changing", "named"])
    async def test_a_handler_that_diverges_is_refused(self, name: str, caplog: pytest.LogCaptureFixture) -> None:
        message = await again(Till(), name)
        server = Till()
        server.question = "How many?"
        error = (await again(server, name, **answered(message)))["error"]
        assert error["code"] == -32603 and "does not ask what it asked before" in error["message"]
        assert "does not run as it did before" in caplog.text

    async def test_rounds_are_bounded(self, caplog: pytest.LogCaptureFixture) -> None:
        async with line(Till(rounds=3)) as client:
            message = await client.call("endless")
            for _ in range(2):
                message = await client.call("endless", **answered(message))
            error = (await client.call("endless", **answered(message)))["error"]
            assert error["code"] == -32603 and "asks its client more than 3 times" in caplog.text

    async def test_size_is_bounded(self, caplog: pytest.LogCaptureFixture) -> None:
        error = (await again(Till(), "large"))["error"]
        assert error["code"] == -32603 and "bytes, more than 65536" in caplog.text
        assert list(asked(await again(Till(max_bytes=100_000), "large"))[0]) == ["q"]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [("twice the key", "the key 'k' is that of another question"), ("asks inside", "cannot ask the client")],
    )
    async def test_questions_that_could_not_be_told_apart_later_fail(self, name: str, reason: str) -> None:
        assert reason in (await again(Till(), name))["error"]["message"]

    async def test_recorded_work_returns_json(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.ERROR)
        assert (await again(Till(), "not json"))["error"]["code"] == -32603
        assert "the work must return JSON" in caplog.text

    async def test_what_is_spent_is_forgotten_when_it_expires(self) -> None:
        spent = MemorySpentStates(limit=2)
        assert await spent.spend("a", time.time() + 0.05) and await spent.spend("b", time.time() + 60)
        with pytest.raises(OverflowError, match="2 used states"):
            await spent.spend("c", time.time() + 60)
        assert not await spent.spend("b", time.time() + 60)
        await asyncio.sleep(0.06)
        assert await spent.spend("c", time.time() + 60) and len(spent) == 2

    @pytest.mark.parametrize(
        ("settings", "error", "match"),
        [
            ({"keys": []}, ValueError, "at least one key"),
            ({"keys": ["x" * 32]}, TypeError, "made of bytes"),
            ({"keys": b"x" * 32}, TypeError, "a list of keys"),
            ({"keys": [b"short"]}, ValueError, r"keys\[0\]: a key has 32 bytes, not 5"),
            ({"keys": [KEY, KEY]}, ValueError, "twice"),
            ({"keys": [KEY], "rounds": 0}, ValueError, "rounds"),
        ],
    )
    def test_settings_are_checked(self, settings: Any, error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            InputState(**settings)

    def test_keys_are_not_shown(self) -> None:
        assert str(KEY) not in repr(InputState(keys=[KEY])) and "keys" not in repr(InputState(keys=[KEY]))
