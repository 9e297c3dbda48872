"""Scopes: what every request needs, what some operations need, and how clients learn of it."""

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from mcp_bindings import v2024_11_05, v2025_03_26, v2025_11_25
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.transports.http import asgi_app, connect_sse
from mcp_runtime.decorators import requires_scopes
from mcp_runtime.memory import connect_memory
from mcp_runtime.web_server import sse_app
from support.http import BOTH, SESSION, call, hello, raw_client, served
from support.http_modern import ModernClient, asked, called, headers_for, modern_client
from support.tokens import bearer, claims, ec_key, signed

KEY = ec_key()
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"


def app() -> mcp.App:
    made = mcp.App("files")

    @made.tool()
    @requires_scopes("files:write")
    def save(path: str, ctx: mcp.Context) -> str:
        """Save a file."""
        return f"saved for {ctx.principal}"

    @requires_scopes("files:delete", "files:write")
    @made.tool()
    def delete(path: str) -> str:
        """Delete a file."""
        return "deleted"

    @made.tool()
    async def read(path: str) -> str:
        """Read a file."""
        return "text"

    @made.resource("files:///{name}")
    @requires_scopes("files:all")
    def file(name: str) -> str:
        """Read a file."""
        return name

    @made.prompt()
    @requires_scopes("prompts")
    def review() -> str:
        """Review it."""
        return "Review it."

    return made


class Files(mcp.Server):
    async def list_tools(self, params: mcp.PaginatedRequestParams | None, ctx: mcp.Context) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=[])

    @requires_scopes("files:write", only=["save"])
    @requires_scopes("files:delete", only=["delete"])
    async def call_tool(self, params: mcp.CallToolRequestParams, ctx: mcp.Context) -> mcp.CallToolResult:
        return mcp.CallToolResult(content=[mcp.TextContent(text="done")])


def anybody(scope: Any) -> str:
    return "ada"


def with_scopes(*scopes: str) -> dict[str, str]:
    return {"authorization": f"Bearer {signed(KEY, claims(scope=' '.join(scopes)))}"}


def challenge(scopes: str) -> str:
    return f'Bearer error="insufficient_scope", scope="{scopes}", resource_metadata="{METADATA}"'


@pytest.mark.parametrize(
    ("message", "needed"),
    [
        (called("save", 7, path="x"), "files:write"),
        (called("delete", 7, path="x"), "files:delete files:write"),
        (asked("resources/read", {"uri": "files:///x"}, 7), "files:all"),
        (asked("prompts/get", {"name": "review"}, 7), "prompts"),
    ],
    ids=["save", "delete", "resource", "prompt"],
)
@pytest.mark.requirement("auth.step-up", "auth.challenge-scope", "auth.statuses")
async def test_an_operation_says_all_that_it_needs(message: Any, needed: str) -> None:
    async with modern_client(asgi_app(app(), auth=bearer(KEY, scopes=["mcp"]))) as client:
        for given in ((), ("mcp",), ("mcp", "files:write")[: 1 + ("delete" in needed)]):
            answer = await client.post(message, **with_scopes(*given))
            assert answer.status_code == 403
            assert answer.headers["www-authenticate"] == challenge(f"mcp {needed}")
            assert (answer.json()["id"], answer.json()["error"]["code"]) == (7, -32600)
        answer = await client.post(message, **with_scopes("mcp", *needed.split()))
        assert answer.status_code == 200 and "result" in answer.json()


@pytest.mark.parametrize("prefix", ["files", ""])
async def test_the_operations_of_a_mounted_server_need_the_same(prefix: str) -> None:
    house, before = mcp.App("house"), prefix and f"{prefix}__"
    house.mount(app(), prefix=prefix)
    async with modern_client(asgi_app(house, auth=bearer(KEY, scopes=["mcp"]))) as client:
        for message, needed in (
            (called(f"{before}save", 7, path="x"), "files:write"),
            (called(f"{before}delete", 7, path="x"), "files:delete files:write"),
            (asked("resources/read", {"uri": "files:///x"}, 7), "files:all"),
            (asked("prompts/get", {"name": f"{before}review"}, 7), "prompts"),
        ):
            answer = await client.post(message, **with_scopes("mcp"))
            assert answer.status_code == 403 and answer.headers["www-authenticate"] == challenge(f"mcp {needed}")
            answer = await client.post(message, **with_scopes("mcp", *needed.split()))
            assert answer.status_code == 200 and "result" in answer.json()


async def test_handlers_of_mounted_servers_need_scopes_for_some_names() -> None:
    house = mcp.App("house")
    house.mount(Files(), prefix="files")
    async with modern_client(asgi_app(house, auth=bearer(KEY))) as client:
        for name, needed in (("save", "files:write"), ("delete", "files:delete")):
            answer = await client.post(called(f"files__{name}"), **with_scopes("other"))
            assert (answer.status_code, answer.headers["www-authenticate"]) == (403, challenge(needed))
            assert (await client.post(called(f"files__{name}"), **with_scopes(needed))).status_code == 200
        assert (await client.post(called("files__read"), **with_scopes())).status_code == 200


