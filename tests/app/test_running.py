"""`App.run`: one line serves a program over stdio or HTTP."""

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.transports.http import connect_http

SERVER = '''
from mcp_bindings.v2025_11_25 import App

app = App("shop")

@app.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

app.run("http", port=0, path="/shop")
'''


async def test_an_app_serves_http(tmp_path: Path) -> None:
    path = tmp_path / "server.py"
    path.write_text(SERVER, "utf-8")
    # The program does not read its arguments.
    command = [sys.executable, str(path), "--port", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        try:
            assert said.startswith("serving at http://127.0.0.1:") and said.endswith("/shop\n")
            async with connect_http(said.split()[-1]) as peer:
                client = await mcp.Client.open(peer)
                assert (await client.call_tool(name="add", arguments={"a": 2, "b": 3})).structured_content == {
                    "result": 5
                }
        finally:
            process.terminate()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no transport 'tcp'; use 'stdio' or 'http'"):
        mcp.App("shop").run("tcp")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
