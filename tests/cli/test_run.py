"""What all commands share: usage, version, missing extra, defects, broken pipes, completion, progress."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, get_args

import pytest

from mcp_bindgen.cli import show
from mcp_bindgen.cli.diff import ReportFormat
from mcp_bindgen.ingest import sources
from support.command import Cli, start
from support.programs import quick_python
from support.samples import HANDSHAKE_TS
from support.web import FileHandler, serving

VERSION_LINE = f"mcp-bindgen {version('mcp-bindgen')}\n"


def module(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mcp_bindgen", *arguments], capture_output=True, text=True, check=False
    )


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli("--version").out == VERSION_LINE
    done = module("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, VERSION_LINE, "")


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("generate", "--help"), ("verify", "-h")])
def test_help_begins_with_the_usage(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli(*arguments).out.startswith("Usage: mcp-bindgen")


@pytest.mark.parametrize(
    "arguments",
    [
        ("frob",),
        ("generate", "--frob"),
        ("verify", "2024-11-05"),
        ("list", "--format", "xml"),
        ("show",),
    ],
)
def test_wrong_usage_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments, expect=2)
    assert done.out == ""
    assert done.err.startswith("Usage: mcp-bindgen")
    assert arguments[-1] in done.err or len(arguments) < 3


@pytest.mark.parametrize("name", ["a-b", "a..b", "a.class", "../x", "[red]x[/red]"])
def test_what_is_not_a_package_name_is_refused_in_one_line(cli: Cli, name: str) -> None:
    done = cli("generate", "--package", name, expect=2)
    assert done.out == ""
    assert done.err == f"error: --package: {name!r} is not a package name: write identifiers joined by dots\n"


def test_a_defect_is_one_message_with_its_own_exit_status(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(revision: str) -> object:
        raise ZeroDivisionError(f"bad\x1b luck with {revision}")

    monkeypatch.setattr(show, "load", broken)
    done = cli("list", expect=70)
    assert "this is a bug in mcp-bindgen, please report it: ZeroDivisionError: bad\\x1b luck" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("MCP_BINDGEN_TRACEBACK", "1")
    assert "Traceback" in cli("list", expect=70).err


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    process = start("errata", "--all", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait() == 141


@pytest.mark.slow
def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path) -> None:
    code = "import sys; from mcp_bindgen.cli.run import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "show", "naïve"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert rb"na\xefve" in done.stderr


def test_revisions_complete_in_the_shell(tmp_path: Path) -> None:
    environment = {**os.environ, "_MCP_BINDGEN_COMPLETE": "complete_bash", "COMP_WORDS": "mcp-bindgen generate 2025"}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_bindgen"], env={**environment, "COMP_CWORD": "2"}, capture_output=True, check=False
    )
    assert done.stdout.split() == [b"2025-03-26", b"2025-06-18", b"2025-11-25"]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "shown"), [((), True), (("--quiet",), False)])
def test_progress_is_shown_on_terminals(tmp_path: Path, arguments: tuple[str, ...], shown: bool) -> None:
    main, terminal = pty.openpty()
    done = subprocess.run(
        [quick_python(), "-m", "mcp_bindgen", "generate", "2024-11-05", *arguments],
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=terminal,
        check=True,
    )
    os.close(terminal)
    try:
        printed = os.read(main, 65536)
    except OSError:  # the terminal is gone, and nothing was written to it
        printed = b""
    os.close(main)
    assert (b"2024-11-05" in printed) is shown
    assert b"\x1b" not in done.stdout


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serves the current folder; yields the address."""
    with serving(tmp_path) as url:
        yield url


class TestUrls:
    def test_a_schema_from_a_url(self, cli: Cli, server: str) -> None:
        Path("schema.ts").write_text(HANDSHAKE_TS, "utf-8")
        cli("generate", "2099-01-01", "--schema", f"{server}/schema.ts")
        text = Path("generated/mcp_bindings/v2099_01_01/__init__.py").read_text("utf-8")
        assert f"{server}/schema.ts sha256:" in text
        assert "up to date" in cli("generate", "2099-01-01", "--schema", f"{server}/schema.ts").out

    def test_a_missing_url_is_refused(self, cli: Cli, server: str) -> None:
        done = cli("generate", "2099-01-01", "--schema", f"{server}/absent.ts", expect=2)
        assert done.err == f"error: {server}/absent.ts: the server answered 404\n"

    def test_a_password_in_a_url_is_not_written(self, cli: Cli, server: str) -> None:
        Path("schema.ts").write_text(HANDSHAKE_TS, "utf-8")
        cli("generate", "2099-01-01", "--schema", f"{server.replace('://', '://me:secret@')}/schema.ts")
        for path in Path("generated").rglob("*.py"):
            assert "secret" not in path.read_text("utf-8")

    @pytest.mark.slow
    def test_a_query_appears_in_no_output(self, cli: Cli, server: str) -> None:
        """It appears in no file, report or message: a query may contain a token."""
        Path("schema.ts").write_text(HANDSHAKE_TS, "utf-8")
        secret = "?token=hush&user=hush#hush"
        place = f"{server}/schema.ts{secret}"
        runs = [
            cli("generate", "2099-01-01", "--schema", place),
            cli("generate", "2099-01-01", "--schema", place, "--check"),
            cli("generate", "2099-01-01", "--schema", f"{server}/absent.ts{secret}", expect=2),
            cli("verify", "2024-11-05", "--against", place, expect=1),
            cli("migrate", place, "2025-11-25"),
            *(
                cli("diff", place, "2025-11-25", "--format", name, "--fail-on", "never")
                for name in get_args(ReportFormat)
            ),
        ]
        assert all(run.out or run.err for run in runs)
        written = [path.read_text("utf-8") for path in Path().rglob("*") if path.is_file()]
        assert len(written) > 10
        assert "hush" not in "".join([*written, *(run.out + run.err for run in runs)])

    @pytest.mark.parametrize(
        ("name", "text", "reason"),
        [
            ("openapi.json", '{"openapi": "3.1.0", "paths": {}, "components": {"schemas": {}}}', "no definitions"),
            ("other.json", '{"$defs": {"Cat": {"type": "object"}}}', "no message was found in it (an object that"),
            ("page.html", "<!doctype html><html><body>Not found</body></html>", "this is a web page"),
            ("empty.ts", "export interface Cat { name: string }", "no message was found in it (an object that"),
        ],
    )
    def test_other_schemas_are_refused(self, name: str, text: str, reason: str, cli: Cli, server: str) -> None:
        Path(name).write_text(text, "utf-8")
        done = cli("generate", "2099-01-01", "--schema", f"{server}/{name}", expect=2)
        assert done.err.startswith(f"error: {server}/{name}")
        assert reason in done.err
        assert not Path("generated").exists()

    def test_a_trickling_download_times_out(
        self, cli: Cli, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each read is fast, but the download is slow: the timeout covers all of it."""
        monkeypatch.setattr(sources, "TIMEOUT", 0.5)
        monkeypatch.setattr(FileHandler, "copyfile", _trickle)
        Path("schema.ts").write_text(HANDSHAKE_TS, "utf-8")
        done = cli("generate", "2099-01-01", "--schema", f"{server}/schema.ts?token=hush", expect=2)
        assert done.err == f"error: {server}/schema.ts: not downloaded within 0.5 seconds\n"


def _trickle(self: FileHandler, source: BinaryIO, outputfile: BinaryIO) -> None:
    try:
        while byte := source.read(1):
            outputfile.write(byte)
            time.sleep(0.05)
    except OSError:
        pass  # the reader closed the connection
