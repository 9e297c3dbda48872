"""`mcp-bindgen host`: what became of each server of a configuration."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from host.serving import program
from support import answering
from support.command import Cli


@pytest.mark.slow
def test_each_server_is_shown_with_its_tools(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    dead = program("dead", "x")
    config.write_text(json.dumps({"mcpServers": {"good": program("good", "1"), "dead": dead}}))
    done = cli("host", config)
    assert "good    ready" in done.out
    assert "  good__whoami" in done.out
    config.write_text(json.dumps({"mcpServers": {"good": program("good", "1"), "dead": {**dead, "required": True}}}))
    done = cli("host", config, "--format", "json", expect=1)
    seen = json.loads(done.out)
    assert "no such luck" in seen["dead"]["error"]
    assert "good__add" in seen["good"]["tools"]


@pytest.mark.parametrize("strange", ["\x1b[2J", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028"])
def test_a_prompt_shows_all_that_it_contains(
    cli: Cli, tmp_path: Path, strange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("no-such-program\n"))
    config = tmp_path / "mcp.json"
    inputs = [{"id": "key", "type": "promptString", "description": f"The{strange}key"}]
    config.write_text(json.dumps({"inputs": inputs, "servers": {"s": {"command": "${input:key}"}}}))
    shown = cli("host", config).err
    assert "key" in shown and strange not in shown and shown.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "mcp.json: is not JSON: EOF while parsing an object at line 1"),
        ('{"mcpServers": ["a"]}', "/mcpServers: must be an object"),
        ("[]", "/: must be an object"),
    ],
)
def test_a_configuration_that_is_wrong_is_one_line(cli: Cli, tmp_path: Path, text: str, error: str) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(text)
    done = cli("host", config, expect=2)
    assert done.out == ""
    assert f"{config}: " in done.err
    assert error in done.err


def test_an_entry_that_is_wrong_and_tools_that_are_not_valid_are_shown(cli: Cli, tmp_path: Path) -> None:
    wrong: list[Any] = [{"name": f"t{number}", "inputSchema": {}} for number in range(22)]
    answers: dict[str, Any] = {"tools/list": {"tools": [*wrong, {"name": "t", "inputSchema": {"type": "object"}}]}}
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    good = {"command": sys.executable, "args": [answering.__file__, str(tmp_path / "answers.json")]}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"good": good, "bad": {"type": "ws"}}}), "utf-8-sig")
    printed = cli("host", config).out
    assert "  good__t\n" in printed
    assert f"{config}: /mcpServers/bad/type: must be stdio, http or sse, not ws" in " ".join(printed.split())
    assert "  good: tools: /tools/0 (t0): /inputSchema/type: Field required\n" in printed
    assert "  good: 2 more items are not valid (--format json has all)" in printed
    assert len(cli("host", config, "--format", "json").json["good"]["unusable"]) == 22
    config.write_text(json.dumps({"mcpServers": {"good": good, "bad": {"type": "ws", "required": True}}}))
    assert "must be stdio, http or sse" in cli("host", config, "--format", "json", expect=1).json["bad"]["error"]


def test_inspect_notes_items_that_are_not_valid(cli: Cli, tmp_path: Path) -> None:
    wrong: list[Any] = [{"name": f"t{number}\x1b", "inputSchema": {"type": "array"}} for number in range(30)]
    answers = {"tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}, *wrong]}}
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    printed = cli("inspect", "--", sys.executable, answering.__file__, str(tmp_path / "answers.json")).out
    assert "1 tool\n" in printed
    assert r"note: tools/list: /tools/1 (t0\x1b): /inputSchema/type: Input should be 'object'" in printed
    assert printed.count("note: ") == 20 and "and 12 more notes (--format json has all)" in printed


def test_a_program_that_never_serves_is_shown_with_a_remedy(cli: Cli, tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-c", "print('no app.run()')"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"a": entry}}))
    seen = json.loads(cli("host", tmp_path / "mcp.json", "--format", "json").out)
    assert seen["a"]["error"].endswith("exited with status 0; it does not serve: is app.run() missing?")
