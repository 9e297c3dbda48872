"""Handlers that ask their client in the middle of a request, and wait (2026-07-28, basic/patterns/mrtr)."""

import asyncio
import gc
import logging
from itertools import pairwise
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ServerOptions, Suspended
from support.asking import FORM, PREFIX, YES, Known, altered, asked, line, meta, text
from support.channels import Stream
from support.roles import make_handlers, raises
from support.stdio_peers import eventually
from support.talk import talk

pytestmark = pytest.mark.usefixtures("virtual_time")


class Shop(v.Server):
    """Asks as its tools specify, and counts its calls."""

    def __init__(self, **options: Any) -> None:
        self.options = ServerOptions(log_rate=None, progress_rate=None, **options)
        self.done: list[str] = []
        self.ended: list[str] = []
        self.hold = asyncio.Event()

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def ask(self, ctx: v.Context, message: str, **options: Any) -> str:
        found = await ctx.client.elicit(
            message=message, requested_schema=FORM, options=CallOptions(**options) if options else None
        )
        return f"{message} {found.action}"

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        said: list[Any] = []
        try:
            match params.name:
                case "thrice":
                    for number in range(3):
                        said.append(await self.ask(ctx, f"q{number}"))
                        self.done.append(f"charged {number}")
                        await ctx.report_progress(number)
                        await ctx.log("info", f"log {number}")
                        said.append(ctx.request_id)
                case "together":
                    said += await asyncio.gather(*(self.ask(ctx, f"q{number}") for number in range(3)))
                case "once":
                    said.append(await self.ask(ctx, "q"))
                case "late":
                    said.append(await self.ask(ctx, "quick?", timeout=0.02))
                case "meanwhile":
                    ctx.connection.spawn(self.chatter(ctx))
                    said.append(await self.ask(ctx, "q"))
                case "gives up":
                    asking = asyncio.ensure_future(self.ask(ctx, "q"))
                    await asyncio.wait([asking], timeout=0.02)
                    asking.cancel()
                    said.append("without")
                case _:
                    raise PeerError(-32602, "unknown tool")
        except asyncio.CancelledError:
            self.ended.append(str(ctx.cancel_reason))
            raise
        return v.CallToolResult(content=[v.TextContent(text=" ".join(map(str, said)))])

    async def chatter(self, ctx: v.Context) -> None:
        await asyncio.sleep(0.01)
        await ctx.log("info", "meanwhile")
        await ctx.report_progress(0.5)
        self.done.append("chattered")


