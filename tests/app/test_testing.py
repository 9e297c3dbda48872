"""`mcp_runtime.testing`: a typed client in one line, its received notifications, and its answers."""

from typing import Any

import pytest

from mcp_bindings import v2024_11_05 as first
from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime import testing
from mcp_runtime.core.errors import PeerError
from mcp_runtime.memory import connect_memory
from support.apps import text_of

TEAM = mcp.ElicitRequestFormParamsRequestedSchema(properties={"team": mcp.StringSchema()})


def asking_app() -> mcp.App:
    app = mcp.App("test")

    @app.tool()
    async def work(ctx: mcp.Context) -> str:
        await ctx.log("debug", {"step": 1}, logger="work")
        await ctx.report_progress(1, 2)
        return "done"

    @app.tool()
    async def form(ctx: mcp.Context) -> str:
        answer = await ctx.client.elicit(message="Which team?", requested_schema=TEAM)
        return f"{answer.action} {answer.content}"

    @app.tool()
    async def poem(ctx: mcp.Context) -> str:
        message = mcp.SamplingMessage(role="user", content=mcp.TextContent(text="A poem."))
        answer = await ctx.client.create_message(messages=[message], max_tokens=10)
        assert isinstance(answer.content, mcp.TextContent)
        return answer.content.text

    return app


async def test_a_typed_client_in_one_line() -> None:
    async with testing.connect(asking_app()) as client:
        result = await client.call_tool(name="work")
        assert result.structured_content == {"result": "done"}
        assert isinstance(client, mcp.Client)


async def test_everything_sent_before_an_answer_is_recorded() -> None:
    async with testing.connect(asking_app()) as client:
        heard = testing.received(client)
        await client.call_tool(name="work", meta=mcp.RequestParamsMeta(progress_token="t"))
        [log] = heard.logs
        assert (log.level, log.data, log.logger) == ("debug", {"step": 1}, "work")
        assert [(report.progress, report.total) for report in heard.progress] == [(1, 2)]
        assert heard.methods == ["notifications/message", "notifications/progress"]
        heard.clear()
        assert heard.logs == heard.notifications("notifications/tools/list_changed") == []


def repeat(params: mcp.ElicitRequestFormParams) -> dict[str, str]:
    return {"team": params.message}


async def test_a_script_answers_for_the_user_and_the_model() -> None:
    forms: list[Any] = [{"team": "a"}, "decline", mcp.ElicitResult(action="cancel"), repeat]
    async with testing.connect(asking_app(), elicit=forms, sample=["Roses."]) as client:
        texts = [text_of(await client.call_tool(name="form")) for _ in forms]
        assert texts == ["accept {'team': 'a'}", "decline None", "cancel None", "accept {'team': 'Which team?'}"]
        assert text_of(await client.call_tool(name="poem")) == "Roses."
        assert [type(params).__name__ for params in testing.received(client).asked][-1] == "CreateMessageRequestParams"


async def test_a_server_that_asks_too_often_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="no answer left for elicitation/create"):
        async with testing.connect(asking_app(), elicit=["accept"]) as client:
            for _ in range(2):
                await client.call_tool(name="form")


async def test_a_server_that_does_not_ask_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="the server did not ask for 1 of the answers to sampling/createMessage"):
        async with testing.connect(asking_app(), sample=["Roses."]) as client:
            await client.call_tool(name="work")


@pytest.mark.parametrize("given", [mcp, mcp.App, "server.py"])
async def test_other_objects_are_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="instance"):
        async with testing.connect(given):
            pass


async def test_the_failure_of_a_test_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        async with testing.connect(asking_app(), sample=["Roses."]):
            raise ZeroDivisionError


async def test_an_exception_is_an_answer() -> None:
    async with testing.connect(asking_app(), sample=[PeerError(-1, "rejected")]) as client:
        assert (await client.call_tool(name="poem")).is_error


@pytest.mark.parametrize("client_class", [first.Client, mcp.Client], ids=["2024-11-05", "2025-11-25"])
async def test_the_client_may_be_of_another_revision(client_class: Any) -> None:
    async with testing.connect(asking_app(), client_class) as client:
        assert client.connection.revision == client_class.__binding__.revision
        assert text_of(await client.call_tool(name="work")).startswith("done")
        assert testing.received(client).logs[0].data == {"step": 1}


async def test_the_modern_era_is_tested_in_the_same_way() -> None:
    app = modern.App("test")

    @app.tool()
    async def form(ctx: modern.Context) -> str:
        await ctx.log("debug", "asking_app")
        schema = modern.ElicitRequestFormParamsRequestedSchema(properties={})
        return (await ctx.client.elicit(message="Sure?", requested_schema=schema)).action

    async with testing.connect(app, elicit=["decline"]) as client:
        assert text_of(await client.call_tool(name="form")) == "decline"
        assert [log.data for log in testing.received(client).logs] == ["asking_app"]
        assert [params.message for params in testing.received(client).asked] == ["Sure?"]


async def test_roots_are_answered_and_conflicting_options_are_refused() -> None:
    app = mcp.App("test")

    @app.tool()
    async def roots(ctx: mcp.Context) -> list[str]:
        return [root.uri for root in (await ctx.client.list_roots()).roots]

    async with testing.connect(app, roots=["file:///srv"]) as client:
        assert (await client.call_tool(name="roots")).structured_content == {"result": ["file:///srv"]}
    with pytest.raises(ValueError, match="not both"):
        async with testing.connect(app, elicit=[], handlers=mcp.ClientHandlers()):
            pass
    with pytest.raises(ValueError, match="clients of 2024-11-05 cannot be asked elicitation/create"):
        async with testing.connect(first.App("test"), elicit=[]):
            pass
    async with connect_memory(app) as peer:
        with pytest.raises(LookupError):
            testing.received(await mcp.Client.open(peer))
