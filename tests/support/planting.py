"""Faults planted in a copy of the runtime, to check that the tests of a requirement detect them.

The rows are in tests/requirements/planted.toml: a file, the text to replace, the new text, and the broken requirement.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.requirement_table import proof_of, rows

ROOT: Final = Path(__file__).resolve().parents[2]
RUNTIME: Final = ROOT / "runtime" / "mcp_runtime"
TABLE: Final = ROOT / "tests" / "requirements" / "planted.toml"
SECONDS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        requirement: the id of the requirement that it breaks.
        file: the file of the runtime to change.
        find: the text to replace, which occurs once in the file.
        put: the replacement, which is the fault.
    """

    requirement: str
    file: str
    find: str
    put: str

    def planted(self) -> str:
        """Return the file with the fault.

        Raises:
            ValueError: the text does not occur exactly once.
        """
        text = (RUNTIME / self.file).read_text("utf-8")
        if text.count(self.find) != 1:
            raise ValueError(f"{self.file} contains this text {text.count(self.find)} times, not once: {self.find}")
        return text.replace(self.find, self.put)

    def tests(self) -> list[str]:
        """Return the tests of the requirement: those written for it, or others that show it."""
        shown = [test.node for test in proof_of(rows()[self.requirement])]
        return [node for node in shown if "/requirements/" in node] or shown


def faults() -> list[Fault]:
    """Read the table."""
    return [Fault(**row) for row in tomllib.loads(TABLE.read_text("utf-8"))["fault"]]


def run_with(fault: Fault | None, tests: list[str], folder: Path) -> tuple[bool, str]:
    """Run tests against a copy of the runtime, with a fault in it or none; returns whether they passed, and the output.

    Raises:
        RuntimeError: the tests could not be run.
    """
    shutil.copytree(RUNTIME, folder / RUNTIME.name, ignore=shutil.ignore_patterns("__pycache__"))
    if fault is not None:
        (folder / RUNTIME.name / fault.file).write_text(fault.planted(), "utf-8")
    path = os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout=30", *tests]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode not in (0, 1) or "error" in done.stdout.splitlines()[-1]:
        raise RuntimeError(f"the tests did not run:\n{done.stdout}{done.stderr}")
    return done.returncode == 0, done.stdout
