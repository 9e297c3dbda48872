"""A client signs in to a protected server in another process, and requests more scopes when a call needs them."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.auth import OAuth
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.testing import Issuer
from support.http import browser
from support.ports import free_port
from support.programs import quick_python

TESTS = Path(__file__).parents[2]


@asynccontextmanager
async def program(issuer: Issuer) -> AsyncGenerator[str]:
    """Start the server; yields the URL of its endpoint, and checks that it printed no secret."""
    command = (quick_python(), "-m", "support.bearer_program", str(free_port()), issuer.url)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))}
    process = await asyncio.create_subprocess_exec(*command, cwd=TESTS, env=env, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    try:
        yield (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip() + "/mcp"
        process.terminate()
    finally:
        if process.returncode is None and sys.exc_info()[0] is not None:
            process.kill()
        said = await process.communicate()
    assert (process.returncode, said) == (0, (b"", b""))


@pytest.mark.parametrize("bindings", [pytest.param(v2025_11_25, marks=pytest.mark.slow), v2026_07_28])
@pytest.mark.requirement("http.authorization")
async def test_a_client_signs_in_and_steps_up(bindings: Any) -> None:
    async with Issuer() as issuer, program(issuer) as url, connect_http(url, auth=OAuth(visit=issuer.visit)) as peer:
        client = await bindings.Client.open(peer)
        read = await client.call_tool(name="read", arguments={"path": "x"})
        assert read.content[0].text == f"read by {issuer.url} ada"
        assert issuer.count("/authorize", resource=url, scope="files:read") == 1
        calls = [client.call_tool(name="save", arguments={"path": str(number)}) for number in range(10)]
        assert {result.content[0].text for result in await asyncio.gather(*calls)} == {f"saved by {issuer.url} ada"}
        assert issuer.count("/authorize") == 2
        asked = [set(said["scope"].split()) for path, said in issuer.requests if path == "/authorize"]
        assert asked == [{"files:read"}, {"files:read", "files:write"}]


async def test_only_tokens_for_this_server_are_accepted() -> None:
    async with Issuer() as issuer, program(issuer) as url, browser() as http:
        metadata = (await http.get(f"{url.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp")).json()
        assert (metadata["resource"], metadata["authorization_servers"]) == (url, [issuer.url])
        for path in ("/mcp", "/sse"):
            statuses = [
                (
                    await http.delete(url.removesuffix("/mcp") + path, headers={"authorization": f"Bearer {token}"})
                ).status_code
                for token in (
                    issuer.token(["files:read"], audience="http://127.0.0.1:1/mcp"),
                    issuer.token(audience=url),
                    issuer.token(["files:read"], audience=url, exp=1),
                )
            ]
            assert statuses == [401, 403, 401]
