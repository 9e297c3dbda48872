"""`mcp-bindgen run`: it serves a file, or reports errors with their line."""

import asyncio
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from mcp_bindings import bridges
from mcp_bindings import v2026_07_28 as modern
from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.core.errors import UnsupportedRevision
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from support.command import Cli
from support.http import RawClient, hello
from support.http_modern import called, headers_for
from support.programs import quick_python

SERVER = """
from mcp_bindings.v2025_11_25 import App, Server
from helper import NAME

print("loaded")
app = same = App(NAME)

@app.tool()
def add(a: int, b: int) -> int:
    return a + b

class Other(Server):
    pass

if __name__ == "__main__":
    raise SystemExit("not as a program")
"""
COMMAND = ("-m", "mcp_bindgen", "run")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text('NAME = "tested"\n', "utf-8")
    (tmp_path / "server.py").write_text(SERVER, "utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", ":app", ":Other"])
async def test_a_file_is_served(folder: Path, name: str) -> None:
    async with connect_stdio(quick_python(), *COMMAND, f"{folder / 'server.py'}{name}") as peer:
        client = await Client.open(peer)
        assert client.connection.peer_info["name"] == ("Other" if name == ":Other" else "tested")


@pytest.mark.parametrize(
    ("server", "client"),
    [
        ("2025_11_25", "2026_07_28"),
        pytest.param("2025_11_25", "2024_11_05", marks=pytest.mark.slow),
        pytest.param("2026_07_28", "2025_06_18", marks=pytest.mark.slow),
    ],
)
async def test_stdio_clients_of_other_revisions_are_served(folder: Path, server: str, client: str) -> None:
    (folder / "server.py").write_text(SERVER.replace("2025_11_25", server), "utf-8")
    mcp: Any = importlib.import_module(f"mcp_bindings.v{client}")
    async with connect_stdio(quick_python(), *COMMAND, str(folder / "server.py:app")) as peer:
        added = await (await mcp.Client.open(peer)).call_tool(name="add", arguments={"a": 1, "b": 2})
        assert added.content[0].text == "3"


@pytest.mark.slow
async def test_a_bridged_server_offers_only_the_revisions_that_it_names(folder: Path) -> None:
    options = "only = App(options=ServerOptions(revisions=['2025-06-18']))"
    limited = f"{SERVER}from mcp_runtime.core.settings import ServerOptions\n{options}\n"
    (folder / "server.py").write_text(limited, "utf-8")
    async with connect_stdio(quick_python(), *COMMAND, str(folder / "server.py:only")) as peer:
        with pytest.raises(UnsupportedRevision, match="2026-07-28"):
            await modern.Client.open(peer, options=ClientOptions(revisions="own"))


@pytest.mark.slow
async def test_a_server_without_conversions_serves_its_own_revision(folder: Path) -> None:
    (folder / "server.py").write_text(f"import sys\nsys.modules['mcp_bindings.bridges'] = None\n{SERVER}", "utf-8")
    async with connect_stdio(quick_python(), *COMMAND, str(folder / "server.py:app")) as peer:
        assert (await Client.open(peer)).connection.revision == "2025-11-25"


