"""`mcp-bindgen inspect`: bounds of arguments, what a terminal shows while a call runs, and violations of servers."""

import asyncio
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_bindgen.cli.output import table, wrapped
from mcp_bindgen.live.output import ServerOutput
from mcp_bindgen.tool_clients.listing import spell_arguments
from support.at_terminal import at_terminal
from support.command import Cli

BOUNDED: dict[str, Any] = {
    "n": {"type": "integer", "minimum": 1, "maximum": 50},
    "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "name": {"type": "string", "maxLength": 80},
    "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    "labels": {"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1}, {"type": "null"}]},
    "kind": {"oneOf": [{"enum": ["a", "b"]}, {"type": "array", "items": {"enum": [1, 2]}}]},
}


def test_bounds_formats_and_items_are_spelled() -> None:
    assert spell_arguments({"properties": BOUNDED, "required": [*BOUNDED]}) == (
        "n: integer (1..50), share: number (>0..1), name: string (..80 characters), day: string (date)|null,"
        " labels: string[] (1.. items)|null, kind: a|b|1|2[]"
    )


TALKATIVE = Path(__file__).with_name("talkative.py")


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_terminal_shows_what_happens_during_a_call(revision: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "-m", "mcp_bindgen", "inspect", str(TALKATIVE), "--revision", revision, "--call", "talk"
    monkeypatch.setattr("support.at_terminal.EXAMPLES", Path())
    shown = at_terminal(*words, answers=[("Value", "\x04")], A_KEY="secret").replace("\r", "").splitlines()
    assert shown[0].startswith("environment variables that the server does not get (--env NAME=VALUE): ")
    assert " A_KEY, " in shown[0] and "secret" not in shown[0]
    assert shown[1:5] == [
        "progress: 1 of 2: half",
        'info: {"a": 1}',
        r"warning: careful\x1b[2J",
        "the server asks its user: How many? (Ctrl-D declines)",
    ]
    assert shown[shown.index("declined") + 1] == "no"
    piped = cli("inspect", TALKATIVE, "--revision", revision, "--call", "talk")
    assert (piped.out.splitlines()[0], piped.err) == ("no", "")


ANSWERS = [
    ("Size: s | m: ", "x"),
    ("is not one of", "m"),
    ("Cups: integer (1..5): ", "many"),
    ("must be of type", "9"),
    ("greater than the maximum of 5", "2"),
    ("Sugar: boolean [false]: ", "yes"),
    ("Extras: milk | lemon [none]: ", "milk, lemon"),
    ("Note: string (optional): ", ""),
]


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_form_is_filled_in_at_a_terminal(revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.at_terminal.EXAMPLES", Path())
    words = "-m", "mcp_bindgen", "inspect", str(TALKATIVE), "--revision", revision, "--call", "order"
    shown = at_terminal(*words, answers=ANSWERS).replace("\r", "")
    assert '\n{"size":"m","cups":2,"sugar":true,"extras":["milk","lemon"],"note":null}\n' in shown


async def test_the_timeout_stops_while_a_person_answers() -> None:
    said = ServerOutput()
    async with asyncio.timeout(0.2) as said.limit:
        with said.paused():
            await asyncio.sleep(0.5)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01) as said.limit:
            with said.paused():
                pass
            await asyncio.sleep(60)


WORDS = st.lists(st.text("abcdefghij-_/:", min_size=1, max_size=70), max_size=20).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(*[WORDS] * 4), max_size=5), st.sampled_from(["", "  "]), WORDS)
def test_no_word_is_cut_at_a_terminal_of_80_columns(rows: list[tuple[str, ...]], indent: str, line: str) -> None:
    main, inner = pty.openpty()
    with os.fdopen(inner, "w") as terminal, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        patch.setenv("COLUMNS", "80")
        shown, text = table(("uri", "name", "type", "description"), rows, indent), wrapped(f"capabilities  {line}")
    os.close(main)
    found = shown.split()
    assert all(word in found for row in rows for cell in row for word in cell.split())
    assert text.split() == ["capabilities", *line.split()]
    assert max(map(len, [*shown.splitlines(), *text.splitlines()])) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "label"), [("check", "2025-11-25: ping.answered"), ("host", "connecting talkative")]
)
def test_a_terminal_shows_what_a_long_command_does(
    command: str, label: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = {"command": sys.executable, "args": ["-m", "mcp_runtime", str(TALKATIVE)]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"talkative": server}}))
    checked = ["check", "--only", "ping.answered", "--", sys.executable, *server["args"]]
    words = ["host", str(tmp_path / "mcp.json")] if command == "host" else checked
    monkeypatch.setattr("support.at_terminal.EXAMPLES", Path())
    shown = at_terminal("-m", "mcp_bindgen", *words, answers=[])
    assert f"\r\x1b[2K{label}" in shown
    assert "\x1b" not in (piped := cli(*words)).out + piped.err


