"""A test run counts the official files that it used, and fails if one of them is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import official

TESTS = Path(__file__).resolve().parent


def run(upstream: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "MCP_UPSTREAM": str(upstream)}
    return subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_the_summary_says_how_many_were_used(tmp_path: Path, workers: tuple[str, ...]) -> None:
    for path in official.expected().values():
        copy = tmp_path / path.relative_to(official.upstream().parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("{}", "utf-8")
    test = "tests/cli/test_commands.py::TestVerify::test_bad_input"
    done = run(tmp_path / official.upstream().name, test, *workers)
    assert done.returncode == 0, done.stdout
    assert f"official inputs: 1 of {len(official.expected())} used" in done.stdout


def test_a_missing_file_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "tests/test_official.py", "--collect-only")
    assert done.returncode == 4
    assert f"official files are missing, although their folder exists: {tmp_path}/2024-11-05/schema.json" in done.stderr


@pytest.mark.slow
def test_without_the_folder_tests_skip(tmp_path: Path) -> None:
    done = run(tmp_path / "absent", "tests/cli/test_commands.py::TestVerify::test_bad_input")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout
    assert "official inputs: none" in done.stdout
