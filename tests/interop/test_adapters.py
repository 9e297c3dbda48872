"""The adapters of examples/adapters: frameworks for agents call the tools of a host."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from interop.processes import SECONDS, TESTS, interpreter

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("agents")]

ROOT = TESTS.parent
ADAPTERS = sorted((ROOT / "examples" / "adapters").glob("*.py"))


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ('{"a": 2, "b": 3.5}', "5.5"),
        ('{"a": 2}', "The arguments of math__sum are wrong: at the top: 'b' is a required property"),
    ],
)
def test_a_framework_calls_a_tool(adapter: Path, arguments: str, answer: str, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    server = {"command": interpreter(""), "args": [str(ROOT / "examples" / "sum_server.py")]}
    dead = {"command": "no-such-server"}
    config.write_text(json.dumps({"mcpServers": {"math": server, "dead": dead}}))
    command = (interpreter("MCP_AGENTS"), str(adapter), str(config), "math__sum", arguments)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("runtime", "generated"))}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SECONDS, env=env, check=False)
    assert done.stdout.strip() == answer, done.stderr[-2000:]


def test_an_adapter_has_at_most_forty_lines() -> None:
    assert len(ADAPTERS) == 3
    assert not [path.name for path in ADAPTERS if len(path.read_text("utf-8").splitlines()) > 40]