@pytest.mark.slow
def test_a_tool_that_needs_sampling_is_told_that_there_is_none(cli: Cli) -> None:
    told = cli("inspect", TALKATIVE, "--call", "sample", expect=2).err
    assert told.endswith("inspecting the server failed: refused: inspect provides no sampling (-1)\n")


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        (
            "@app.tool\ndef f() -> int:\n    return 1\n",
            "server.py:3",
            "tool: write @app.tool(...) with parentheses above f",
        ),
        ("@app.tool()\ndef f(a) -> int:\n    return 1\n", "server.py:3", "tool f: parameter a has no type"),
        (
            "import surely_not_there\n",
            "server.py:3",
            "ModuleNotFoundError: No module named 'surely_not_there'; install it where this command runs",
        ),
        ("app.run('htpp')\n", "server.py:3", "there is no transport 'htpp'; use 'stdio' or 'http'"),
        (
            "from mcp_bindings import Image\nImage(b'abc')\n",
            "server.py:4",
            "Image: the bytes have no known format; pass",
        ),
        ("def f(:\n", "server.py:3", "invalid syntax"),
        ("del app\n", "server.py", "no App or Server instance found; define one, for example app = App('name')"),
    ],
)
def test_a_file_that_cannot_be_served_is_one_line_with_its_place(
    text: str, place: str, reason: str, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "server.py").write_text(f"from mcp_bindings import App\napp = App('x')\n{text}")
    told = cli("inspect", tmp_path / "server.py", expect=2).err
    assert told.startswith(f"error: {tmp_path / place}: {reason}") and told.count("\n") == 1


MISTAKEN = """from mcp_bindings import App, Context, Image
app = App('x')
@app.tool()
async def form(ctx: Context) -> str:
    'Do.'
    return repr(await ctx.elicit('?', dict))
@app.tool()
def image() -> Image:
    'Do.'
    return Image(b'abc')
@app.tool()
def number() -> str:
    'Do.'
    return 1
"""


@pytest.mark.parametrize(
    ("tool", "line", "reason"),
    [
        ("form", 6, "dict is not a form: it must be a string, a number, a boolean or a choice"),
        ("image", 10, "Image: the bytes have no known format; pass mime_type='image/...'"),
        ("number", 11, "returned int, declared str: Input should be a valid string"),
    ],
)
def test_a_mistake_in_a_tool_is_one_line_with_its_place(
    tool: str, line: int, reason: str, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "server.py").write_text(MISTAKEN)
    told = cli("inspect", tmp_path / "server.py", "--call", tool, expect=1).err.splitlines()
    assert told[0] == "the server printed:" and len(told) == 2
    assert f"{tmp_path / 'server.py'}:{line}" in told[1] and reason in told[1]


def test_a_name_that_clients_may_refuse_is_a_note(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "server.py").write_text(
        "from mcp_bindings import App\napp = App('x')\n@app.tool(name='my tool!')\ndef f() -> int:\n    return 1\n"
    )
    notes = cli("inspect", tmp_path / "server.py", "--format", "json").json["notes"]
    assert notes == [
        "tools/list: clients may refuse the name 'my tool!'; it may have 1 to 128 of A-Z, a-z, 0-9, _, - and ."
    ]


