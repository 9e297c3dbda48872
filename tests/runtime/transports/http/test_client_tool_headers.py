"""Tool arguments sent as headers: what a client sends, which tools it leaves out, and how it recovers."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.responses import Response

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import ConnectionClosed, PeerError
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http
from support.modern_endpoint import Answer, Endpoint, Posted, listed, modern_endpoint, text

MISMATCH = -32020


def tool(name: str, **headers: str) -> dict[str, Any]:
    """Return a tool with arguments of the given types that become headers: ``region__string="Region"``."""
    properties: dict[str, Any] = {"other": {"type": "string"}}
    for name_and_type, header in headers.items():
        argument, _, type_ = name_and_type.partition("__")
        properties[argument] = {"type": type_, "x-mcp-header": header}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


BREW = tool("brew", region__string="Region", grams__integer="Grams", hot__boolean="HOT")


class Checking:
    """Tools whose calls are refused unless their headers are right, as `headers` says for each tool."""

    def __init__(self, *pages: list[dict[str, Any]]) -> None:
        self.pages = pages
        self.wanted: dict[str, str] = {}

    def list(self, posted: Posted) -> dict[str, Any]:
        number = int(posted.params.get("cursor", "0"))
        more = {"nextCursor": str(number + 1)} if number + 1 < len(self.pages) else {}
        return listed(*self.pages[number], **more)

    def call(self, posted: Posted) -> Any:
        found = sent_headers(posted)
        return text("tea") if found == self.wanted else posted.error(MISMATCH, f"headers are {sorted(found)}")


def sent_headers(posted: Posted) -> dict[str, str]:
    return {name: value for name, value in posted.headers.items() if name.startswith("mcp-param-")}


@asynccontextmanager
async def opened(checking: Checking, **answers: Answer) -> AsyncGenerator[tuple[v.Client, Endpoint]]:
    all_answers: dict[str, Answer] = {"tools__list": checking.list, "tools__call": checking.call, **answers}
    async with modern_endpoint(**all_answers) as endpoint, connect_http(endpoint.url) as peer:
        yield await v.Client.open(peer, options=ClientOptions(timeout=60)), endpoint


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us", "grams": 5, "hot": True}, {"region": "us", "grams": "5", "hot": "true"}),
        ({"region": "Zürich", "hot": False}, {"region": "=?base64?WsO8cmljaA==?=", "hot": "false"}),
        ({"region": " a", "grams": None, "other": "b"}, {"region": "=?base64?IGE=?="}),
        ({"region": "a\r\nX-Evil: 1"}, {"region": "=?base64?YQ0KWC1FdmlsOiAx?="}),
        ({"region": "=?base64?a?="}, {"region": "=?base64?PT9iYXNlNjQ/YT89?="}),
        ({"region": "", "grams": -3.0}, {"region": "", "grams": "-3"}),
        ({"region": ["us"], "grams": {}}, {}),
        ({}, {}),
        (None, {}),
    ],
)
@pytest.mark.requirement("posting.tool-headers", "posting.values-encoded")
async def test_arguments_become_headers(arguments: dict[str, Any] | None, headers: dict[str, str]) -> None:
    checking = Checking([BREW])
    checking.wanted = {f"mcp-param-{name}": value for name, value in headers.items()}
    async with opened(checking) as (client, endpoint):
        await client.list_tools()
        await client.call_tool(name="brew", arguments=arguments)
    assert endpoint.methods == ["server/discover", "tools/list", "tools/call"]


@pytest.mark.requirement("posting.tool-invalid")
async def test_an_integer_that_is_not_exact_everywhere_is_not_sent() -> None:
    async with opened(Checking([BREW])) as (client, endpoint):
        await client.list_tools()
        with pytest.raises(ConnectionClosed, match="grams: an integer in a header must be from"):
            await client.call_tool(name="brew", arguments={"grams": 1 << 53})
        assert not endpoint.sent("tools/call")


@pytest.mark.requirement("posting.tool-invalid", "posting.tool-warning")
async def test_invalid_tools_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    bad = tool("bad\x1b[31m", region__string="Re gion")
    worse = [tool(f"worse {number}", a__number="A") for number in range(30)]
    async with opened(Checking([BREW, bad, *worse, tool("plain")])) as (client, _):
        assert [one.name async for one in client.iter_tools()] == ["brew", "plain"]
    messages = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert messages[0].startswith(
        "the tool bad\\x1b[31m is left out because it is not valid: the x-mcp-header of region is not"
    )
    assert len(messages) == 21 and messages[-1].startswith("11 more tools")


async def test_a_list_without_annotations_arrives_as_it_was_sent() -> None:
    extra = {**tool("plain"), "com.example/x": 9007199254740993}
    async with opened(Checking([extra])) as (client, _):
        [found] = (await client.list_tools()).tools
        assert found.model_dump(mode="json")["com.example/x"] == 9007199254740993


async def test_an_annotation_spelled_with_escapes_counts() -> None:
    def escaped(posted: Posted) -> Response:
        body = json.dumps(posted.result(**listed(BREW))).replace("x-mcp", "x\\u002dmcp")
        return Response(body, media_type="application/json")

    checking = Checking()
    checking.wanted = {"mcp-param-region": "us"}
    async with opened(checking, tools__list=escaped) as (client, _):
        await client.list_tools()
        await client.call_tool(name="brew", arguments={"region": "us"})


@pytest.mark.requirement("posting.refresh")
async def test_wrong_headers_are_put_right_once_by_listing_the_tools() -> None:
    checking = Checking([tool("other")], [tool("more"), BREW], [tool("last")])
    checking.wanted = {"mcp-param-region": "us"}
    async with opened(checking) as (client, endpoint):
        await client.call_tool(name="brew", arguments={"region": "us"})
        assert endpoint.methods[1:] == ["tools/call", "tools/list", "tools/list", "tools/call"]
        first, second = endpoint.sent("tools/call")
        assert first.message == second.message
        await client.call_tool(name="brew", arguments={"region": "us"})
        assert endpoint.methods[5:] == ["tools/call"]


async def test_a_tool_that_changed() -> None:
    checking = Checking([BREW])
    async with opened(checking) as (client, endpoint):
        await client.list_tools()
        checking.pages = ([tool("brew", region__string="Place")],)
        checking.wanted = {"mcp-param-place": "us"}
        await client.call_tool(name="brew", arguments={"region": "us"})
        checking.pages = ([tool("brew")],)
        checking.wanted = {}
        await client.call_tool(name="brew", arguments={"region": "us"})
    assert endpoint.methods[2:] == ["tools/call", "tools/list", "tools/call"] * 2


async def test_calls_at_once_list_the_tools_once() -> None:
    checking = Checking([BREW])
    checking.wanted = {"mcp-param-region": "us"}
    async with opened(checking) as (client, endpoint):
        await asyncio.gather(*(client.call_tool(name="brew", arguments={"region": "us"}) for _ in range(20)))
    assert len(endpoint.sent("tools/list")) == 1


@pytest.mark.parametrize("how", ["unchanged", "still wrong", "unknown", "refused", "endless", "nonsense"])
async def test_what_stays_wrong_is_an_error(how: str) -> None:
    checking = Checking([tool("other") if how == "unknown" else BREW])
    checking.wanted = {"mcp-param-other": "never"}
    answers: dict[str, Answer] = {
        "refused": lambda posted: posted.error(-32603, status=500),
        "endless": lambda posted: listed(nextCursor="again"),
        "nonsense": lambda posted: {"tools": 7, "nextCursor": 8},
    }
    given = {"tools__list": answers[how]} if how in answers else {}
    async with opened(checking, **given) as (client, endpoint):
        if how == "unchanged":
            await client.list_tools()
        with pytest.raises(PeerError, match="headers are") as refused:
            await client.call_tool(name="brew", arguments={"region": "us"})
        assert refused.value.code == MISMATCH
        assert len(endpoint.sent("tools/call")) == (2 if how == "still wrong" else 1)
