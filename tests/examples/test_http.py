"""The examples of HTTP: inside a FastAPI application, and behind a TLS proxy."""

import re
import ssl
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from support.at_terminal import EXAMPLES
from support.programs import quick_python

pytestmark = pytest.mark.slow

CALLED = "{'sum': 5.5}\n"
FASTAPI = """
import socket, uvicorn
listener = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config("http_fastapi:api", log_level="warning")).run([listener])
"""


@contextmanager
def running(*arguments: str | Path) -> Generator[str]:
    """Run a server of the examples; yields the URL that it prints first."""
    with subprocess.Popen(
        [quick_python(), *map(str, arguments)], cwd=EXAMPLES, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def called(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [quick_python(), str(EXAMPLES / "http_client.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def client(*arguments: str | Path) -> str:
    done = called(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_endpoint_in_fastapi() -> None:
    with running("-c", FASTAPI) as url:
        assert client(f"{url}/mcp") == CALLED
        assert client(f"{url}/mcp/") == CALLED, "FastAPI redirects to the path without a slash"
        assert httpx2.get(url, timeout=40).json() == {"sessions": 0}
        assert httpx2.get(f"{url}/mcp", headers={"host": "example.com"}, timeout=40).status_code == 403


def test_a_failure_is_one_line() -> None:
    with running("-c", FASTAPI) as url:
        wrong, missing = f"{url}/none", "missing.pem"
        for arguments, reason in [((wrong,), "404 Not Found"), ((url, missing), "No such file or directory")]:
            done = called(*arguments)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
            assert done.stderr.startswith("http_client.py: error: ") and reason in done.stderr
    done = called(url)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"http_client.py: error: {url}: cannot connect .* the server is running\n", done.stderr)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Make a certificate for localhost, and its key."""
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run([*command.split(), "-out", str(files[0]), "-keyout", str(files[1])], capture_output=True, check=True)
    return files


def test_a_server_behind_tls(certificate: tuple[Path, Path]) -> None:
    with running("http_tls_proxy.py", *certificate) as url:
        assert url.startswith("https://localhost:")
        assert client(url, certificate[0]) == CALLED
        refused = httpx2.get(
            url,
            headers={"host": "example.com"},
            timeout=40,
            verify=ssl.create_default_context(cafile=str(certificate[0])),
        )
        assert refused.status_code == 403