def test_a_tool_that_takes_no_arguments_says_so(tmp_path: Path, cli: Cli) -> None:
    tool = "@app.tool()\ndef now() -> str:\n    'Say it.'\n    return 'now'\n"
    (tmp_path / "server.py").write_text(f"from mcp_bindings import App\napp = App('x')\n{tool}")
    error = cli("inspect", "--call", "now", "zone=x", tmp_path / "server.py", expect=2).err
    assert error == "error: zone: now has no argument of that name; it takes no arguments\n"


BREAKING = Path(__file__).with_name("breaking.py")
VIOLATIONS = {
    "print": (
        ": /: not JSON: expected value at line 1 column 1; if the server printed it, use print(..., file=sys.stderr)",
        "\n    starting",
    ),
    "level": (", notifications/message: /params/level: Input should be 'debug', 'info',", " 'alert' or 'emergency'"),
    "token": (", notifications/progress: /params/progressToken: the progress token 77 does not belong to an open", ""),
    "answer": (", id 99: /id: received an answer for 99, which is not an open request", ""),
    "undeclared": (", notifications/tools/list_changed: /method: needs the capability server.tools.listChanged,", ""),
    "request": (", sampling/createMessage, id 7: /params/messages: Input should be a valid list", ""),
    "tool": (", tools/list, id 3: /result/tools/1/inputSchema: Field required", ""),
}


@pytest.mark.parametrize("way", VIOLATIONS)
def test_a_violation_is_reported_once_as_by_proxy(way: str, cli: Cli) -> None:
    start, end = VIOLATIONS[way]
    done = cli("inspect", "--", sys.executable, BREAKING, way, way)
    assert done.err.startswith(f"server to client{start}") and end in done.err and "(2025-11-25)\n" in done.err
    assert done.err.count("\n") == 1 + end.count("\n")
    assert "fine" in done.out


def test_every_violation_has_its_line(cli: Cli) -> None:
    printed = cli("inspect", "--", sys.executable, BREAKING, *VIOLATIONS).err
    assert printed.count("server to client") == len(VIOLATIONS)
    assert [start for start, _ in VIOLATIONS.values() if f"server to client{start}" not in printed] == []


def test_a_message_that_is_too_long_is_still_reported(cli: Cli) -> None:
    done = cli("inspect", "--", sys.executable, BREAKING, "long")
    assert "more than 16777216 bytes was skipped" in done.err and done.err.count("\n") == 1


def test_a_violation_that_ends_the_visit_is_reported_once(cli: Cli) -> None:
    done = cli("inspect", "--", sys.executable, BREAKING, "info", expect=2)
    assert done.err.endswith("initialize of 2025-11-25: /serverInfo/version: Field required\n")
    assert done.err.count("Field required") == 1


def test_a_server_that_keeps_the_protocol_gets_no_line(cli: Cli) -> None:
    assert cli("inspect", "--", sys.executable, BREAKING).err == ""


TASKS = """
from mcp_bindings import App
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
app = App("x", extensions=[Tasks(MemoryTaskStore(poll_interval=0.1))])
@app.tool(task="required")
async def bake() -> str:
    "Bake."
    return "baked"
"""


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_tool_that_must_run_as_a_task_is_called(revision: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "server.py").write_text(TASKS)
    done = cli("inspect", tmp_path / "server.py", "--call", "bake", "--revision", revision)
    assert done.out.startswith("baked\n") and done.err == ""


LEAVING = """
import os
from mcp_bindings import App
app = App("x")
@app.tool()
def leave() -> str:
    "Leave."
    os._exit(0)
"""


def test_a_server_that_ends_during_a_call_gets_no_advice_on_serving(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "server.py"
    path.write_text(LEAVING)
    error = cli("inspect", path, "--call", "leave", expect=2).err
    assert error.startswith(f"error: {path}: inspecting the server failed: ")
    assert error.endswith("exited with status 0\n") and "app.run()" not in error
