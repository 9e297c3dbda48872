"""A protected server and a client that signs in, written with the official SDK.

python sdk_protected.py serve PORT ISSUER
python sdk_protected.py call URL

The server accepts the tokens of an issuer by their claims; the client follows the redirects of the issuer by itself.
"""

import asyncio
import base64
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import uvicorn
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata


class Claims:
    """Accepts every token by its claims."""

    async def verify_token(self, token: str) -> AccessToken | None:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return AccessToken(
            token=token, client_id=claims["client_id"], scopes=claims["scope"].split(), resource=claims["aud"]
        )


def serve(port: str, issuer: str) -> None:
    """Serve a protected endpoint."""
    url = f"http://127.0.0.1:{port}/mcp"
    settings = AuthSettings.model_validate(
        {
            "issuer_url": issuer,
            "resource_server_url": url,
            "required_scopes": ["read"],
            "validate_token_resource": True,
        }
    )
    server = MCPServer("tea", token_verifier=Claims(), auth=settings)

    @server.tool()
    def brew(kind: str) -> str:
        """Brew tea."""
        return f"{kind} tea"

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(port), log_level="error")


class Storage:
    """Keeps tokens in memory."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client: Any) -> None:
        self.client = client


async def call(url: str) -> None:
    """Sign in to a server, and call its tool."""
    found: list[str] = []

    async def redirect(target: str) -> None:
        async with httpx2.AsyncClient() as http:
            while "/callback?" not in target:
                answer = await http.get(target)
                target = str(answer.url.join(answer.headers["location"]))
        found.append(target)

    async def callback() -> AuthorizationCodeResult:
        query = {name: values[0] for name, values in parse_qs(urlsplit(found[-1]).query).items()}
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "sdk", "redirect_uris": ["http://127.0.0.1/callback"], "application_type": "native"}
    )
    auth = OAuthClientProvider(url, metadata, Storage(), redirect, callback)
    async with (
        httpx2.AsyncClient(auth=auth) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        result: Any = await client.call_tool("brew", {"kind": "green"})
        print(result.content[0].text)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "serve":
        serve(*arguments)
    else:
        asyncio.run(call(*arguments))
