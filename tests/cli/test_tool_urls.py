"""`mcp-bindgen tools` for servers that have a URL."""

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from support.command import Cli
from support.programs import quick_python

TESTS = Path(__file__).parents[1]
SECRET = "Bearer s3cret"


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    """Serve over HTTP for as long as the tests of this file run."""
    command = (quick_python(), "-m", "tools.http_served", SECRET)
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN", SECRET)


HEADER = ("--header", "Authorization=env:TOKEN")


def test_every_command_takes_a_url(url: str, tmp_path: Path, cli: Cli) -> None:
    (found,) = cli("tools", "list", "--format", "json", url, *HEADER).json
    assert found["name"] == "say"
    generated = cli("tools", "generate", "--out", "said.py", url, *HEADER)
    assert "class OverHttp" in (tmp_path / "said.py").read_text("utf-8")
    checked = cli("tools", "check", url, *HEADER)
    written = "".join(path.read_text("utf-8") for path in tmp_path.iterdir())
    for text in (generated.out, generated.err, checked.out, checked.err, written):
        assert "s3cret" not in text


def test_a_project_names_urls(url: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "pyproject.toml").write_text(f"""[tool.mcp-bindgen.tools.said]
        url = "{url}"
        headers = {{ Authorization = "$TOKEN" }}
        module = "said.py"
        """)
    cli("tools", "generate")
    cli("tools", "generate", "--check")
    assert "class " in (tmp_path / "said.py").read_text("utf-8")


def test_a_refusal_shows_no_secret(url: str, cli: Cli) -> None:
    where = url.replace("://", "://ann:s3cret@") + "?key=s3cret"
    refused = cli("tools", "list", where, expect=2)
    assert refused.err.startswith(f"error: {url}: the server's tools cannot be listed: who are you?")
    assert "s3cret" not in refused.err


def test_an_unreachable_server_is_reported_without_secrets(cli: Cli) -> None:
    refused = cli("tools", "list", "http://127.0.0.1:9/mcp?key=s3cret", *HEADER, expect=2)
    assert refused.err.startswith(
        "error: http://127.0.0.1:9/mcp: the server's tools cannot be listed: http://127.0.0.1:9/mcp: "
    )
    assert "s3cret" not in refused.err and "Traceback" not in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--header", "Authorization=s3cret"), "must be NAME=env:VARIABLE"),
        (("--header", "=env:TOKEN"), "must be NAME=env:VARIABLE"),
        (("--header", "Authorization=env:"), "must be NAME=env:VARIABLE"),
        (("--header", "Authorization=env:NOTHING"), "the environment variable NOTHING is not set"),
        (("--header", "Author ization=env:TOKEN"), "Author ization from TOKEN is not a valid header"),
        (("--header", "Authorization=env:LINES"), "Authorization from LINES is not a valid header"),
        (("--env", "A=b"), "a server with a URL is not started"),
        (("--from", "x.json"), "but only one of these"),
    ],
)
def test_bad_options(arguments: tuple[str, ...], message: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "s3cret\r\nX-More: 1")
    refused = cli("tools", "list", *arguments, "https://example.com/mcp", expect=2)
    assert message in refused.err and "s3cret" not in refused.err


def test_headers_need_a_url(cli: Cli) -> None:
    assert "--header is for a server with a URL" in cli("tools", "list", *HEADER, "--", "server", expect=2).err
