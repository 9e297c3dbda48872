"""Every block of code on a page is run or checked, or says why not in a comment that readers do not see.

tests/repo/test_documents.py runs programs and sessions. Here the rest is checked: data parses, and listings of commands
name commands, options and make targets that exist.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jinja2
import pytest
from typer.main import get_command

from mcp_bindgen.cli.app import app
from support.documents import ROOT, Block, blocks, is_output, pages

PARSERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": import_module("yaml").safe_load,
    "jinja": jinja2.Environment().parse,
}
MAKEFILES = [ROOT / "Makefile", ROOT / "tools" / "maintainer.mk"]
TARGETS = {name for path in MAKEFILES for name in re.findall(r"^([a-z-]+):", path.read_text("utf-8"), re.MULTILINE)}
COMMANDS: Any = get_command(app)
UNCHECKED = [
    pytest.param(block, id=f"{page}:{block.line}")
    for page in pages()
    for before, block in zip([None, *blocks(page)], blocks(page), strict=False)
    if not (block.reason or block.is_session or block.language == "python" or is_output(before, block))
]


@pytest.mark.parametrize("block", UNCHECKED)
def test_a_block_that_is_not_run_is_data_or_names_commands_that_exist(block: Block) -> None:
    if block.language in PARSERS:
        PARSERS[block.language](block.text)
    elif block.language in ("", "text", "sh"):
        assert is_data(block.text) or all(
            map(exists, block.text.splitlines())
        ), "mark it with <!-- not run: REASON --> on the line before"
    else:
        pytest.fail(f"nothing runs blocks in {block.language}; mark it with <!-- not run: REASON --> before it")


def is_data(text: str) -> bool:
    """Whether an indented block is JSON or TOML."""
    for parse in (json.loads, tomllib.loads):
        try:
            parse(text)
        except ValueError:
            continue
        return True
    return False


def exists(line: str) -> bool:
    """Whether a line calls a make target or a command, with options that it has."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["make"]:
        return {word for word in words[1:] if "=" not in word} <= TARGETS
    if words[:1] != ["mcp-bindgen"]:
        return False
    command, rest = COMMANDS, words[1 : words.index("--") if "--" in words else None]
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return not hasattr(command, "commands") and {word for word in rest if word.startswith("-")} <= {*options, "-"}


@pytest.mark.parametrize(
    "line",
    [
        "make nothing",
        "mcp-bindgen frob",
        "mcp-bindgen tools",
        "mcp-bindgen diff OLD NEW --frob",
        "python x.py",
        "x = 1",
    ],
)
def test_what_does_not_exist_is_noticed(line: str) -> None:
    assert not exists(line)
