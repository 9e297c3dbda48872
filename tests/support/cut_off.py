"""A client and a server over HTTP, with a proxy between them that cuts connections when a test says so."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from support.cutting import Proxy, cutting
from support.http import served
from support.http_server import chatty
from support.talk import bindings


def answers_tea(package: Any) -> Any:
    """Return the handlers of a client whose model answers everything with "tea"."""

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        return package.CreateMessageResult(role="assistant", content=package.TextContent(text="tea"), model="m")

    return type("Answers", (package.ClientHandlers,), {"create_message": create_message})()


class Talk:
    """A client and its server.

    Attributes:
        client: the client.
        server: the server's handlers.
        app: the server's ASGI application.
        proxy: the proxy between them.
    """

    def __init__(self, client: Any, server: Any, app: Any, proxy: Proxy) -> None:
        self.client = client
        self.server = server
        self.app = app
        self.proxy = proxy

    async def call(self, name: str, options: CallOptions | None = None, **arguments: Any) -> str:
        """Call a tool of the server; return its text."""
        result = await self.client.call_tool(name=name, arguments=arguments, options=options)
        return str(result.content[0].text)


@asynccontextmanager
async def open_talk(
    revision: str, serve: Callable[[Any], Any], connect: Callable[[str], AbstractAsyncContextManager[Peer]]
) -> AsyncGenerator[Talk]:
    """Open a client of a chatty server.

    Args:
        revision: the revision that both speak.
        serve: makes the ASGI application of a server.
        connect: connects to a URL.
    """
    package, server = bindings(revision), chatty(revision)
    app = serve(server)
    async with served(app) as url, cutting(url) as proxy, connect(proxy.url) as peer:
        client = await package.Client.open(peer, handlers=answers_tea(package), options=ClientOptions(timeout=60))
        yield Talk(client, server, app, proxy)
