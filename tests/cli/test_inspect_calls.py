"""`mcp-bindgen inspect`: bounds of arguments, and what a terminal shows while a call runs."""

from pathlib import Path
from typing import Any

import pytest

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
    shown = at_terminal(*words, answers=[]).replace("\r", "").splitlines()
    assert shown[:4] == [
        "progress: 1 of 2: half",
        'info: {"a": 1}',
        r"warning: careful\x1b[2J",
        "the server asks its user: How many?: declined, as nobody is asked",
    ]
    assert shown[4] == "no"
    piped = cli("inspect", TALKATIVE, "--revision", revision, "--call", "talk")
    assert (piped.out.splitlines()[0], piped.err) == ("no", "")


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
        ("import surely_not_there\n", "server.py:3", "ModuleNotFoundError: No module named 'surely_not_there'"),
        ("def f(:\n", "server.py:3", "invalid syntax"),
        ("del app\n", "server.py", "no App or Server instance found"),
    ],
)
def test_a_file_that_cannot_be_served_is_one_line_with_its_place(
    text: str, place: str, reason: str, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "server.py").write_text(f"from mcp_bindings import App\napp = App('x')\n{text}")
    told = cli("inspect", tmp_path / "server.py", expect=2).err
    assert told.startswith(f"error: {tmp_path / place}: {reason}") and told.count("\n") == 1