async def test_a_mounted_list_that_its_caller_must_not_see_is_left_out() -> None:
    class Secret(mcp.Server):
        @requires_scopes("secret")
        async def list_tools(self, params: Any, ctx: mcp.Context) -> mcp.ListToolsResult:
            return mcp.ListToolsResult(tools=[mcp.Tool(name="spy", input_schema={"type": "object"})])

    house, street = mcp.App("house"), mcp.App("street")
    house.mount(Secret(), prefix="secret")
    house.mount(app(), prefix="files")
    street.mount(house, prefix="house")
    for served_app in (house, street):
        async with modern_client(asgi_app(served_app, auth=bearer(KEY))) as client:
            for scopes, expected in (((), 3), (("secret",), 4)):
                answer = await client.post(asked("tools/list", {}), **with_scopes(*scopes))
                assert len(answer.json()["result"]["tools"]) == expected


async def test_handlers_of_servers_need_scopes_for_some_names() -> None:
    async with modern_client(asgi_app(Files(), auth=bearer(KEY))) as client:
        for name, needed in (("save", "files:write"), ("delete", "files:delete")):
            answer = await client.post(called(name), **with_scopes("other"))
            assert (answer.status_code, answer.headers["www-authenticate"]) == (403, challenge(needed))
            assert (await client.post(called(name), **with_scopes(needed))).status_code == 200
        assert (await client.post(called("read"), **with_scopes())).status_code == 200


async def test_plain_handlers_need_them_too() -> None:
    class Blocking(mcp.Server):
        def list_tools(self, params: Any, ctx: Any) -> mcp.ListToolsResult:  # type: ignore[override]
            return mcp.ListToolsResult(tools=[])

        @requires_scopes("files:write")
        def call_tool(self, params: Any, ctx: Any) -> mcp.CallToolResult:  # type: ignore[override]
            return mcp.CallToolResult(content=[])

    async with modern_client(asgi_app(Blocking(), auth=bearer(KEY))) as client:
        assert (await client.post(called("x"), **with_scopes())).status_code == 403
        assert (await client.post(called("x"), **with_scopes("files:write"))).status_code == 200


@pytest.mark.requirement("auth.hierarchy")
async def test_a_scope_may_include_others() -> None:
    auth = bearer(KEY, scopes=["mcp"], includes={"admin": ["files:write", "mcp"]})
    async with modern_client(asgi_app(app(), auth=auth)) as client:
        assert (await client.post(called("save", path="x"), **with_scopes("admin"))).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
async def test_every_request_needs_the_scopes_of_the_endpoint(method: str) -> None:
    async with raw_client(asgi_app(app(), auth=bearer(KEY, scopes=["mcp"]))) as client:
        if method == "POST":
            answers = [
                await client.ask("initialize", hello("2025-11-25"), **with_scopes()),
                await client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **with_scopes()),
                await client.post(b"{", **with_scopes()),
                await client.post(b"[]", **with_scopes()),
            ]
            assert [answer.json().get("id") for answer in answers] == [1, None, None, None]
        else:
            answers = [await client.http.request(method, "/mcp", headers=with_scopes())]
    for answer in answers:
        assert (answer.status_code, answer.headers["www-authenticate"]) == (403, challenge("mcp"))


@pytest.mark.parametrize("package", [v2025_03_26, v2025_11_25], ids=lambda package: package.REVISION)
@pytest.mark.requirement("auth.step-up")
async def test_a_session_steps_up(package: Any) -> None:
    """Each POST counts with its own token, not with that of the session's beginning."""
    async with raw_client(asgi_app(app(), auth=bearer(KEY))) as client:
        begun = await client.ask("initialize", hello(package.REVISION), **with_scopes())
        client.session = {SESSION: begun.headers[SESSION], "mcp-protocol-version": package.REVISION}
        save = call("save", path="x")
        refused = await client.post(save, **with_scopes("files:read"))
        assert (refused.status_code, refused.headers["www-authenticate"]) == (403, challenge("files:write"))
        assert (refused.json()["id"], refused.json()["error"]["code"]) == (save["id"], -32600)
        done = await client.post(save, **with_scopes("files:write"))
        assert done.json()["result"]["content"][0]["text"] == "saved for https://login.example.com ada"
        assert (await client.post(save, **with_scopes())).status_code == 403


async def test_requests_without_sessions_step_up() -> None:
    async with raw_client(asgi_app(app(), auth=bearer(KEY), stateless=True)) as client:
        client.session = {"mcp-protocol-version": "2025-11-25"}
        assert (await client.post(call("save", path="x"), **with_scopes())).status_code == 403
        assert (await client.post(call("save", path="x"), **with_scopes("files:write"))).status_code == 200


class Changing(httpx2.Auth):
    """Sends the token that a test has put here."""

    token = ""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        request.headers["authorization"] = self.token
        yield request


