"""`mcp-bindgen login` stores tokens that the other commands use, and `logout` deletes them."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.live.target import is_unauthorized
from mcp_bindings import App
from mcp_runtime.testing import Issuer
from support.programs import quick_python
from support.protected import Protected, protected

VISIT = "import sys, httpx2; httpx2.get(sys.argv[1], follow_redirects=True)"


@pytest.fixture
async def server() -> AsyncGenerator[Protected]:
    app = App("tea")

    @app.tool()
    def brew(kind: str) -> str:
        """Brew tea."""
        return f"{kind} tea"

    async with Issuer() as issuer, protected(app, issuer) as server:
        yield server


async def run(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run the command; a browser visits each URL at once."""
    browser = folder / "browser"
    browser.write_text(f"#!{sys.executable}\n{VISIT}\n")
    browser.chmod(0o700)
    env: dict[str, Any] = {**os.environ, "XDG_STATE_HOME": str(folder), "BROWSER": f"{browser} %s"}
    env.pop("SSH_CONNECTION", None)
    process = await asyncio.create_subprocess_exec(
        *(quick_python(), "-m", "mcp_bindgen", *words), stdout=-1, stderr=-1, env=env, cwd=folder
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.slow
async def test_other_commands_use_the_tokens_of_a_login(server: Protected, tmp_path: Path) -> None:
    call = "inspect", "--call", "brew", "kind=green", server.url
    status, out, err = await run(tmp_path, *call)
    assert (status, out) == (2, "")
    assert f"401 Unauthorized; run: mcp-bindgen login {server.url}" in err
    assert await run(tmp_path, "login", server.url) == (
        0,
        "signed in to tea\n",
        "A browser shows where to sign in.\n",
    )
    tokens = tmp_path / "mcp-bindgen" / "tokens.json"
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
    assert (await run(tmp_path, *call))[:2] == (0, 'green tea\nstructured content:\n"green tea"\n')
    assert (await run(tmp_path, "check", "--only", "ping.answered", server.url))[0] == 0
    assert await run(tmp_path, "logout", server.url) == (0, "signed out\n", "")
    assert server.issuer.count("/revoke") == 1
    assert await run(tmp_path, "logout", server.url) == (0, "there were no tokens for this server\n", "")
    assert (await run(tmp_path, *call))[0] == 2
    assert server.issuer.count("/authorize") == 1


@pytest.mark.slow
async def test_other_commands_ask_nobody(server: Protected, tmp_path: Path) -> None:
    await run(tmp_path, "login", server.url)
    server.issuer.refresh_tokens.clear()
    server.revoked.add(server.requests[-1][2])
    status, out, err = await run(tmp_path, "inspect", server.url)
    assert (status, out) == (2, "")
    assert f"the stored tokens are not enough; run: mcp-bindgen login {server.url}" in err
    assert server.issuer.count("/authorize") == 1


@pytest.mark.slow
async def test_a_tool_that_needs_more_scopes_leads_to_a_login_with_them(server: Protected, tmp_path: Path) -> None:
    server.scopes_of = lambda body: {"tea:brew", "tea:deep"} if b"tools/call" in body else set()
    call = "inspect", "--call", "brew", "kind=green", server.url
    await run(tmp_path, "login", server.url)
    status, _, err = await run(tmp_path, *call)
    login = f"mcp-bindgen login {server.url} --scope tea:brew --scope tea:deep"
    assert status == 2 and f"the stored tokens are not enough; run: {login}" in err
    assert (await run(tmp_path, *login.split()[1:]))[:2] == (0, "signed in to tea\n")
    assert (await run(tmp_path, *call))[0] == 0
    assert (await run(tmp_path, *login.split()[1:]))[0] == 0
    assert server.issuer.count("/authorize") == 2, "the tokens had the scopes"


@pytest.mark.slow
async def test_an_issuer_that_grants_less_is_asked_once(tmp_path: Path) -> None:
    scopes = "--scope", "tea:brew", "--scope", "tea:deep"
    async with Issuer(scopes=["tea:brew"]) as issuer, protected(App("tea"), issuer) as server:
        for _ in range(2):
            assert (await run(tmp_path, "login", server.url, *scopes))[0] == 0
        assert issuer.count("/authorize") == 1


@pytest.mark.slow
async def test_a_configuration_of_servers_leads_to_a_login_too(server: Protected, tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"tea": {"type": "http", "url": server.url}}}))
    status, out, _ = await run(tmp_path, "host", "mcp.json", "--format", "json")
    assert (status, json.loads(out)["tea"]["state"]) == (0, "failed")
    assert json.loads(out)["tea"]["error"].endswith(f"401 Unauthorized; run: mcp-bindgen login {server.url}")
    await run(tmp_path, "login", server.url)
    _, out, _ = await run(tmp_path, "host", "mcp.json", "--format", "json")
    assert json.loads(out)["tea"]["state"] == "ready"


@pytest.mark.slow
async def test_wrong_input_is_refused(tmp_path: Path) -> None:
    for words in (("login", "tea"), ("logout", "tea"), ("login", "https://a.example", "--client-id", "it")):
        status, out, err = await run(tmp_path, *words)
        assert (status, out) == (2, "")
        assert err.count("\n") <= 2


@pytest.mark.parametrize("reason", ["", ": an access token is needed", ": {}", ": answered"])
def test_any_reason_for_401_leads_to_a_login(reason: str) -> None:
    assert is_unauthorized(f"http://127.0.0.1:8000/mcp answered 401 Unauthorized{reason}")
    assert not is_unauthorized(f"http://127.0.0.1:4010/mcp answered 404 Not Found{reason}")
