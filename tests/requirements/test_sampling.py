"""Sampling (client/sampling): a server asks the client's model."""

from typing import Any

import pytest

from mcp_runtime.client_features.sampling import Denied, reviewed
from mcp_runtime.core.connection import Way
from mcp_runtime.core.errors import LocalProtocolError, MissingCapability
from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit
from support.asked import asked_in_a_call
from support.roles import answering, build, is_refused, make_handlers, make_server
from support.talk import bindings, raw

requirement = pytest.mark.requirement
ASK = "sampling/createMessage"


def says(text: str) -> dict[str, Any]:
    return {"role": "user", "content": {"type": "text", "text": text}}


def asks(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "maxTokens": 10, **more}


class Model:
    """A model that echoes its prompt, under review."""

    def __init__(self, revision: str, **hooks: Any) -> None:
        self.asked: list[Any] = []

        async def model(params: Any) -> Any:
            self.asked.append(params)
            content = params.messages[-1].model_dump(mode="json")["content"]
            return build(revision, "CreateMessageResult", role="assistant", model="echo", content=content)

        review = reviewed(model, **hooks)

        async def create_message(handlers: Any, params: Any, ctx: Any) -> Any:
            return await review(params)

        self.handlers = make_handlers(revision, create_message=create_message)


@requirement("sampling.declared")
async def test_clients_with_sampling_declare_it(revision: str) -> None:
    async with answering(revision, handlers=Model(revision).handlers) as server:
        assert server.declared == {"sampling": {}}
        assert (await server.ask(ASK, asks(says("hi"))))["result"]["content"]["text"] == "hi"
    async with answering(revision) as server:
        assert server.declared == {}
        assert is_refused(await server.ask(ASK, asks(says("hi"))), -32601)


@requirement("sampling.human-in-the-loop", "sampling.rejected")
@pytest.mark.parametrize("hook", ["before", "after"])
async def test_a_user_can_deny_before_and_after_the_model(revision: str, hook: str) -> None:
    async def deny(*shown: Any) -> Denied:
        return Denied(reason="no")

    model = Model(revision, **{hook: deny})
    async with answering(revision, handlers=model.handlers) as server:
        error = (await server.ask(ASK, asks(says("hi"))))["error"]
        assert error["code"] == -1 and "rejected" in error["message"]
        assert len(model.asked) == (hook == "after")


@requirement("sampling.prompts-edited", "sampling.results-reviewed")
async def test_a_user_can_edit_requests_and_results(revision: str) -> None:
    async def before(params: Any) -> Any:
        return build(revision, "CreateMessageRequestParams", **asks(says("edited")))

    async def after(params: Any, result: Any) -> Any:
        result.content.text += " twice"
        return result

    model = Model(revision, before=before, after=after)
    async with answering(revision, handlers=model.handlers) as server:
        assert (await server.ask(ASK, asks(says("secret"))))["result"]["content"]["text"] == "edited twice"
        assert model.asked[0].messages[0].content.text == "edited"


@requirement("sampling.content-validated")
async def test_invalid_messages_reach_no_model(revision: str) -> None:
    model = Model(revision)
    async with answering(revision, handlers=model.handlers) as server:
        wrong: list[Any] = [
            {},
            {"messages": [1], "maxTokens": 1},
            asks({"role": "system", "content": says("x")["content"]}),
        ]
        for number, params in enumerate(wrong):
            assert is_refused(await server.ask(ASK, params, id_=f"s{number}"), -32602)
        assert not model.asked


@requirement("sampling.content-validated")
async def test_an_invalid_result_reaches_no_handler_of_a_server(revision: str) -> None:
    """In the legacy era the server's handler gets the error, in the modern era the client."""

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        await ctx.client.create_message(messages=[build(revision, "SamplingMessage", **says("x"))], max_tokens=1)
        raise AssertionError("answered")

    wrong = {"role": "assistant", "content": {"type": "text"}, "model": "m"}
    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision, sampling={})
        line.got.clear()
        line.tell(id=1, method="tools/call", params={"name": "x"})
        asked = await line.arrived()
        if "method" in asked:
            line.tell(id=asked["id"], result=wrong)
            assert (await line.answer(1))["error"]["code"] == -32603
            return
        [key] = asked["result"]["inputRequests"]
        more = {"inputResponses": {key: wrong}, "requestState": asked["result"]["requestState"]}
        error = (await line.ask("tools/call", {"name": "x", **more}, id_=2))["error"]
        assert error["code"] == -32602 and error["data"]["pointer"].startswith(f"/inputResponses/{key}/content")


@requirement("sampling.rate-limited")
async def test_requests_that_come_too_fast_are_refused(revision: str) -> None:
    limit = RateLimit(rate=0.001, burst=1, methods=[ASK], ways=[Way.RECEIVED])
    async with answering(revision, handlers=Model(revision).handlers, middleware=(limit,)) as server:
        assert "result" in await server.ask(ASK, asks(says("a")), id_="s1")
        assert (await server.ask(ASK, asks(says("b")), id_="s2"))["error"]["code"] == RATE_LIMITED


TOOLS: dict[str, Any] = {"sampling": {"tools": {}}}
TOOL = {"name": "t", "inputSchema": {"type": "object"}}
USE: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "t", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "toolUseId": "a", "content": []}


