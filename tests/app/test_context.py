"""What the context of a tool offers beyond the protocol: questions for one value, log messages, and own resources."""

from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest

from mcp_bindings import Accepted, App, Cancelled, Context, Declined, NotFound, PeerError, requires_scopes, testing
from mcp_bindings import v2025_06_18 as older
from mcp_bindings import v2025_11_25 as newer
from mcp_bindings import v2026_07_28 as modern

VERSIONS = [older, newer, modern]


class Tea(Enum):
    GREEN = "green"
    BLACK = "black"


VALUES: list[tuple[Any, Any, Any]] = [
    (bool, False, False),
    (int, 0, 0),
    (float, 0.0, 0.0),
    (str, "", ""),
    (date, "2026-07-28", date(2026, 7, 28)),
    (Tea, "black", Tea.BLACK),
    (Literal["s", "l"], "l", "l"),
]
LISTS: list[tuple[Any, Any, Any]] = [
    (list[Literal["s", "l"]], ["s", "l"], ["s", "l"]),
    (list[Tea], [], []),
]


def asking(version: Any, form: Any, answers: list[Any]) -> Any:
    """Return an app with a tool that asks for a form and keeps the answer."""
    app = version.App("test")

    async def ask(ctx: Any) -> str:
        answers.append(await ctx.elicit("What?", form))
        return str(bool(answers[-1]))

    ask.__annotations__["ctx"] = version.Context
    app.tool(description="Ask.")(ask)
    return app


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
@pytest.mark.parametrize(("form", "sent", "value"), VALUES)
async def test_one_value_is_accepted_and_true(version: Any, form: Any, sent: Any, value: Any) -> None:
    found: list[Any] = []
    app = asking(version, form, found)
    async with testing.connect(app, elicit=[{"value": sent}, "decline", "cancel"]) as client:
        texts = [(await client.call_tool(name="ask")).content[0].text for _ in range(3)]
    assert found == [Accepted(value), Declined("the user declined"), Cancelled("the user dismissed the form")]
    assert texts == ["True", "False", "False"]


@pytest.mark.parametrize("version", VERSIONS[1:], ids=lambda version: version.REVISION)
@pytest.mark.parametrize(("form", "sent", "value"), LISTS)
async def test_a_list_of_choices_is_one_value(version: Any, form: Any, sent: Any, value: Any) -> None:
    found: list[Any] = []
    async with testing.connect(asking(version, form, found), elicit=[{"value": sent}]) as client:
        await client.call_tool(name="ask")
    assert found == [Accepted(value)]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
@pytest.mark.parametrize("form", [dict, list[dict[str, Any]], list[int], object, tuple[int, str], type, 3, lambda: 1])
async def test_a_form_that_cannot_be_sent_is_an_error_of_the_author(form: Any, version: Any, caplog: Any) -> None:
    app = asking(version, form, [])
    async with testing.connect(app, elicit=[]) as client:
        assert (await client.call_tool(name="ask")).is_error
        assert testing.received(client).asked == []
    assert "is not a form: it must be a string, a number, a boolean or a choice" in caplog.text


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
async def test_there_is_a_method_for_each_usual_level(version: Any) -> None:
    app = version.App("test")

    async def note(ctx: Any) -> None:
        for level in ("debug", "info", "warning", "error"):
            await getattr(ctx, level)({"at": level}, logger="notes")

    note.__annotations__["ctx"] = version.Context
    app.tool(description="Note.")(note)
    async with testing.connect(app) as client:
        await client.call_tool(name="note")
        logs = testing.received(client).logs
    assert [(log.level, log.data, log.logger) for log in logs] == [
        (level, {"at": level}, "notes") for level in ("debug", "info", "warning", "error")
    ]


async def test_a_tool_reads_resources_of_its_server() -> None:
    app: App = App("library")

    @app.resource("library://books/{number}")
    def book(number: int) -> str:
        if number != 1:
            raise NotFound(f"there is no book {number}")
        return "Tea for two"

    @app.resource("library://secret")
    @requires_scopes("secrets")
    def secret() -> str:
        return "hidden"

    @app.tool()
    async def quote(uri: str, ctx: Context) -> str:
        """Quote a book."""
        try:
            [contents] = await ctx.read_resource(uri)
        except PeerError as error:
            return str(error.message)
        return f"{contents.text} {sorted(ctx.exchange.scopes)}"

    async with testing.connect(app) as client:

        async def quoted(uri: str) -> str:
            return str((await client.call_tool(name="quote", arguments={"uri": uri})).structured_content)

        assert await quoted("library://books/1") == "Tea for two []"
        assert await quoted("library://books/2") == "there is no book 2"
        assert await quoted("library://secret") == "hidden ['secrets']", "the request needs what the resource needs"


async def test_a_server_without_resources_is_told_so(caplog: Any) -> None:
    app: App = App("empty")

    @app.tool()
    async def quote(ctx: Context) -> str:
        """Quote nothing."""
        return str(await ctx.read_resource("x://y"))

    async with testing.connect(app) as client:
        assert (await client.call_tool(name="quote")).is_error
    assert "ctx.read_resource reads resources of this server, and it has none" in caplog.text
