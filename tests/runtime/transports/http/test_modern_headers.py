"""The headers of a request of 2026-07-28 must match its body; otherwise it is refused with 400 and -32020."""

import base64
from typing import Any

import pytest

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime import ServerOptions, asgi_app, list_changed
from mcp_runtime.middleware import RateLimit
from support.http import BOTH
from support.http_modern import ModernClient, asked, called, modern_client
from support.http_server import chatty

MISMATCH = -32020


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


async def code_of(client: ModernClient, message: Any, **headers: str) -> int:
    """Post a request, check that the status matches, and return the error code, 0 if there was no error."""
    answer = await client.post(message, **headers)
    code: int = answer.json().get("error", {}).get("code", 0)
    assert answer.status_code == (400 if code == MISMATCH else 200), answer.text
    assert answer.headers["content-type"] == "application/json"
    return code


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 0),
        ({"mcp_protocol_version": ""}, MISMATCH),
        ({"mcp_protocol_version": "2025-11-25"}, MISMATCH),
        ({"mcp_method": ""}, MISMATCH),
        ({"mcp_method": "tools/list"}, MISMATCH),
        ({"mcp_method": "TOOLS/CALL"}, MISMATCH),
        ({"mcp_method": encoded("tools/call")}, MISMATCH),
        ({"mcp_name": ""}, MISMATCH),
        ({"mcp_name": "ECHO"}, MISMATCH),
        ({"mcp_name": encoded("echo")}, 0),
        ({"mcp_name": "=?base64?ZWNobw?="}, MISMATCH),
        ({"mcp_name": "=?base64?ZWNob3==?="}, MISMATCH),
        ({"mcp_name": "=?BASE64?ZWNobw==?="}, MISMATCH),
        ({"mcp_name": "=?base64?/w==?="}, MISMATCH),
    ],
    ids=str,
)
@pytest.mark.requirement("posts.headers-differ", "posts.headers-decoded", "posts.version-header")
async def test_standard_headers(headers: dict[str, str], code: int) -> None:
    async with modern_client(asgi_app(chatty("2026-07-28"))) as client:
        assert await code_of(client, called("echo", text="x"), **headers) == code


async def test_headers_that_come_twice() -> None:
    message = called("echo", text="x")
    async with modern_client(asgi_app(chatty("2026-07-28"))) as client:
        twice = [("mcp-method", "tools/call"), ("mcp-method", "tools/call"), ("content-type", "application/json")]
        twice += [("accept", "application/json, text/event-stream"), ("mcp-name", "echo")]
        answer = await client.http.post("/mcp", json=message, headers=[*twice, ("mcp-protocol-version", "2026-07-28")])
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, MISMATCH)


class Reader(v.Server):
    """Returns a resource and a prompt for any name."""

    async def read_resource(self, params: v.ReadResourceRequestParams, ctx: v.Context) -> v.ReadResourceResult:
        return v.ReadResourceResult(contents=[v.TextResourceContents(uri=params.uri, text="read")])

    async def get_prompt(self, params: v.GetPromptRequestParams, ctx: v.Context) -> v.GetPromptResult:
        return v.GetPromptResult(messages=[])