@pytest.mark.slow
async def test_a_file_is_served_without_the_compiler(folder: Path) -> None:
    text = f"import sys\nsys.modules['mcp_bindgen'] = None\n{SERVER}"
    (folder / "server.py").write_text(text, "utf-8")
    async with connect_stdio(quick_python(), "-m", "mcp_runtime", str(folder / "server.py")) as peer:
        assert [tool.name async for tool in (await Client.open(peer)).iter_tools()] == ["add"]


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        ("x = 1\ndef f(:\n", "bad.py", "bad.py:2: invalid syntax"),
        ("x = 1\nimport nowhere_at_all\n", "bad.py", "bad.py:2: ModuleNotFoundError: No module named"),
        ("def f():\n    return 1 / 0\n\nf()\n", "bad.py", "bad.py:2: ZeroDivisionError"),
        ("import sys\nsys.exit('no')\n", "bad.py", "bad.py:2: SystemExit: no"),
        ("x = 1\n", "bad.py", "bad.py: no App or Server instance found"),
        ("x = 1\n", "bad.py:x", "bad.py: x is not an App or a Server"),
        ("x = 1\n", "bad.py:y", "bad.py: y is not defined in it"),
        (
            "from mcp_bindings import App\napp = App('a')\n",
            "bad.py:apq",
            "bad.py: apq is not defined in it; use bad.py:app",
        ),
        ("from mcp_bindings.v2025_11_25 import App\na, b = App('a'), App('b')\n", "bad.py", "choose one: bad.py:a"),
        ("", "nothing.py", "nothing.py: no such file"),
        (
            "from mcp_bindings.v2025_11_25 import App\napp = App('a')\n@app.tool()\ndef f(x):\n    pass\n",
            "bad.py",
            "/bad.py:3: tool f: parameter x has no type",
        ),
        (
            "from mcp_bindings import bridges, v2025_11_25 as v\nfrom mcp_runtime.core.settings import ServerOptions\n"
            "del bridges.ERAS\napp = v.App('a', options=ServerOptions(revisions=['2025-03-26', '2024-11-05']))\n",
            "bad.py",
            "mcp_bindings.bridges was generated in format 1",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str, target: str, said: str
) -> None:
    Path("bad.py").write_text(text, "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "bad", ModuleType("bad"))
    monkeypatch.setattr(bridges, "ERAS", bridges.ERAS)  # a case deletes it
    done = cli("run", target, expect=2)
    assert done.err.count("bad.py:3") <= 1, "the place is said once"
    assert said in done.err and "Traceback" not in done.err and done.out == ""


@pytest.mark.slow
def test_without_the_extra_http(folder: Path) -> None:
    text = f"import sys\nsys.modules['uvicorn'] = None\n{SERVER}"
    (folder / "server.py").write_text(text, "utf-8")
    done = subprocess.run(
        [quick_python(), *COMMAND, "server.py", "--http"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "mcp-bindgen: HTTP needs uvicorn: pip install 'mcp-bindings[http]'"


def test_help_and_a_wrong_host(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "server", ModuleType("server"))
    shown = cli("run", "--help").out
    assert shown.startswith("Usage: mcp-bindgen run [OPTIONS] FILE[:NAME]\n\n  Serve ") and "\nOptions:\n" in shown
    done = cli("run", "server.py", "--prot", "1", expect=2)
    assert done.err.endswith("Error: No such option: --prot. Did you mean --port?\n")
    done = cli("run", "server.py", "--http", "--host", "0.0.0.0", expect=2)
    assert "host" in done.err and "Traceback" not in done.err
    done = cli("run", "server.py", "--port", "1", expect=2)
    assert "--host, --port and --allowed-host are for --http" in done.err


@pytest.mark.slow
async def test_over_http_clients_of_both_eras_are_served_under_the_names_that_are_allowed(folder: Path) -> None:
    command = (quick_python(), *COMMAND, "server.py:app", "--http", "--port", "0", "--allowed-host", "mcp.example.com")
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while not (line := await process.stderr.readline()).startswith(b"serving at "):
                assert line, "it ended"
        url = line.decode().removeprefix("serving at ").strip()
        host = {"host": "mcp.example.com"}
        async with httpx2.AsyncClient(base_url=url.removesuffix("/mcp"), headers=host, timeout=40) as http:
            client = RawClient(http)
            begun = await client.ask("initialize", hello("2025-11-25"))
            assert begun.json()["result"]["protocolVersion"] == "2025-11-25"
            message = called("add", a=1, b=2)
            added = await client.post(message, **headers_for(message))
            assert added.json()["result"]["structuredContent"] == {"result": 3}
            refused = await client.post(message, **{**headers_for(message), "host": "localhost"})
            assert refused.status_code == 403
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


def test_inspect_says_when_a_program_never_serves(tmp_path: Path, cli: Cli) -> None:
    program = tmp_path / "server.py"
    program.write_text("print('no app.run()')", "utf-8")
    error = cli("inspect", "--", sys.executable, str(program), expect=2).err
    assert "exited with status 0; it does not serve: is app.run() missing?" in error


def test_inspect_shows_the_log_of_a_server_whose_tool_fails(tmp_path: Path, cli: Cli) -> None:
    program = tmp_path / "server.py"
    tool = "@app.tool()\ndef f() -> int:\n    'F.'\n    return 'x'\n"
    program.write_text(f"from mcp_bindings import App\napp = App('a')\n{tool}app.run()\n", "utf-8")
    failed = cli("inspect", "--call", "f", "--", sys.executable, str(program), expect=1)
    assert "see the server's log" in failed.out
    assert failed.err.startswith("the server printed:\n") and "returned str, declared int" in failed.err


SUM = """\
from mcp_bindings import App
app = App("sum")
@app.tool(structured=False)
def add(a: int, b: int) -> str:
    "Add."
    return str(a + b)
"""


@pytest.mark.parametrize("target", ["sum.py", "sum.py:app", "./sum.py", "absolute"])
def test_a_file_is_served_as_run_does(target: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "sum.py").write_text(SUM)
    words = (tmp_path / "sum.py" if target == "absolute" else target, "a=1", "b=2")
    assert cli("inspect", "--call", "add", *words).out == "3\n"
    assert cli("inspect", "--call", "add", *words[1:], words[0]).out == "3\n"
    assert "add" in cli("inspect", words[0]).out


FOREIGN = [
    ("import fastmcp\n", "line 1 imports fastmcp"),
    ("from fastmcp import FastMCP\nmcp = FastMCP('x')\nmcp.run()\n", "line 1 imports fastmcp"),
    ('"""A server."""\n\nfrom mcp.server.fastmcp import FastMCP\n', "line 3 imports mcp,"),
    ("try:\n    import mcp\nexcept ImportError:\n    pass\n", "line 2 imports mcp,"),
]


@pytest.mark.parametrize(("text", "reason"), FOREIGN)
def test_a_server_for_another_framework_leads_to_the_page(text: str, reason: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "server.py"
    file.write_text(text, "utf-8")
    expected = f"{file}: {reason}"
    for command in ("run", "inspect"):
        told = cli(command, str(file), expect=2).err
        assert reason in told and "docs/porting.md shows what to change" in told and len(told.splitlines()) == 1
    module = subprocess.run([sys.executable, "-m", "mcp_runtime", file], capture_output=True, text=True, check=False)
    assert (module.returncode, module.stdout) == (2, "")
    assert module.stderr.startswith(f"python -m mcp_runtime: {expected}")


@pytest.mark.parametrize(
    "text",
    [
        "import mcp_bindings as mcp\nserver = mcp.App('x')\n",
        "import mcp_bindings as own\n\ntry:\n    import mcp\nexcept ImportError:\n    pass\nserver = own.App('x')\n",
        "from mcp import server\n",
        '"""Imports mcp_bindings, not mcp."""\nfrom own import server\n',
    ],
)
def test_other_files_are_served(text: str, tmp_path: Path, cli: Cli) -> None:
    for name in re.findall("from (mcp|own) import", text):
        (tmp_path / f"{name}.py").write_text("from mcp_bindings import App\nserver = App('x')\n", "utf-8")
    (tmp_path / "server.py").write_text(text, "utf-8")
    assert "revision " in cli("inspect", str(tmp_path / "server.py")).out


def test_a_file_that_does_not_exist_is_one_line(cli: Cli) -> None:
    assert cli("inspect", "gone.py", expect=2).err == "error: gone.py: no such file\n"
    assert "give one server" in cli("inspect", __file__, "--", "true", expect=2).err
