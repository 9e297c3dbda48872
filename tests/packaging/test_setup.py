"""What `make setup` prints on a machine that lacks something; nothing is installed here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

REPOSITORY = Path(__file__).resolve().parents[2]
# What the script itself calls, besides an interpreter.
TOOLS = ("sh", "env")


def _setup(tmp_path: Path, python: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script on a PATH that has one interpreter, a shell script standing in for python3, and no uv."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (bin_folder / tool).symlink_to(found)
    stand_in = bin_folder / "python3"
    stand_in.write_text(f"#!/bin/sh\n{python}\n", "utf-8")
    stand_in.chmod(0o755)
    return subprocess.run(
        [str(REPOSITORY / "tools" / "scripts" / "venv.sh"), str(tmp_path / "venv"), os.devnull],
        env={"PATH": str(bin_folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


OLD = 'case "$1" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac'
WITHOUT_VENV = 'case "$2" in *ensurepip*) exit 1 ;; *version_info*) exit 0 ;; *) echo unexpected >&2; exit 9 ;; esac'


@pytest.mark.parametrize(
    ("python", "environment", "expected"),
    [
        (OLD, {}, "Python 3.11 or newer is needed, python3 is Python 3.9.2"),
        (OLD, {"PYTHON": "python3"}, "PYTHON=python3 is not a Python 3.11 or newer"),
        (OLD, {"PYTHON": "no-such-python"}, "PYTHON=no-such-python is not a Python 3.11 or newer"),
        (WITHOUT_VENV, {}, "python3 has no venv module or no ensurepip"),
    ],
)
def test_a_missing_prerequisite_is_reported_on_one_line(
    tmp_path: Path, python: str, environment: dict[str, str], expected: str
) -> None:
    done = _setup(tmp_path, python, **environment)
    (line,) = done.stderr.splitlines()
    assert line.startswith("setup: ")
    assert expected in line
    assert done.returncode != 0
    assert not (tmp_path / "venv").exists()