class TestServer:
    @pytest.mark.requirement("modern.result-type", "input.something", "input.missing")
    async def test_nothing_runs_twice(self) -> None:
        server = Shop()
        async with line(server) as client:
            message = await client.call("thrice")
            states: list[str] = []
            for number in range(3):
                questions, state = asked(message)
                assert list(questions) == [f"q{number}"] and server.done == [f"charged {n}" for n in range(number)]
                states.append(state)
                message = await client.call(
                    "thrice", requestState=state, inputResponses={questions[f"q{number}"]: YES, "unknown": 1}
                )
            assert text(message) == "q0 accept 2 q1 accept 3 q2 accept 4" and len(set(states)) == 3
            assert server.done == ["charged 0", "charged 1", "charged 2"]
            assert client.connection.open_requests == 0

    @pytest.mark.requirement("input.keys-unique", "input.missing")
    async def test_concurrent_questions_are_sent_together_and_missing_answers_asked_again(self) -> None:
        async with line(Shop()) as client:
            questions, state = asked(await client.call("together"))
            assert list(questions) == ["q0", "q1", "q2"]
            message = await client.call("together", requestState=state, inputResponses={questions["q1"]: YES})
            again, state = asked(message)
            assert again == {name: key for name, key in questions.items() if name != "q1"}
            nothing, state = asked(await client.call("together", requestState=state))
            assert nothing == again
            answers = {key: {"action": "decline"} for key in again.values()}
            message = await client.call("together", requestState=state, inputResponses=answers)
            assert text(message) == "q0 decline q1 accept q2 decline"

    @pytest.mark.requirement("modern.stateless")
    async def test_the_retry_replaces_the_request(self) -> None:
        """Its capabilities, its progress token, its log level and its channel apply from then on."""
        async with line(Shop()) as client:
            first = Stream()
            wants = {**meta(logLevel="info"), "progressToken": "first"}
            questions, state = asked((await client.over(first, "thrice", _meta=wants))[-1])
            second = Stream()
            got = await client.over(second, "thrice", requestState=state, inputResponses={questions["q0"]: YES})
            assert len(got) == 1, "neither a level nor a token"
            questions, state = asked(got[-1])
            third = Stream()
            wants = {**meta(logLevel="info"), "progressToken": "third"}
            got = await client.over(
                third, "thrice", _meta=wants, requestState=state, inputResponses={questions["q1"]: YES}
            )
            assert [m.get("method") for m in got] == ["notifications/progress", "notifications/message", None]
            assert got[0]["params"]["progressToken"] == "third" and got[1]["params"]["data"] == "log 1"
            questions, state = asked(got[-1])
            none: Any = {**meta(), f"{PREFIX}clientCapabilities": {}}
            message = await client.call("thrice", _meta=none, requestState=state, inputResponses={questions["q2"]: YES})
            assert text(message).endswith("q2 accept 4")
            assert (len(first.got), len(second.got), len(third.got)) == (1, 1, 3)

    @pytest.mark.requirement("alone.progress-asked")
    async def test_messages_between_two_requests_are_dropped(self) -> None:
        server = Shop()
        async with line(server) as client:
            channel = Stream()
            wants = {**meta(logLevel="info"), "progressToken": "t"}
            questions, state = asked((await client.over(channel, "meanwhile", _meta=wants))[-1])
            while not server.done:
                await asyncio.sleep(0.005)
            assert len(channel.got) == 1 and client.streams.got == []
            answers: Any = {questions["q"]: YES}
            assert text(await client.call("meanwhile", requestState=state, inputResponses=answers)) == "q accept"

    async def test_a_handler_that_ended_in_the_meantime_keeps_its_result(self) -> None:
        async with line(Shop()) as client:
            _, state = asked(await client.call("gives up"))
            await asyncio.sleep(0.05)
            assert text(await client.call("gives up", requestState=state)) == "without"

    async def test_a_question_has_a_timeout_of_its_own(self, caplog: pytest.LogCaptureFixture) -> None:
        async with line(Shop()) as client:
            _, state = asked(await client.call("late"))
            await asyncio.sleep(0.05)
            message = await client.call("late", requestState=state)
            assert message["error"]["code"] == -32603 and RequestTimeout.__name__ in caplog.text

    @pytest.mark.requirement("input.validated")
    @pytest.mark.parametrize(
        ("answers", "where"),
        [({"elicitation-1": {"action": "maybe"}}, "/action"), ({"elicitation-1": 7}, "")],
    )
    async def test_an_answer_that_is_not_valid_is_refused_and_may_come_again(self, answers: Any, where: str) -> None:
        async with line(Shop()) as client:
            questions, state = asked(await client.call("meanwhile"))
            error = (await client.call("meanwhile", requestState=state, inputResponses=answers))["error"]
            assert error["code"] == -32602 and error["data"]["pointer"] == f"/inputResponses/elicitation-1{where}"
            good: Any = {questions["q"]: YES}
            assert text(await client.call("meanwhile", requestState=state, inputResponses=good)) == "q accept"


