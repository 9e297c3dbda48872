"""Questions of a server with `ctx.client`: requests in the legacy era, parts of results in the modern one."""

import logging
from typing import Any

import pytest

from mcp_runtime.core.errors import LocalProtocolError, MissingCapability
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions
from support.channels import Streams
from support.posting import answer, post
from support.roles import TEXT, build, make_handlers, make_server, returns
from support.talk import LEGACY, talk

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
CLIENT: dict[str, dict[str, Any]] = {"elicitation": {}, "roots": {}, "sampling": {}}
ANSWERS: dict[str, dict[str, Any]] = {
    "roots/list": {"roots": [{"uri": "file:///home"}]},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": TEXT},
    "elicitation/create": {"action": "accept", "content": {"cups": 2}},
}


async def ask_everything(self: Any, params: Any, ctx: Any) -> Any:
    """Ask the client everything that it can answer."""
    revision = self.__binding__.revision
    question = build(revision, "SamplingMessage", role="user", content=TEXT)
    found = [
        (await ctx.client.list_roots()).roots[0].uri,
        (await ctx.client.create_message(messages=[question], max_tokens=5)).model,
    ]
    if "elicitation/create" in self.__binding__.methods:
        form: Any = {"type": "object", "properties": {"cups": {"type": "integer"}}}
        found.append((await ctx.client.elicit(message="How many?", requested_schema=form)).action)
    return build(revision, "CallToolResult", content=[{"type": "text", "text": " ".join(found)}], **complete(revision))


def complete(revision: str) -> dict[str, Any]:
    return {} if revision in LEGACY else {"resultType": "complete"}


class Modern:
    """Sends single requests to a modern server, and returns its answers."""

    def __init__(self, **capabilities: Any) -> None:
        self.meta = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": capabilities}

    async def ask(self, server: Any, method: str, **params: Any) -> Any:
        streams = Streams()
        connection = await start_server(streams, server)
        try:
            return await answer(post(streams, id=1, method=method, params={**params, "_meta": self.meta}), 1)
        finally:
            await connection.aclose()


@pytest.mark.parametrize("revision", [LEGACY[0], LEGACY[-1]])
async def test_legacy_questions_are_separate_requests(revision: str) -> None:
    answers = {
        "list_roots": returns("ListRootsResult", **ANSWERS["roots/list"]),
        "create_message": returns("CreateMessageResult", **ANSWERS["sampling/createMessage"]),
    }
    if revision >= "2025-06-18":
        answers["elicit"] = returns("ElicitResult", **ANSWERS["elicitation/create"])
    server = make_server(revision, call_tool=ask_everything)
    async with talk(server, handlers=make_handlers(revision, **answers)) as both:
        [text] = (await both.client.call_tool(name="x")).content
    assert text.text == ("file:///home m accept" if "elicit" in answers else "file:///home m")


@pytest.mark.requirement("input.kinds")
async def test_modern_questions_are_sent_in_results() -> None:
    answers = {
        "list_roots": returns("ListRootsResult", **ANSWERS["roots/list"]),
        "create_message": returns("CreateMessageResult", **ANSWERS["sampling/createMessage"]),
        "elicit": returns("ElicitResult", **ANSWERS["elicitation/create"]),
    }
    server = make_server(MODERN, call_tool=ask_everything)
    async with talk(server, handlers=make_handlers(MODERN, **answers)) as both:
        [text] = (await both.client.call_tool(name="x")).content
    assert text.text == "file:///home m accept"


async def test_asking_is_an_error_if_it_is_left_to_the_handlers(caplog: pytest.LogCaptureFixture) -> None:
    server = make_server(MODERN, ServerOptions(inputs=None), call_tool=ask_everything)
    response = await Modern(**CLIENT).ask(server, "tools/call", name="x")
    assert response["error"] == {"code": -32603, "message": "internal error"}
    assert "cannot ask for input: ServerOptions(inputs=None) leaves that to the handlers" in caplog.text


@pytest.mark.requirement("input.declared")
async def test_a_client_that_cannot_answer_gets_an_error(caplog: pytest.LogCaptureFixture) -> None:
    response = await Modern().ask(make_server(MODERN, call_tool=ask_everything), "tools/call", name="x")
    assert response["error"]["code"] == -32021
    assert response["error"]["data"] == {"requiredCapabilities": {"roots": {}}}
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.requirement("input.three-methods")
async def test_most_results_cannot_carry_questions() -> None:
    raised: list[LocalProtocolError] = []

    async def ask(self: Any, params: Any, ctx: Any) -> Any:
        with pytest.raises(LocalProtocolError) as error:
            await ctx.client.list_roots()
        raised.append(error.value)
        raise MissingCapability("client.roots", "the list")

    await Modern(**CLIENT).ask(make_server(MODERN, list_tools=ask), "tools/list")
    reason = "the result of tools/list cannot ask for input; that of prompts/get or resources/read or tools/call can"
    assert [error.reason for error in raised] == [reason]


async def test_asking_outside_of_a_request_is_an_error() -> None:
    held: list[Any] = []

    async def keep(self: Any, params: Any, ctx: Any) -> Any:
        held.append(ctx.client)
        return build(MODERN, "CallToolResult", resultType="complete", content=[])

    streams, server = Streams(), make_server(MODERN, call_tool=keep)
    connection = await start_server(streams, server)
    params = {"name": "x", "_meta": Modern(**CLIENT).meta}
    assert "result" in await answer(post(streams, id=1, method="tools/call", params=params), 1)
    with pytest.raises(LocalProtocolError, match="while it handles a request, and none is open"):
        await held[0].list_roots()
    await connection.aclose()


@pytest.mark.parametrize("revision", [LEGACY[-1], MODERN])
async def test_recorded_work_runs_once_without_replay(revision: str) -> None:
    keys: list[str] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        async def work(key: str) -> Any:
            keys.append(key)
            return {"tuple": (1, 2)}

        assert await ctx.recorded("work", work) == await ctx.recorded("work", work) == {"tuple": [1, 2]}
        return build(revision, "CallToolResult", content=[TEXT], **complete(revision))

    async with talk(make_server(revision, call_tool=call_tool)) as both:
        await both.client.call_tool(name="x")
    assert len(set(keys)) == 2 and all(len(key) == 32 for key in keys)
