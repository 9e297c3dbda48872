"""Without the extra `http`, the error names it."""

import subprocess
import sys

import pytest

HEAD = "import asyncio, sys; sys.modules[{name!r}] = None\nfrom mcp_runtime import transports as http\n"
CONNECT = "asyncio.run(http.{connect}('http://127.0.0.1/mcp').__aenter__())\n"
SERVE = "from mcp_bindings.v2025_11_25 import App\nhttp.serve_http(App('a'))\n"


@pytest.mark.parametrize(
    ("name", "program"),
    [
        pytest.param("uvicorn", SERVE, id="serve_http"),
        pytest.param("httpx2", CONNECT.format(connect="connect_http"), id="connect_http"),
        pytest.param("httpx2", CONNECT.format(connect="connect_sse"), id="connect_sse"),
    ],
)
def test_the_error_names_the_extra(name: str, program: str) -> None:
    command = [sys.executable, "-c", HEAD.format(name=name) + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = f"ModuleNotFoundError: HTTP needs {name}: pip install 'mcp-bindings[http]'"
    assert done.stderr.splitlines()[-1] == expected
