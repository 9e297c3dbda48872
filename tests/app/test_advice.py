"""A module that fails is described in one line with its place, and with the name that was meant or what is missing."""

import runpy
import sys
from pathlib import Path

import pytest

from mcp_runtime.app.program import Unusable, load_server

MISTAKES = {
    "App('x', verson='1')": "an unexpected keyword argument 'verson'; did you mean version?",
    "app.tool(titel='x')": "an unexpected keyword argument 'titel'; did you mean title?",
    "app.resource('a://b', mimetype='x')": "did you mean mime_type?",
    "app.files('x', rot='.')": "did you mean root?",
    "ServerOptions(resource_update=True)": "did you mean resource_updates?",
    "serve_http(app, atuh=1)": "did you mean auth?",
    "own(colour=1)": "unexpected keyword argument 'colour'; did you mean color?",
    "own(weight=1)": "unexpected keyword argument 'weight'; it takes color, size",
    "app.resource_template('a://{b}')": "no attribute 'resource_template'; did you mean resource?",
    "app.add_tol(own)": "'App' object has no attribute 'add_tol'; did you mean add_tool?",
    "app.tol()": "'App' object has no attribute 'tol'; did you mean tool?",
    "Ap('x')": "name 'Ap' is not defined; did you mean App?",
    "Client": "name 'Client' is not defined; write: from mcp_bindings import Client",
    "Contxt": "name 'Contxt' is not defined; did you mean Context?",
    "prnt('x')": "name 'prnt' is not defined; did you mean print?",
    "from mcp_bindings import Contextt": "; did you mean Context?",
    "import surely_not_there": "No module named 'surely_not_there'; install it where this command runs",
    "os.environ['SURELY_NOT_SET']": "the environment variable SURELY_NOT_SET is not set; set it, or pass --env SURELY",
    "def f(:": ": def f(:",
    "1 / 0": "ZeroDivisionError: division by zero",
    "{}['a']": "KeyError: 'a'",
}
BEGINNING = """import os
from mcp_bindings import App, ServerOptions, serve_http
def own(color=0, size=0): pass
app = App('x')
"""


def like_ours(told: str) -> str:
    """Return a message with Python's own hints, which newer versions have for more mistakes, spelled like ours."""
    return told.replace(". Did you mean '", "; did you mean ").replace("'?", "?")


@pytest.mark.parametrize("line", MISTAKES)
def test_a_module_that_fails_is_one_line(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    server = tmp_path / "failing_server.py"
    server.write_text(f"{BEGINNING}{line}\n")
    with pytest.raises(Unusable) as raised:
        load_server(str(server))
    told = str(raised.value)
    assert told.startswith(f"{server}:5: ") and "\n" not in told
    assert MISTAKES[line] in like_ours(told)
    assert told.count("mean") <= 1


def ended_by(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run a program that fails, and return what Python prints at its end."""
    with pytest.raises(Exception) as raised:
        runpy.run_path(str(path), run_name="__main__")
    sys.excepthook(raised.type, raised.value, raised.tb)
    return capsys.readouterr().err.splitlines()


OTHERS = ("own(", "Ap(", "Contxt", "prnt", "import surely", "os.environ", "def f(:", "1 / 0", "{}[")
"""How mistakes begin that Python explains, or that have nothing to do with this package."""


@pytest.mark.parametrize("line", MISTAKES)
def test_a_program_that_fails_ends_with_the_same_line(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "failing_server.py"
    path.write_text(f"{BEGINNING}def use():\n    {line}\n" if line[0] != "d" else f"{BEGINNING}{line}\n")
    with path.open("a") as program:
        program.write("use()\n")
    traceback = ended_by(path, capsys)
    assert traceback[0].startswith(("Traceback", "  File"))
    has_advice = traceback[-1].startswith(f"{path}:6: ")
    assert has_advice is not line.startswith(OTHERS)
    assert not has_advice or MISTAKES[line] in like_ours(traceback[-1])


@pytest.mark.parametrize("open_it", ["testing.connect(app, elicitt=[])", "mcp_bindings.connect_stdio('x', enw={})"])
def test_a_wrong_option_below_await_has_the_line_of_its_author(
    open_it: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.py"
    path.write_text(
        f"{BEGINNING}import asyncio, mcp_bindings\nfrom mcp_bindings import testing\nasync def main():\n"
        f"    async with {open_it}: pass\nasyncio.run(main())\n"
    )
    assert ended_by(path, capsys)[-1].startswith(f"{path}:8: TypeError: ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("notes.txt", "is not a .py file"), ("server", "is not a .py file"), ("missing.py", ": no such file")],
)
def test_a_file_that_is_not_a_module_is_refused(name: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name != "missing.py":
        path.write_text("app = 1\n")
    with pytest.raises(Unusable) as raised:
        load_server(str(path))
    assert str(raised.value) in (f"{path} {reason}", f"{path}{reason}")