async def test_a_connection_over_http_with_sse_steps_up() -> None:
    changing = Changing()
    changing.token = with_scopes()["authorization"]
    async with served(sse_app(app(), auth=bearer(KEY))) as url, connect_sse(f"{url}/sse", auth=changing) as peer:
        client = await v2024_11_05.Client.open(peer)
        with pytest.raises(PeerError, match="needs the scopes files:write") as refused:
            await client.call_tool(name="save", arguments={"path": "x"})
        assert refused.value.code == -32600
        changing.token = with_scopes("files:write")["authorization"]
        done = await client.call_tool(name="save", arguments={"path": "x"})
        assert isinstance(done.content[0], v2024_11_05.TextContent)
        assert done.content[0].text == "saved for https://login.example.com ada"
        changing.token = with_scopes()["authorization"]
        with pytest.raises(PeerError, match="needs the scopes"):
            await client.call_tool(name="save", arguments={"path": "x"})


async def test_a_bridged_subscription_needs_the_scopes_of_its_handler() -> None:
    class Old(v2025_11_25.Server):
        async def list_resources(self, params: Any, ctx: Any) -> v2025_11_25.ListResourcesResult:
            return v2025_11_25.ListResourcesResult(resources=[])

        async def read_resource(self, params: Any, ctx: Any) -> v2025_11_25.ReadResourceResult:
            return v2025_11_25.ReadResourceResult(contents=[])

        @requires_scopes("watch")
        async def subscribe(self, params: Any, ctx: Any) -> v2025_11_25.EmptyResult:
            return v2025_11_25.EmptyResult()

    listen = asked("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["acme://x"]}})

    @asynccontextmanager
    async def listening(client: ModernClient, *scopes: str) -> AsyncGenerator[list[str]]:
        headers = {**headers_for(listen), **BOTH, **with_scopes(*scopes)}
        async with client.http.stream("POST", "/mcp", json=listen, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    yield json.loads(line[6:])["params"]["notifications"].get("resourceSubscriptions", [])
                    return

    async with modern_client(asgi_app(Old(), auth=bearer(KEY))) as client:
        async with listening(client, "watch") as agreed, listening(client) as other:
            assert (agreed, other) == (["acme://x"], [])
        async with listening(client) as agreed:
            assert agreed == []


async def test_in_a_batch_only_the_message_is_refused() -> None:
    async with raw_client(asgi_app(app(), auth=bearer(KEY))) as client:
        begun = await client.ask("initialize", hello("2025-03-26"), **with_scopes())
        client.session = {SESSION: begun.headers[SESSION]}
        batch = [{**call("save", path="x"), "id": 1}, {**call("read", path="x"), "id": 2}]
        answer = await client.post(batch, **with_scopes())
        assert answer.status_code == 200
        assert [("error" in each, each["id"]) for each in answer.json()] == [(True, 1), (False, 2)]


@pytest.mark.parametrize("scopes", [(), ("files:write",)], ids=str)
async def test_lists_are_the_same_for_all(scopes: tuple[str, ...]) -> None:
    async with modern_client(asgi_app(app(), auth=bearer(KEY))) as client:
        answer = await client.post(asked("tools/list"), **with_scopes(*scopes))
    assert [tool["name"] for tool in answer.json()["result"]["tools"]] == ["save", "delete", "read"]


@pytest.mark.parametrize("make", [asgi_app, sse_app])
@pytest.mark.parametrize("server", [app, Files])
def test_scopes_need_authorization(make: Any, server: Any) -> None:
    if make is sse_app and server is Files:
        server = app
    with pytest.raises(ValueError, match=r"need scopes \(.*files:write.*\): pass auth=Bearer"):
        make(server())
    with pytest.raises(ValueError, match="need scopes"):
        make(server(), principal=anybody)


async def test_scopes_added_later_are_enforced_without_authorization_too() -> None:
    made = mcp.App("files")

    @made.tool()
    def read() -> str:
        """Read."""
        return "text"

    async with modern_client(asgi_app(made, principal=anybody)) as client:

        @made.tool()
        @requires_scopes("files:write")
        def save() -> str:
            """Save."""
            return "saved"

        assert (await client.post(called("save"))).json()["error"]["code"] == -32600


async def test_without_http_there_are_no_scopes() -> None:
    async with connect_memory(app()) as peer:
        client = await mcp.Client.open(peer)
        result = await client.call_tool(name="delete", arguments={"path": "x"})
        assert result.content[0] == mcp.TextContent(text="deleted")


@pytest.mark.requirement("auth.no-offline-access")
def test_what_is_not_a_scope() -> None:
    for wrong in ("", "a b", 'a"', "a\\", "ä", "offline_access"):
        with pytest.raises(ValueError, match=r"scope|offline"):
            requires_scopes(wrong)
    with pytest.raises(ValueError, match="needs a scope"):
        requires_scopes()
    with pytest.raises(TypeError, match="collection"):
        requires_scopes("a", only="save")


async def test_a_tool_that_does_not_exist_needs_no_scope() -> None:
    async with modern_client(asgi_app(app(), auth=bearer(KEY))) as client:
        answer = await client.post(called("nothing"), **with_scopes())
    assert "there is no tool" in answer.json()["error"]["message"]
