"""The code in the README and the pages about the runtime runs, prints what they say, and has no type errors."""

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from mcp_runtime import errors
from mcp_runtime.limits import Limits
from mcp_runtime.transports.stdio_client import DEFAULT_MAX_MESSAGE_BYTES
from support.documents import ROOT, Program, programs

PAGES = (
    "README.md",
    "docs/app.md",
    "docs/testing.md",
    "docs/models.md",
    *(f"docs/{page}.md" for page in "servers clients questions revisions tasks logging middleware extensions".split()),
    "docs/errors.md",
    "docs/transports.md",
    "docs/http.md",
)
PROGRAMS = [pytest.param(program, id=f"{page}: {program.title}") for page in PAGES for program in programs(page)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_prints_what_the_page_says(program: Program, tmp_path: Path) -> None:
    program.write(tmp_path)
    command = [sys.executable, program.entry]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == program.output
    assert done.stderr == ""


def test_it_has_no_type_errors(tmp_path: Path) -> None:
    for number, param in enumerate(PROGRAMS):
        program = param.values[0]
        assert isinstance(program, Program)
        program.write(tmp_path / f"program{number}")
    roots = [str(ROOT / folder) for folder in ("runtime", "generated")]
    # Functions and variables in a page may be there to be read only, and imports for a section further down.
    rules = ("reportUnusedVariable", "reportUnusedClass", "reportUnusedFunction", "reportUnusedImport")
    unused = dict.fromkeys(rules, "none")
    environments = [{"root": str(path), "extraPaths": roots} for path in sorted(tmp_path.glob("program*"))]
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "executionEnvironments": environments, **unused}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout


def test_every_page_has_code_that_runs() -> None:
    for page in PAGES:
        assert any(program.output for program in programs(page)), page


def test_the_page_on_limits_has_the_defaults_of_all_settings() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8").partition("| option |")[2]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", page, re.MULTILINE)
    documented = {
        name.strip("`"): value.strip("`").replace(",", "")
        for names, values in rows
        for name, value in zip(names.split(", "), values.split(", "), strict=True)
    }
    defaults = {
        setting.name: f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)
        for setting in fields(Limits)
        if setting.name != "trace"
    }
    size = DEFAULT_MAX_MESSAGE_BYTES // 1024**2
    assert documented == {**defaults, "max_message_bytes": f"{size} MiB"}


def test_the_page_on_errors_has_all_that_a_conversation_raises() -> None:
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    # The bases are raised by nobody; that bindings do not fit the runtime is found out before any conversation.
    left_out = {errors.McpError, errors.ProtocolViolation, errors.BindingFormatError}
    found = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.McpError)}
    raised = {error.__name__ for error in found - left_out}
    assert len(raised) > 5 and raised <= set(re.findall(r"`([A-Z]\w+)", page))
