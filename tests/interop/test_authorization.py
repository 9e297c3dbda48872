"""Our client and our protected server with oidc-provider, an issuer by others (`make interop`)."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interop.processes import PEERS, interpreter, node_package
from mcp_bindings import App, v2024_11_05, v2025_11_25, v2026_07_28
from mcp_runtime.auth import Bearer, ClientCredentials, FileStore, MemoryStore, OAuth
from mcp_runtime.core.errors import AuthorizationError, PeerError
from mcp_runtime.core.transports.http import asgi_app, connect_http, connect_sse
from mcp_runtime.decorators import requires_scopes
from mcp_runtime.testing import Issuer
from mcp_runtime.web_server import sse_app
from support.http import served
from support.ports import free_port

pytestmark = pytest.mark.interop
GREEN: Any = {"name": "brew", "arguments": {"kind": "green"}}


@dataclass
class Peer:
    """An oidc-provider that is running.

    Attributes:
        url: its identifier.
    """

    url: str

    def count(self, path: str) -> int:
        """Return how many requests it got at a path."""
        found: dict[str, int] = httpx2.get(f"{self.url}/requests").json()
        return found.get(path, 0)


@contextmanager
def oidc_provider(resource: str, seconds: int = 3600) -> Any:
    """Start an issuer of tokens that are valid for some seconds."""
    node_package("oidc-provider")
    command = "node", str(PEERS / "oidc_provider.mjs"), resource, str(seconds)
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-3, text=True) as process:
        try:
            assert process.stdout is not None
            yield Peer(process.stdout.readline().strip())
        finally:
            process.kill()


async def visit(url: str) -> str:
    """Follow redirects as a browser does, until one leaves the issuer."""
    async with httpx2.AsyncClient() as http:
        for _ in range(20):
            answer = await http.get(url)
            url = str(answer.url.join(answer.headers["location"]))
            if "/callback?" in url:
                return url
    raise AssertionError(url)


async def nobody(url: str) -> str:
    """Take the place of a person that is not there."""
    raise AuthorizationError("signing in", "", "nobody is here")


def tea() -> App:
    """Return a server with a tool that needs a scope."""
    app = App("tea")

    @app.tool()
    def brew(kind: str) -> str:
        """Brew tea."""
        return f"{kind} tea"

    @app.tool()
    @requires_scopes("write")
    def order(kind: str) -> str:
        """Order tea."""
        return f"{kind} tea is ordered"

    return app


class OldTea(v2025_11_25.Server):
    """The same, written for one revision: clients of another one are bridged."""

    @requires_scopes("write", only=["order"])
    async def call_tool(self, params: Any, ctx: Any) -> v2025_11_25.CallToolResult:
        """Call a tool."""
        text = f"{params.arguments['kind']} tea" + (" is ordered" if params.name == "order" else "")
        return v2025_11_25.CallToolResult(content=[v2025_11_25.TextContent(text=text)])


def plain(auth: Bearer) -> Any:
    """Serve over Streamable HTTP."""
    return asgi_app(tea(), auth=auth)


def stateless(auth: Bearer) -> Any:
    """Serve without sessions."""
    return asgi_app(tea(), auth=auth, stateless=True)


def bridged(auth: Bearer) -> Any:
    """Serve what is written for 2025-11-25."""
    return asgi_app(OldTea(), auth=auth)


def with_sse(auth: Bearer) -> Any:
    """Serve over HTTP+SSE, with the metadata beside it."""
    inner = sse_app(tea(), auth=auth)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (auth.metadata_app if scope["path"] in auth.paths else inner)(scope, receive, send)

    return app


class Server:
    """A protected server, whose issuer is known only after its URL.

    Attributes:
        url: its URL.
        issuer: its issuer.
    """

    def __init__(self, make: Callable[[Bearer], Any]) -> None:
        self.url = ""
        self.issuer = Peer("")
        self._make = make
        self._app: Any = self._begin

    async def _begin(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", "nothing is served yet"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    def trust(self, issuer: Peer) -> None:
        """Accept the tokens of an issuer only."""
        self.issuer = issuer
        self._app = self._make(Bearer(self.url, issuer=issuer.url, scopes=["read"]))


@asynccontextmanager
async def serving(seconds: int = 3600, make: Callable[[Bearer], Any] = plain) -> AsyncGenerator[Server]:
    """Serve with an issuer of its own."""
    server = Server(make)
    async with served(server) as url:
        server.url = f"{url}/mcp"
        with oidc_provider(server.url, seconds) as issuer:
            server.trust(issuer)
            yield server


@pytest.mark.parametrize("make", [plain, stateless, bridged])
@pytest.mark.parametrize("bindings", [v2025_11_25, v2026_07_28])
async def test_sign_in_and_step_up(bindings: Any, make: Callable[[Bearer], Any]) -> None:
    async with serving(make=make) as server, connect_http(server.url, auth=OAuth(visit=visit)) as peer:
        client = await bindings.Client.open(peer)
        assert (await client.call_tool(**GREEN)).content[0].text == "green tea"
        ordered = await client.call_tool(name="order", arguments={"kind": "white"})
        assert ordered.content[0].text == "white tea is ordered"
        assert (server.issuer.count("/auth"), server.issuer.count("/reg"), server.issuer.count("/token")) == (2, 1, 2)


async def test_over_sse_a_missing_scope_is_only_an_error() -> None:
    async with serving(make=with_sse) as server, connect_sse(server.url, auth=OAuth(visit=visit)) as peer:
        client: Any = await v2024_11_05.Client.open(peer)
        assert (await client.call_tool(**GREEN)).content[0].text == "green tea"
        with pytest.raises(PeerError, match="needs the scopes"):
            await client.call_tool(name="order", arguments={"kind": "white"})
        assert (server.issuer.count("/auth"), server.issuer.count("/reg"), server.issuer.count("/token")) == (1, 1, 1)


async def test_a_program_without_a_person() -> None:
    async with serving() as server:
        auth = ClientCredentials("machine", issuer=server.issuer.url, secret="s3cret")
        async with connect_http(server.url, auth=auth) as peer:
            client = await v2026_07_28.Client.open(peer)
            assert (await client.call_tool(**GREEN)).content
        assert server.issuer.count("/token") == 1


async def test_fifty_calls_lead_to_one_refresh() -> None:
    async with serving(seconds=2) as server, connect_http(server.url, auth=OAuth(visit=visit)) as peer:
        client = await v2026_07_28.Client.open(peer)
        await asyncio.sleep(2)
        await asyncio.gather(*(client.call_tool(**GREEN) for _ in range(50)))
        assert (server.issuer.count("/auth"), server.issuer.count("/token")) == (1, 2)


PROGRAM = """
import asyncio, sys
from mcp_bindings import v2026_07_28
from mcp_runtime.auth import FileStore, OAuth
from mcp_runtime.core.transports.http import connect_http