class TestHandles:
    @pytest.mark.requirement("input.state-verified", "input.state-bound", "input.state-once")
    async def test_a_handle_is_good_once_for_one_request_of_one_peer(self, caplog: pytest.LogCaptureFixture) -> None:
        async with line(Shop()) as client:
            message = await client.call("once", channel=Known("ada"), args={"n": 1})
            questions, state = asked(message)
            answers: Any = {questions["q"]: YES}

            async def retry(name: str = "once", *, by: Any = "ada", state: Any = state, n: int = 1) -> Any:
                channel = Known(by) if by else Stream()
                return await client.call(
                    name, channel=channel, args={"n": n}, requestState=state, inputResponses=answers
                )

            wrong = [
                retry(by="bob"),
                retry(by=None),
                retry("together"),
                retry(n=2),
                *(retry(state=altered(state, place)) for place in range(len(state))),
                retry(state=state + "="),
                retry(state=""),
                retry(state="é"),
                retry(state="\ud83d\ude00"),
            ]
            for error in [(await each)["error"] for each in wrong]:
                assert (error["code"], error["data"]) == (-32602, {"pointer": "/requestState"})
            assert "this process did not issue; with several workers, use InputState" in caplog.text
            caplog.clear()
            assert text(await retry()) == "q accept"
            assert (await retry())["error"]["code"] == -32602, "it was used"
            assert "never issued" not in caplog.text

    async def test_a_handle_must_be_a_string(self) -> None:
        async with line(Shop()) as client:
            assert (await client.call("once", requestState=7))["error"]["code"] == -32602

    @pytest.mark.requirement("input.state-bound")
    async def test_a_handle_expires(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        server = Shop(inputs=Suspended(expiry=0.02))
        async with line(server) as client:
            questions, state = asked(await client.call("once"))
            await asyncio.sleep(0.05)
            assert server.ended == ["the client did not come back within 0.02 s"]
            message = await client.call("once", requestState=state, inputResponses={questions["q"]: YES})
            assert message["error"]["code"] == -32602 and "never issued" not in caplog.text

    async def test_the_oldest_handler_of_a_greedy_peer_makes_room(self) -> None:
        server = Shop(inputs=Suspended(per_peer=2, overall=3))
        async with line(server) as client, line(server) as other:
            asks = [(other, "bob"), (client, "ada"), (client, "ada"), (client, "ada"), (other, "eve")]
            kept = [(at, by, *asked(await at.call("once", channel=Known(by)))) for at, by in asks]
            await eventually(lambda: server.ended == ["too many later requests of this peer wait for input"] * 2)
            found: list[Any] = []
            for at, by, questions, state in kept:
                answers: Any = {questions["q"]: YES}
                found.append(await at.call("once", channel=Known(by), requestState=state, inputResponses=answers))
            assert [each["error"]["code"] for each in found[1:3]] == [
                -32602
            ] * 2, "ada had two before, and two of three"
            assert [text(each) for each in (found[0], *found[3:])] == ["q accept"] * 3

    @pytest.mark.slow
    @pytest.mark.requirement("input.no-retry")
    async def test_handlers_that_are_abandoned_leave_nothing(self) -> None:
        server = Shop(inputs=Suspended(expiry=0.1, per_peer=1000))
        async with line(server) as client:
            before = len(asyncio.all_tasks())
            await asyncio.gather(*(client.call("together") for _ in range(500)))
            assert len(asyncio.all_tasks()) > before + 500
            await asyncio.sleep(0.3)
            gc.collect()
            assert len(asyncio.all_tasks()) <= before and len(server.ended) == 500
            asked(await client.call("together"))


class TestClient:
    @pytest.mark.requirement("input.answers-first", "input.state-echoed", "input.new-id", "input.retry-only")
    async def test_handlers_of_the_client_answer(self) -> None:
        reviewed: list[str] = []

        async def elicit(self: Any, params: Any, ctx: Any) -> Any:
            reviewed.append(params.message)
            return v.ElicitResult(action="decline")

        server = Shop()
        async with talk(server, handlers=make_handlers("2026-07-28", elicit=elicit)) as both:
            found = await both.client.call_tool(name="thrice", arguments={"a": [1.5, "x"]})
        assert reviewed == ["q0", "q1", "q2"] and server.done == ["charged 0", "charged 1", "charged 2"]
        calls = [m for m in both.sent if m.get("method") == "tools/call"]
        results = {m["id"]: m["result"] for m in both.received if "result" in m}
        assert found.content[0].text.startswith("q0 decline")
        assert len({m["id"] for m in calls}) == 4
        for before, after in pairwise(calls):
            assert after["params"]["requestState"] == results[before["id"]]["requestState"]
            assert list(after["params"]["inputResponses"]) == list(results[before["id"]]["inputRequests"])
            assert after["params"]["arguments"] == {"a": [1.5, "x"]}
        assert not {"requestState", "inputResponses"} & calls[0]["params"].keys()

    @pytest.mark.requirement("input.answers-first")
    async def test_questions_of_one_result_are_answered_at_the_same_time(self) -> None:
        barrier = asyncio.Barrier(3)

        async def elicit(self: Any, params: Any, ctx: Any) -> Any:
            await barrier.wait()
            return v.ElicitResult(action="accept")

        async with asyncio.timeout(5), talk(Shop(), handlers=make_handlers("2026-07-28", elicit=elicit)) as both:
            found = await both.client.call_tool(name="together")
        assert found.content[0].text == "q0 accept q1 accept q2 accept"

    async def test_no_timeout_runs_while_the_user_is_asked(self) -> None:
        async def elicit(self: Any, params: Any, ctx: Any) -> Any:
            await asyncio.sleep(0.3)
            return v.ElicitResult(action="accept")

        async with talk(Shop(), handlers=make_handlers("2026-07-28", elicit=elicit)) as both:
            found = await both.client.call_tool(name="together", options=CallOptions(timeout=0.2, max_time=0.2))
        assert found.content[0].text == "q0 accept q1 accept q2 accept"

    async def test_the_error_of_a_handler_ends_the_call(self) -> None:
        async with talk(Shop(), handlers=make_handlers("2026-07-28", elicit=raises(PeerError(-1, "no")))) as both:
            with pytest.raises(PeerError, match="no"):
                await both.client.call_tool(name="together")

    async def test_the_rounds_are_bounded(self) -> None:
        async def elicit(self: Any, params: Any, ctx: Any) -> Any:
            return v.ElicitResult(action="accept")

        handlers = make_handlers("2026-07-28", elicit=elicit)
        async with talk(Shop(), handlers=handlers, input_rounds=2) as both:
            await both.client.call_tool(name="together")
            with pytest.raises(RemoteProtocolError, match="the server asked for input 3 times"):
                await both.client.call_tool(name="thrice")
