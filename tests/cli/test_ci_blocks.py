"""The workflow and the pre-commit block of docs/diff.md, their commands run in a scratch repository."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support.command import Cli
from support.official import official_schema

ROOT = Path(__file__).resolve().parents[2]
DRAFT = Path("schema") / "draft" / "schema.json"
BLOCKS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "diff.md").read_text("utf-8"), re.DOTALL)


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a schema on origin/main, and code that uses bindings."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main")
    DRAFT.parent.mkdir(parents=True)
    DRAFT.write_bytes(official_schema("2025-06-18").read_bytes())
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("from mcp_bindings.v2025_06_18 import Tool\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "start")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    return tmp_path


def require_title() -> None:
    schema = json.loads(DRAFT.read_bytes())
    schema["definitions"]["Tool"]["required"].append("title")
    DRAFT.write_text(json.dumps(schema, indent=2))


def workflow() -> list[str]:
    """Return the arguments of the command that the workflow runs."""
    (line,) = re.findall(r"run: mcp-bindgen (.*)", BLOCKS[0])
    return shlex.split(line)


def hooks() -> dict[str, list[str]]:
    """Return the arguments of each hook of the block, after those of its entry."""
    shipped = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    entries = dict(re.findall(r"- id: (\S+)\n(?:  .*\n)*?  entry: mcp-bindgen (.*)\n", shipped))
    commands: dict[str, list[str]] = {}
    for name, arguments in re.findall(r"- id: (\S+)\n\s+args: \[(.*)\]", BLOCKS[1]):
        commands[name] = [*entries[name].split(), *(a.strip().strip('"') for a in arguments.split(","))]
    return commands


@pytest.mark.usefixtures("repository")
def test_the_workflow_passes_until_a_change_needs_a_new_date(cli: Cli) -> None:
    cli(*workflow())
    require_title()
    out = cli(*workflow(), expect=1).out
    assert "::error title=property-now-required%3A Tool.title,file=schema/draft/schema.json,line=" in out


@pytest.mark.usefixtures("repository")
@pytest.mark.slow
def test_the_hooks_pass_until_something_breaks(cli: Cli) -> None:
    commands_of = hooks()
    assert commands_of.keys() == {"mcp-bindgen-diff", "mcp-bindgen-impact"}
    for arguments in commands_of.values():
        cli(*arguments)
    require_title()
    cli(*commands_of["mcp-bindgen-diff"], expect=1)
    Path("src/app.py").write_text(
        "from mcp_bindings.v2025_06_18 import CancelledNotificationParams\n"
        "def f(params: CancelledNotificationParams) -> None:\n    print(params.request_id)\n"
    )
    cli(*commands_of["mcp-bindgen-impact"], expect=1)
