"""Help: every page has an example that parses and a page of the documentation that exists, and fits a terminal."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from mcp_bindgen.cli.app import app
from support.at_terminal import at_terminal
from support.command import Cli
from support.documents import ROOT


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Iterate over a command and those below it, each with the words that call it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *path, name)


ALL = dict(commands(get_command(app)))


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_ends_with_an_example_and_a_page(cli: Cli, path: tuple[str, ...]) -> None:
    lines = cli(*path, "--help").out.splitlines()
    example, page = (line.strip() for line in lines[-2:])
    name = page.removeprefix("See also: mcp-bindgen docs ")
    assert (ROOT / "docs" / f"{name}.md").is_file()
    assert example.startswith(" ".join(["Example:  mcp-bindgen", *path]))
    words = shlex.split(example)[2:]
    # Parses the example as a call of the command that it names, which need not be the one with the help: the whole
    # tool has the example of a command.
    command_path = next(found for found in sorted(ALL, key=len, reverse=True) if tuple(words[: len(found)]) == found)
    assert command_path
    ALL[command_path].make_context(command_path[-1], words[len(command_path) :])


@pytest.mark.parametrize("path", [path for path in ALL if not hasattr(ALL[path], "commands")], ids=" ".join)
def test_arguments_and_values_are_named_as_they_are_typed(cli: Cli, path: tuple[str, ...]) -> None:
    help_ = cli(*path, "--help").out
    usage = help_.splitlines()[0]
    assert "{" not in usage and "[[" not in usage and usage.count("...") <= 2
    assert re.findall(r"<(?:str|int|float|list|Path)\b|\bTEXT\b", help_) == []
    for argument in (param for param in ALL[path].params if param.param_type_name == "argument"):
        assert argument.metavar.replace("...", "").isupper() and argument.metavar in usage


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(cli: Cli, path: tuple[str, ...]) -> None:
    assert [line for line in cli(*path, "--help").out.splitlines() if len(line) > 80] == []


def test_the_help_of_the_whole_tool_fits_a_screen(cli: Cli) -> None:
    lines = cli("--help").out.splitlines()
    assert len(lines) <= 36
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage")] == []
    for path, command in ALL.items():
        if len(path) == 1:
            assert any(f" {path[0]} " in line and command.short_help in line for line in lines)
    for task in {command.rich_help_panel for path, command in ALL.items() if len(path) == 1}:
        assert sum(line.startswith(f"  {task} ") for line in lines) == 1


def test_docs_lists_pages_and_shows_one(cli: Cli) -> None:
    listed = cli("docs").out
    assert re.search(r"^start/server +\S", listed, re.MULTILINE) and re.search(
        r"^diff +Breaking changes$", listed, re.MULTILINE
    )
    text = (ROOT / "docs" / "diff.md").read_text("utf-8")
    assert cli("docs", "diff").out == cli("docs", "docs/diff.md").out == text
    # Pages have comments for whoever maintains them.
    assert "<!--" in (ROOT / "docs" / "deployment.md").read_text("utf-8")
    for name in ("deployment", "start/tutorial", "templates"):
        assert "<!--" not in cli("docs", name).out
    assert "did you mean diff" in cli("docs", "dif", expect=2).err


def test_a_terminal_shows_a_page_formatted() -> None:
    command = str(Path(sys.executable).with_name("mcp-bindgen"))
    shown = at_terminal(command, "docs", "testing", answers=[], COLUMNS="80")
    assert "\n# " not in shown and "```" not in shown and "pytest" in shown


UNITS_VARY = {
    "--extension": "an extension to generate may be in a file; one to compare is named",
    "--from": "an older version of the protocol, or a saved list of tools",
    "--out": "a folder, a page, or a module",
}
"""Options whose values differ between commands, and why."""


def test_an_option_has_one_unit_in_all_commands() -> None:
    units: dict[str, set[str | None]] = {}
    for command in ALL.values():
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag:
                units.setdefault(option.opts[0], set()).add(option.metavar)
    assert {name for name, known in units.items() if len(known) > 1} == UNITS_VARY.keys()


WORDS_VARY = {
    "--all": "errata prints every difference; reports of changes show what is harmless",
    "--check": "openapi lists what a document changed, and what it breaks",
    "--extension": "an extension to generate may be in a file; one to compare is named",
    "--fail-on": "impact has changes, diff breaks, and tools check breaks that are not proven",
    "--format": "issue needs an explanation",
    "--from": "an older version of the protocol, or a saved list of tools",
    "--http": "mock serves, run needs an extra for it, and proxy takes clients over it",
    "--lock": "the file to write, to compare with, or to serve",
    "--out": "a folder, a page, or a module",
    "--package": "the package to write, or that of the bindings to use",
    "--revision": "the revision to show, to judge, to speak, or of a schema",
}
"""Options that are described differently by some commands, and why."""


def test_an_option_has_one_name_and_one_description_in_all_commands() -> None:
    words: dict[str, set[str]] = {}
    for path, command in ALL.items():
        for option in command.params:
            if option.param_type_name == "option":
                assert len(option.opts) == 1 + any(len(name) == 2 for name in option.opts), f"{path} {option.opts}"
                words.setdefault(option.opts[0], set()).add(option.help)
    assert {name for name, known in words.items() if len(known) > 1} == WORDS_VARY.keys()


def test_an_option_that_may_be_repeated_says_so() -> None:
    silent = [
        (" ".join(path), option.opts[0])
        for path, command in ALL.items()
        for option in command.params
        if option.param_type_name == "option" and option.multiple and "repeat" not in option.help
    ]
    assert silent == []


def test_run_describes_its_options_as_other_commands_do(cli: Cli) -> None:
    port = next(option for option in ALL["mock",].params if option.opts[0] == "--port")
    assert port.help in " ".join(cli("run", "--help").out.split())