@requirement("sampling.tools-declared")
async def test_clients_that_declare_tools_get_them(revision: str) -> None:
    model = Model(revision)
    async with answering(revision, handlers=model.handlers) as server:
        assert server.declared == {"sampling": {}}
    async with answering(revision, handlers=model.handlers, own=TOOLS) as server:
        assert server.declared == TOOLS
        assert "result" in await server.ask(ASK, asks(says("hi"), tools=[TOOL], toolChoice={"mode": "auto"}))
        assert model.asked[0].tools[0].name == "t" and model.asked[0].tool_choice.mode == "auto"


@requirement("sampling.tools-refused")
@pytest.mark.parametrize("more", [{"tools": [TOOL]}, {"tools": []}, {"toolChoice": {"mode": "none"}}])
async def test_clients_that_did_not_declare_tools_refuse_them(revision: str, more: dict[str, Any]) -> None:
    model = Model(revision)
    async with answering(revision, handlers=model.handlers) as server:
        assert (await server.ask(ASK, asks(says("hi"), **more)))["error"]["code"] == -32602
        assert not model.asked


@requirement("sampling.tools-not-sent")
@pytest.mark.parametrize("has_tools", [True, False])
async def test_a_server_sends_no_tools_to_a_client_that_did_not_declare_them(revision: str, has_tools: bool) -> None:
    package = bindings(revision)

    async def ask(ctx: Any) -> Any:
        given: dict[str, Any] = (
            {"tools": [package.Tool(name="t", input_schema=package.ToolInputSchema())]}
            if has_tools
            else {"tool_choice": package.ToolChoice()}
        )
        return await ctx.client.create_message(
            messages=[build(revision, "SamplingMessage", **says("x"))], max_tokens=1, **given
        )

    found = await asked_in_a_call(revision, ask, sampling={})
    assert isinstance(found.outcome, MissingCapability) and "client.sampling.tools" in str(found.outcome)
    assert not found.questions


@requirement("sampling.results-alone", "sampling.results-mixed")
async def test_results_of_tools_among_other_content_are_refused(revision: str) -> None:
    model = Model(revision)
    async with answering(revision, handlers=model.handlers, own=TOOLS) as server:
        mixed = {"role": "user", "content": [says("here")["content"], RESULT]}
        answer = await server.ask(ASK, asks(says("hi"), {"role": "assistant", "content": USE}, mixed))
        assert is_refused(answer, -32602) and "nothing else" in answer["error"]["message"]
        assert not model.asked


@requirement("sampling.uses-answered", "sampling.result-missing")
async def test_each_use_of_a_tool_needs_its_result(revision: str) -> None:
    model = Model(revision)
    uses: dict[str, Any] = {"role": "assistant", "content": [USE, {**USE, "id": "b"}]}
    one, both = [RESULT], [RESULT, {**RESULT, "toolUseId": "b"}]
    cases: list[tuple[Any, bool]] = [(one, False), (both, True), ([*both, {**RESULT, "toolUseId": "c"}], False)]
    async with answering(revision, handlers=model.handlers, own=TOOLS) as server:
        for number, (results, is_whole) in enumerate(cases):
            params = asks(says("hi"), uses, {"role": "user", "content": results}, says("and?"))
            answer = await server.ask(ASK, params, id_=f"s{number}")
            assert ("result" in answer) is is_whole
            assert is_whole or answer["error"]["code"] == -32602
        assert (await server.ask(ASK, asks(says("hi"), uses, says("?")), id_="last"))["error"]["code"] == -32602
        assert len(model.asked) == 1


USES: dict[str, Any] = {"role": "assistant", "content": [USE, {**USE, "id": "b"}]}
UNANSWERED = {
    "no result": [says("hi"), USES, says("and?")],
    "nothing after it": [says("hi"), USES],
    "one result of two": [says("hi"), USES, {"role": "user", "content": [RESULT]}],
    "one result twice": [says("hi"), USES, {"role": "user", "content": [RESULT, RESULT]}],
    "a result of no use": [says("hi"), {"role": "user", "content": [RESULT]}],
}


@requirement("sampling.uses-answered")
@pytest.mark.parametrize("case", UNANSWERED)
async def test_a_tool_use_without_result_is_neither_sent_nor_handled(revision: str, case: str) -> None:
    """This also holds without a review of the messages."""
    asked: list[Any] = []

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        asked.append(params)
        return build(revision, "CreateMessageResult", role="assistant", model="m", content=[])

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        messages = [build(revision, "SamplingMessage", **message) for message in UNANSWERED[case]]
        with pytest.raises(LocalProtocolError, match="/messages/"):
            await ctx.client.create_message(messages=messages, max_tokens=1)
        return build(revision, "CallToolResult", content=[])

    async with answering(
        revision, handlers=make_handlers(revision, create_message=create_message), own=TOOLS
    ) as server:
        assert is_refused(await server.ask(ASK, asks(*UNANSWERED[case])), -32602) and not asked
    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision, sampling={"tools": {}})
        assert "result" in await line.ask("tools/call", {"name": "x"})
        assert ASK not in [message.get("method") for message in line.got]


@requirement("sampling.meta-preserved")
async def test_meta_of_uses_and_results_survives(revision: str) -> None:
    model = Model(revision)
    use, result = {**USE, "_meta": {"acme/cache": 1.5}}, {**RESULT, "_meta": {"acme/cache": None}}
    async with answering(revision, handlers=model.handlers, own=TOOLS) as server:
        messages = (says("hi"), {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]})
        await server.ask(ASK, asks(*messages, says("?")))
        seen = [message.model_dump(mode="json") for message in model.asked[0].messages]
        assert seen[1]["content"] == [use] and seen[2]["content"] == [result]