@pytest.mark.parametrize(
    ("method", "property_", "name"), [("resources/read", "uri", "Grüße, 世界"), ("prompts/get", "name", " padded ")]
)
async def test_names_that_a_header_cannot_hold(method: str, property_: str, name: str) -> None:
    async with modern_client(asgi_app(Reader())) as client:
        message = asked(method, {property_: name})
        assert await code_of(client, message, mcp_name=encoded(name)) == 0
        assert await code_of(client, message, mcp_name=encoded(f"{name}!")) == MISMATCH


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "limits": {"type": "object", "properties": {"rows": {"type": "integer", "x-mcp-header": "Rows"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
    },
}
NO_HEADERS: dict[str, Any] = {"type": "object"}
WRONG: dict[str, Any] = {"type": "object", "items": {"type": "string", "x-mcp-header": "Region"}}


class Routed:
    """A server whose tools have headers for their arguments; `schema` is that of ``route``."""

    package: Any
    schema = SCHEMA
    listed = 0
    is_broken = False

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        self.listed += 1
        if self.is_broken:
            raise RuntimeError("no list today")
        schemas = {"route": self.schema, "wrong": WRONG}
        tools = [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]
        return self.package.ListToolsResult(tools=tools)

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        return self.package.CallToolResult(content=[self.package.TextContent(text="routed")])


class Modern(Routed, v.Server):
    package = v


class Bridged(Routed, v2025_11_25.Server):
    package = v2025_11_25


ROUTED: list[tuple[dict[str, Any], dict[str, str], int]] = [
    ({}, {}, 0),
    ({"region": "north"}, {"region": "north"}, 0),
    ({"region": "north"}, {"region": encoded("north")}, 0),
    ({"region": "Grüße"}, {"region": encoded("Grüße")}, 0),
    ({"region": "north"}, {}, MISMATCH),
    ({"region": "north"}, {"region": "south"}, MISMATCH),
    ({"region": "north"}, {"region": "North"}, MISMATCH),
    ({"region": "north"}, {"region": "=?base64?bm9ydGg?="}, MISMATCH),
    ({"region": "=?base64?bm9ydGg=?="}, {"region": "=?base64?bm9ydGg=?="}, MISMATCH),
    ({"region": None}, {}, 0),
    ({"region": None}, {"region": "north"}, MISMATCH),
    ({}, {"region": "north"}, MISMATCH),
    ({}, {"unknown": "north"}, 0),
    ({"limits": {"rows": 42}}, {"rows": "42"}, 0),
    ({"limits": {"rows": 42}}, {"rows": "42.0"}, 0),
    ({"limits": {"rows": 42}}, {"rows": "042"}, 0),
    ({"limits": {"rows": 42}}, {"rows": "42.5"}, MISMATCH),
    ({"limits": {"rows": 42}}, {"rows": "4" * 1000}, MISMATCH),
    ({"limits": {"rows": 42}}, {"rows": "NaN"}, MISMATCH),
    ({"limits": {"rows": 42}}, {}, MISMATCH),
    ({"limits": 42}, {}, 0),
    ({"limits": {"rows": 2**60}}, {"rows": str(2**60)}, 0),
    ({"dry": True}, {"dry": "true"}, 0),
    ({"dry": True}, {"dry": "True"}, MISMATCH),
    ({"dry": True}, {"dry": "1"}, MISMATCH),
    ({"dry": False}, {}, MISMATCH),
]


@pytest.mark.requirement("posts.arguments-differ")
@pytest.mark.parametrize("make", [Modern, Bridged], ids=["own", "bridged"])
async def test_headers_of_arguments(make: Any) -> None:
    async with modern_client(asgi_app(make())) as client:
        wrong: list[Any] = []
        for arguments, given, code in ROUTED:
            headers = {f"mcp_param_{name}": value for name, value in given.items()}
            if (found := await code_of(client, called("route", **arguments), **headers)) != code:
                wrong.append((arguments, given, found))
        assert not wrong


async def test_the_list_is_asked_for_once() -> None:
    server = Modern()
    async with modern_client(asgi_app(server)) as client:
        for _ in range(3):
            assert await code_of(client, called("route", region="north")) == MISMATCH
        assert server.listed == 1


class Notifying(Bridged):
    """Notifies its client of the changed list itself, in a call."""

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        if params.name == "change":
            self.schema = NO_HEADERS
            await ctx.peer.notify_tool_list_changed()
        return await super().call_tool(params, ctx)


class Slow(Modern):
    """Reads its tools before they change, and returns them afterwards."""

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        page = await super().list_tools(params, ctx)
        if self.listed == 2:
            self.schema = NO_HEADERS
            await list_changed(self, "tools")
        return page


async def change(server: Any, client: ModernClient) -> None:
    server.schema = NO_HEADERS
    await list_changed(server, "tools")


async def change_for_a_listener(server: Any, client: ModernClient) -> None:
    listen = asked("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    async with client.stream(listen) as events:
        await events.message()
        await change(server, client)


async def change_in_a_call(server: Any, client: ModernClient) -> None:
    assert await code_of(client, called("change")) == 0


async def change_while_listed(server: Any, client: ModernClient) -> None:
    await client.post(asked("tools/list"))


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (Modern, change),
        (Modern, change_for_a_listener),
        (Bridged, change),
        (Bridged, change_for_a_listener),
        (Notifying, change_in_a_call),
        (Slow, change_while_listed),
    ],
)
async def test_changed_tools_are_asked_for_again(make: Any, change: Any) -> None:
    server = make()
    async with modern_client(asgi_app(server)) as client:
        assert await code_of(client, called("route", region="north")) == MISMATCH
        await change(server, client)
        assert await code_of(client, called("route", region="north")) == 0


async def test_changes_of_other_lists_change_no_headers() -> None:
    server = Modern()
    async with modern_client(asgi_app(server)) as client:
        assert await code_of(client, called("route", region="north")) == MISMATCH
        for area in ("prompts", "resources"):
            await list_changed(server, area)
        assert await code_of(client, called("route", region="north")) == MISMATCH
        assert server.listed == 1


@pytest.mark.parametrize("make", [Modern, Bridged], ids=["own", "bridged"])
async def test_calls_of_unknown_tools_are_limited_like_others(make: Any) -> None:
    server = make()
    server.options = ServerOptions(middleware=(RateLimit(rate=0.001, burst=2),))
    async with modern_client(asgi_app(server)) as client:
        for number in range(5):
            answer = await client.post(called(f"unknown-{number}", region="north"))
            assert answer.json().get("error", {}).get("code", 0) == (0 if number < 2 else 429)
        assert server.listed == 2


async def test_a_list_that_fails_leaves_calls_unchecked(caplog: pytest.LogCaptureFixture) -> None:
    server = Modern()
    server.is_broken = True
    async with modern_client(asgi_app(server)) as client:
        assert await code_of(client, called("route", region="north")) == 0
        assert "the headers of calls of tool route are not checked" in caplog.text
        server.is_broken = False
        assert await code_of(client, called("route", region="north")) == MISMATCH


async def test_an_annotation_where_none_may_be_is_the_authors_mistake(caplog: pytest.LogCaptureFixture) -> None:
    async with modern_client(asgi_app(Modern())) as client:
        for _ in range(2):
            assert await code_of(client, called("wrong", region="north"), mcp_param_region="south") == 0
        assert caplog.text.count("tool wrong are not checked: x-mcp-header is only allowed on parameters") == 1


@pytest.mark.requirement("posts.header-names")
async def test_names_of_headers_in_any_case() -> None:
    message = called("echo", text="x")
    names = {"MCP-PROTOCOL-VERSION": "2026-07-28", "mcp-METHOD": "tools/call", "Mcp-Name": "echo", **BOTH}
    async with modern_client(asgi_app(chatty("2026-07-28"))) as client:
        assert (await client.http.post("/mcp", json=message, headers=names)).status_code == 200
