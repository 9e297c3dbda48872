"""A client that others wrote signs in to our protected server, and requests more scopes for a call that needs them."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE

import pytest

from interop.processes import PEERS, SECONDS, TESTS, interpreter
from mcp_runtime.testing import Issuer
from support.ports import free_port

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("revision", [None, "2025-11-25", "2026-07-28"])
async def test_a_client_of_the_typescript_sdk_signs_in_and_steps_up(revision: str | None) -> None:
    """Without a revision it is 1.32.2 of the SDK, otherwise 2.4.0."""
    node = interpreter("MCP_PEER_NODE")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))}
    async with Issuer() as issuer:
        command = (sys.executable, "-m", "support.bearer_program", str(free_port()), issuer.url)
        server = await asyncio.create_subprocess_exec(*command, cwd=TESTS, env=env, stdout=PIPE)
        try:
            assert server.stdout is not None
            url = (await server.stdout.readline()).decode().strip() + "/mcp"
            peer = (node, str(PEERS / "ts_signin.mjs"), url, *([revision] if revision else []))
            client = await asyncio.create_subprocess_exec(*peer, stdout=PIPE)
            said, _ = await asyncio.wait_for(client.communicate(), SECONDS)
        finally:
            server.terminate()
            await server.wait()
        assert json.loads(said) == {
            "answers": [f"read by {issuer.url} ada", f"saved by {issuer.url} ada"],
            "scopes": ["files:read", "files:read files:write"],
            "revision": revision,
        }
        assert issuer.count("/authorize", resource=url) == 2