async def nobody(url): raise AssertionError("asked to sign in")

async def main(url, path):
    async with connect_http(url, auth=OAuth(store=FileStore(path), visit=nobody)) as peer:
        client = await v2026_07_28.Client.open(peer)
        await client.call_tool(name="brew", arguments={"kind": "green"})

asyncio.run(main(*sys.argv[1:]))
"""


async def test_two_processes_share_a_refresh(tmp_path: Path) -> None:
    path = str(tmp_path / "tokens.json")
    async with serving(seconds=10) as server:
        async with connect_http(server.url, auth=OAuth(store=FileStore(path), visit=visit)) as peer:
            await v2026_07_28.Client.open(peer)
        store = FileStore(path)
        document = store.read()
        document["servers"][server.url]["expires"] = 0
        store.write(document)
        command = sys.executable, "-c", PROGRAM, server.url, path
        programs = [await asyncio.create_subprocess_exec(*command, env=os.environ) for _ in range(2)]
        assert [await program.wait() for program in programs] == [0, 0]
        assert (server.issuer.count("/auth"), server.issuer.count("/token")) == (1, 2)


async def test_a_reused_refresh_token_leads_to_a_new_sign_in() -> None:
    """The issuer then revokes all tokens of the sign-in."""
    async with serving() as server:
        store = MemoryStore()
        async with connect_http(server.url, auth=OAuth(store=store, visit=visit)) as peer:
            await v2026_07_28.Client.open(peer)
        first = store.read()["servers"][server.url]
        for is_reused in (False, True):
            document = store.read()
            kept = {**first} if is_reused else document["servers"][server.url]
            store.write({**document, "servers": {server.url: {**kept, "expires": 0}}})
            async with connect_http(server.url, auth=OAuth(store=store, visit=visit)) as peer:
                await v2026_07_28.Client.open(peer)
        assert (server.issuer.count("/auth"), server.issuer.count("/reg")) == (2, 1)


async def test_a_sign_out_revokes_the_tokens() -> None:
    async with serving() as server:
        store = MemoryStore()
        auth = OAuth(store=store, visit=visit)
        async with connect_http(server.url, auth=auth) as peer:
            await v2026_07_28.Client.open(peer)
        kept = store.read()
        assert await auth.sign_out(server.url)
        assert server.issuer.count("/token/revocation") == 1
        kept["servers"][server.url]["expires"] = 0
        store.write(kept)
        async with connect_http(server.url, auth=OAuth(store=store, visit=nobody)) as peer:
            with pytest.raises(AuthorizationError, match="nobody is here"):
                await v2026_07_28.Client.open(peer)


async def test_another_issuer_is_noticed() -> None:
    async with serving() as server:
        auth = OAuth(visit=visit)
        async with connect_http(server.url, auth=auth) as peer:
            await v2026_07_28.Client.open(peer)
        first, before = server.issuer, server.issuer.count("/token")
        with oidc_provider(server.url) as other:
            server.trust(other)
            async with connect_http(server.url, auth=auth) as peer:
                client = await v2026_07_28.Client.open(peer)
                assert (await client.call_tool(**GREEN)).content
            assert (other.count("/reg"), other.count("/auth"), other.count("/token")) == (1, 1, 1)
        assert first.count("/token") == before


@pytest.mark.parametrize("bindings", [v2025_11_25, v2026_07_28])
async def test_our_client_signs_in_to_a_server_of_the_sdk(bindings: Any) -> None:
    port = free_port()
    async with Issuer() as issuer:
        command = interpreter("MCP_PEER_2"), str(PEERS / "sdk_protected.py"), "serve", str(port), issuer.url
        with subprocess.Popen(command, stderr=-3) as process:
            try:
                await listening(port)
                auth = OAuth(visit=issuer.visit)
                async with connect_http(f"http://127.0.0.1:{port}/mcp", auth=auth) as peer:
                    client = await bindings.Client.open(peer)
                    assert (await client.call_tool(**GREEN)).content[0].text == "green tea"
            finally:
                process.kill()
        assert issuer.count("/authorize", scope="read") == 1


async def test_a_client_of_the_sdk_signs_in_to_our_server() -> None:
    async with serving() as server:
        command = interpreter("MCP_PEER_2"), str(PEERS / "sdk_protected.py"), "call", server.url
        process = await asyncio.create_subprocess_exec(*command, stdout=-1)
        out, _ = await process.communicate()
        assert (out, process.returncode) == (b"green tea\n", 0)
        assert (server.issuer.count("/auth"), server.issuer.count("/token")) == (1, 1)


async def listening(port: int) -> None:
    """Wait until something listens on a port."""
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return
