"""A module that fails is described in one line with its place, and with the name that was meant or what is missing."""

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


@pytest.mark.parametrize("line", MISTAKES)
def test_a_module_that_fails_is_one_line(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    server = tmp_path / "failing_server.py"
    server.write_text(f"{BEGINNING}{line}\n")
    with pytest.raises(Unusable) as raised:
        load_server(str(server))
    told = str(raised.value)
    assert told.startswith(f"{server}:5: ") and "\n" not in told
    # Python 3.13 names some of them itself.
    assert MISTAKES[line] in told.replace(". Did you mean '", "; did you mean ").replace("'?", "?")
    assert told.count("mean") <= 1


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
