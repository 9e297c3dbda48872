"""`mcp-bindgen host`: what became of each server of a configuration."""

import json
from pathlib import Path

import pytest

from host.serving import program
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


@pytest.mark.parametrize(
    ("text", "error"),
    [("{", "is not JSON"), ('{"mcpServers": {"a": {}}}', "/mcpServers/a: has neither command nor url")],
)
def test_a_configuration_that_is_wrong_is_one_line(cli: Cli, tmp_path: Path, text: str, error: str) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(text)
    done = cli("host", config, expect=2)
    assert done.out == ""
    assert f"{config}: " in done.err
    assert error in done.err
