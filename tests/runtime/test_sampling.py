"""Sampling: the review of requests and results, and messages that use tools."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2024_11_05
from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.errors import InvalidParamsError
from mcp_runtime.client_features.sampling import After, Before, Denied, MessagesOutOfOrder, check_messages, reviewed
from mcp_runtime.core.errors import LocalProtocolError, MissingCapability, PeerError
from mcp_runtime.core.settings import ServerOptions
from support.talk import talk

Params = v.CreateMessageRequestParams
Result = v.CreateMessageResult


def says(text: str, role: Any = "user") -> v.SamplingMessage:
    return v.SamplingMessage(role=role, content=v.TextContent(text=text))


def asks(*messages: v.SamplingMessage) -> Params:
    return Params(messages=list(messages), max_tokens=10)


def uses(*ids: str, role: Any = "assistant") -> v.SamplingMessage:
    return v.SamplingMessage(role=role, content=[v.ToolUseContent(id=each, name="t", input={}) for each in ids])


def results(*ids: str, role: Any = "user") -> v.SamplingMessage:
    return v.SamplingMessage(role=role, content=[v.ToolResultContent(tool_use_id=each, content=[]) for each in ids])


class Host(v.ClientHandlers):
    """Answers with what it was asked, after a review."""

    def __init__(self, *, before: Before[Params] | None = None, after: After[Params, Result] | None = None) -> None:
        self.asked: list[Params] = []
        self.review = reviewed(self.model, before=before, after=after)

    async def model(self, params: Params) -> Result:
        self.asked.append(params)
        content = params.messages[-1].content
        return Result(role="assistant", model="echo", content=content)

    async def create_message(self, params: Params, ctx: v.ClientContext) -> Result | v.CreateTaskResult:
        return await self.review(params)


class Idle(v.Server):
    options = ServerOptions(name="idle")


class Rude(v.Server):
    """Sends what was not declared."""

    options = ServerOptions(name="rude", check_capabilities=False)


def text_of(result: Result) -> str:
    assert isinstance(result.content, v.TextContent)
    return result.content.text


class TestReviewing:
    """client/sampling, "User Interaction Model" and "Error Handling"."""

    async def test_without_hooks_everything_passes(self) -> None:
        async with talk(Idle(), handlers=Host()) as both:
            client: Any = both.server.stub
            assert text_of(await client.create_message(messages=[says("hi")], max_tokens=1)) == "hi"

    async def test_before_the_model_it_is_shown_and_edited(self) -> None:
        shown: list[Params] = []

        async def before(params: Params) -> Params:
            shown.append(params)
            return asks(says("edited"))

        host = Host(before=before)
        async with talk(Idle(), handlers=host) as both:
            client: Any = both.server.stub
            assert text_of(await client.create_message(messages=[says("secret")], max_tokens=1)) == "edited"
            assert [text.content for text in shown[0].messages] == [v.TextContent(text="secret")]
            assert host.asked == [asks(says("edited"))]

    async def test_a_denial_before_the_model_is_error_minus_one_and_the_model_is_not_asked(self) -> None:
        async def before(params: Params) -> Denied:
            return Denied(reason="not today")

        host = Host(before=before)
        async with talk(Idle(), handlers=host) as both:
            client: Any = both.server.stub
            with pytest.raises(PeerError, match="rejected") as raised:
                await client.create_message(messages=[says("hi")], max_tokens=1)
            assert (raised.value.code, raised.value.data) == (-1, {"reason": "not today"})
            assert host.asked == []

    async def test_after_the_model_it_is_shown_and_edited(self) -> None:
        async def before(params: Params) -> Params:
            return asks(says("edited"))

        async def after(params: Params, result: Result) -> Result:
            assert params == asks(says("edited"))
            return Result(role="assistant", model=result.model, content=v.TextContent(text=text_of(result).upper()))

        async with talk(Idle(), handlers=Host(before=before, after=after)) as both:
            client: Any = both.server.stub
            assert text_of(await client.create_message(messages=[says("hi")], max_tokens=1)) == "EDITED"

    async def test_a_denial_after_the_model_answers_minus_one_too(self) -> None:
        async def after(params: Params, result: Result) -> Denied:
            return Denied()

        host = Host(after=after)
        async with talk(Idle(), handlers=host) as both:
            client: Any = both.server.stub
            with pytest.raises(PeerError, match="result") as raised:
                await client.create_message(messages=[says("hi")], max_tokens=1)
            assert (raised.value.code, raised.value.data) == (-1, None)
            assert len(host.asked) == 1

    async def test_cancelling_the_request_ends_the_review(self) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def before(params: Params) -> Params:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return params

        async with talk(Idle(), handlers=Host(before=before)) as both:
            client: Any = both.server.stub
            asking = asyncio.create_task(client.create_message(messages=[says("hi")], max_tokens=1))
            await begun.wait()
            asking.cancel()
            async with asyncio.timeout(30):
                await ended.wait()


class TestTools:
    """2025-11-25, client/sampling, "Message Content Constraints"."""

    @pytest.mark.parametrize(
        "messages",
        [
            [says("hi")],
            [says("hi"), uses("a"), results("a"), says("done", "assistant")],
            [says("hi"), uses("a", "b"), results("b", "a")],
            [says("hi"), uses("a"), results("a"), uses("a"), results("a")],
            [],
        ],
    )
    def test_matching_messages_pass(self, messages: list[v.SamplingMessage]) -> None:
        check_messages(messages)

    def test_a_single_block_counts_like_a_list(self) -> None:
        use = v.SamplingMessage(role="assistant", content=v.ToolUseContent(id="a", name="t", input={}))
        result = v.SamplingMessage(role="user", content=v.ToolResultContent(tool_use_id="a", content=[]))
        check_messages([use, result])
        with pytest.raises(MessagesOutOfOrder):
            check_messages([use, says("?")])

    def test_revisions_without_tools_pass(self) -> None:
        message = v2024_11_05.SamplingMessage(role="user", content=v2024_11_05.TextContent(text="hi"))
        check_messages([message])

    @pytest.mark.parametrize(
        ("messages", "where", "why"),
        [
            ([uses("a")], 0, "no result"),
            ([uses("a"), says("?")], 1, "no result"),
            ([uses("a", "b"), results("a")], 1, "no result"),
            ([uses("a"), results("a", "b")], 1, "not belong"),
            ([uses("a"), results("a", "a")], 1, "not belong"),
            ([results("a")], 0, "not belong"),
            ([uses("a"), results("a"), results("a")], 2, "not belong"),
            ([uses("a", "a"), results("a", "a")], 0, "same id"),
            ([uses("a", role="user"), results("a")], 0, "only the assistant"),
            ([uses("a"), results("a", role="assistant")], 1, "in a user message"),
        ],
    )
    def test_mismatched_messages_are_refused(self, messages: list[v.SamplingMessage], where: int, why: str) -> None:
        with pytest.raises(MessagesOutOfOrder, match=why) as raised:
            check_messages(messages)
        assert raised.value.code == -32602
        assert raised.value.data == {"pointer": f"/messages/{where}"}

    async def test_results_do_not_mix_with_anything_else(self) -> None:
        mixed = v.SamplingMessage(
            role="user", content=[v.TextContent(text="here"), v.ToolResultContent(tool_use_id="a", content=[])]
        )
        host = Host()
        async with talk(Idle(), handlers=host) as both:
            client: Any = both.server.stub
            with pytest.raises(LocalProtocolError, match="nothing else"):
                await client.create_message(messages=[uses("a"), mixed], max_tokens=1)
            assert host.asked == []

    async def test_edited_messages_are_checked_too(self) -> None:
        async def before(params: Params) -> Params:
            return asks(uses("a"))

        with pytest.raises(MessagesOutOfOrder):
            await Host(before=before).review(asks(says("hi")))

    @pytest.mark.parametrize(
        "more",
        [
            {"tools": [v.Tool(name="t", input_schema=v.ToolInputSchema())]},
            {"tool_choice": v.ToolChoice(mode="auto")},
        ],
    )
    async def test_tools_need_a_capability_on_both_sides(self, more: dict[str, Any]) -> None:
        async with talk(Idle(), handlers=Host()) as both:
            client: Any = both.server.stub
            with pytest.raises(MissingCapability, match=r"client\.sampling\.tools"):
                await client.create_message(messages=[says("hi")], max_tokens=1, **more)
        async with talk(Rude(), handlers=Host()) as both:
            client = both.server.stub
            with pytest.raises(InvalidParamsError, match=r"client\.sampling\.tools"):
                await client.create_message(messages=[says("hi")], max_tokens=1, **more)
        declared: dict[str, Any] = {"sampling": {"tools": {}}}
        async with talk(Idle(), handlers=Host(), capabilities=declared) as both:
            client = both.server.stub
            assert text_of(await client.create_message(messages=[says("hi")], max_tokens=1, **more)) == "hi"
