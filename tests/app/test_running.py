"""`App.run`: one line serves a program over stdio or HTTP."""

import socket
import subprocess
from pathlib import Path

import pytest

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.core.transports.http import connect_http
from support.programs import quick_python

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
    command = [quick_python(), str(path), "--port", "none"]
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


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ('app.run("ftp")', "there is no transport 'ftp'; use 'stdio' or 'http'"),
        ('app.run("http", port=taken)', "Address already in use; choose another"),
        ('app.run("http", port=99999)', "a port is a number from 0 to 65535, not 99999"),
        ('app.run("http", port="8000")', "a port is a number from 0 to 65535, not '8000'"),
        ('app.run("http", host="0.0.0.0")', "hosts="),
        ('sys.modules["h11"] = None; app.run("http")', "HTTP needs h11: pip install 'mcp-bindings[http]'"),
    ],
    ids=["transport", "port in use", "port", "text as port", "hosts", "extra"],
)
def test_a_program_that_cannot_serve_ends_with_one_line(run: str, said: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = f"import sys; from mcp_bindings import App; app = App('x'); taken = {taken.getsockname()[1]}; {run}"
        (tmp_path / "server.py").write_text(text)
        ended = subprocess.run((quick_python(), tmp_path / "server.py"), capture_output=True, text=True, check=False)
    (line,) = ended.stderr.splitlines()
    assert ended.returncode == 1 and said in line
