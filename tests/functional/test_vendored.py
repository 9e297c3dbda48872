"""Models work without the runtime if its `model` module is vendored as docs/bindings.md says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Cli
from support.documents import ROOT

PROGRAM = """
import sys
sys.modules["mcp_runtime"] = None
import acme.mcp as mcp
tool = mcp.Tool.model_validate_json(b'{"name": "a", "inputSchema": {"type": "object"}, "x": 1}')
print(tool.model_dump_json())
print(mcp.ImageContent(data="aGk=", mime_type="image/png").bytes)
missing = []
for name in mcp.__all__:
    try:
        getattr(mcp, name)
    except ImportError:
        missing.append(name)
print(len(mcp.__all__) - len(missing) > 150, "Client" in missing, "Tool" in missing)
"""


@pytest.mark.slow
def test_models_read_and_write_with_a_vendored_model_module(cli: Cli, tmp_path: Path) -> None:
    cli("generate", "2025-11-25", "--package", "acme.mcp")
    page = (ROOT / "docs" / "bindings.md").read_text("utf-8")
    steps = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)[0].partition("\n")[2]
    script = steps.replace("$(python ", f"$({sys.executable} ")
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, check=True)
    assert "mcp_runtime" not in "".join(path.read_text("utf-8") for path in (tmp_path / "acme").rglob("*.py"))
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        '{"name":"a","inputSchema":{"type":"object"},"x":1}',
        "b'hi'",
        "True True False",
    ]
