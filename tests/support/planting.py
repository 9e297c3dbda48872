"""Faults planted in a copy of the runtime or the generator, to check that the tests detect them.

The rows are in tests/planted: a file, the text to replace and the new text; in the runtime also the broken requirement.
`make planted` plants every fault, and says which tier of the tests detects how many:

    python -m support.planting [WORD ...]

With words, only the faults whose file or requirement contains one of them are planted.
"""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.check.requirements import rows
from support.requirement_table import proof_of

ROOT: Final = Path(__file__).resolve().parents[2]
TABLES: Final = ROOT / "tests" / "planted"
PACKAGES: Final = {"runtime": "mcp_runtime", "codegen": "mcp_bindgen"}
"""The source roots that have a table of faults, and the package in each."""
DATA: Final = ("templates", "schema", "docs")
"""The folders of the repository that the generator looks for in its package first, as in a wheel."""
SECONDS: Final = 1800
"""The timeout of one run of tests."""
QUICK_SHARE: Final = 0.9
"""How many of the faults the quick tier has to detect."""

_OWN: Final = "not packaging and not interop and not soak"


class Tier(StrEnum):
    """A tier of the tests, named after the command that runs it."""

    QUICK = "make test"
    ALL = "make test-all"


OPTIONS: Final = {
    Tier.QUICK: ("-m", f"not slow and {_OWN}"),
    Tier.ALL: ("-m", _OWN, "--cases", "3000"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        root: the source root of the file.
        file: the file to change, below the package; in `DATA`, below the repository.
        find: the text to replace, which occurs once in the file.
        put: the replacement, which is the fault.
        requirement: the id of the requirement that it breaks; empty for the generator.
        tests: the tests that are nearest to it, if they are not those of the requirement or of the folder.
    """

    root: str
    file: str
    find: str
    put: str
    requirement: str = ""
    tests: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the fault is called in reports."""
        return f"{self.requirement or self.root} in {self.file}"

    def planted(self) -> str:
        """Return the file with the fault.

        Raises:
            ValueError: the text does not occur exactly once, or stays as it is.
        """
        is_data = self.file.partition("/")[0] in DATA
        path = (ROOT if is_data else ROOT / self.root / PACKAGES[self.root]) / self.file
        text = path.read_text("utf-8")
        if text.count(self.find) != 1:
            raise ValueError(f"{self.file} contains this text {text.count(self.find)} times, not once: {self.find}")
        if self.find == self.put:
            raise ValueError(f"this fault of {self.file} changes nothing: {self.find}")
        return text.replace(self.find, self.put)

    def circles(self) -> tuple[tuple[str, ...], ...]:
        """Return the tests to run, the nearest first: those of the requirement or of the folder, then all."""
        if self.tests:
            return self.tests, ("tests",)
        if self.requirement:
            shown = tuple(test.node for test in proof_of(rows()[self.requirement]))
            return tuple(node for node in shown if "/requirements/" in node) or shown, ("tests",)
        folder = f"tests/{self.file.partition('/')[0]}"
        near = folder if (ROOT / folder).is_dir() else "tests/emit"
        return (near,), ("tests/functional", "tests/cli", "tests/bridge", "tests/diff", "tests/tools"), ("tests",)


def faults() -> list[Fault]:
    """Read the tables."""
    tables = {root: tomllib.loads((TABLES / f"{root}.toml").read_text("utf-8")) for root in PACKAGES}
    return [_fault(root, row) for root, table in tables.items() for row in table["fault"]]


def _fault(root: str, row: dict[str, Any]) -> Fault:
    return Fault(root=root, tests=tuple(row.pop("tests", ())), **row)


@contextmanager
def copied(root: str, fault: Fault | None) -> Generator[str]:
    """Copy a package, with a fault in it or none; yields the folder for PYTHONPATH."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / PACKAGES[root]
        # With the byte code, which stays valid for the files that do not change.
        shutil.copytree(ROOT / root / PACKAGES[root], copy)
        if root == "codegen":
            for name in DATA:
                shutil.copytree(ROOT / name, copy / name)
        if fault is not None:
            (copy / fault.file).write_text(fault.planted(), "utf-8")
        yield folder


def run_with(root: str, fault: Fault | None, tests: Sequence[str], tier: Tier) -> str:
    """Run tests against a copy of a package, with a fault in it or none, until the first of them fails.

    Returns:
        The line that reports the failure; empty if all tests pass.

    Raises:
        RuntimeError: the tests could not be run.
    """
    with copied(root, fault) as folder:
        # Nothing else: the Makefile's relative folder fails tests that start programs elsewhere.
        environment = {**os.environ, "PYTHONPATH": folder}
        environment.pop("PYTEST_ADDOPTS", None)
        command = [sys.executable, "-m", "pytest", "-qx", "--tb=line", "-p", "no:cacheprovider"]
        command += [*OPTIONS[tier], *tests]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    # 1: a test fails; 2, or 4 for single tests: while they are collected; 5: the tier has none of these tests.
    if done.returncode in (0, 5):
        return ""
    # With the folder, since a logged error also begins a line.
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]
    if done.returncode not in (1, 2, 4) or not failed:
        raise RuntimeError(f"the tests did not run:\n{done.stdout}{done.stderr}")
    return failed[0]


def detect(fault: Fault) -> tuple[Tier | None, str]:
    """Plant a fault; returns a tier that detects it, if any does, and the test that fails.

    Tests that are near run first, in both tiers: what a slow one detects does not cost a run of all quick ones.
    """
    *near, everything = fault.circles()
    for circles in (near, [everything]):
        for tier, tests in itertools.product(Tier, circles):
            if failed := run_with(fault.root, fault, tests, tier):
                return tier, failed
    return None, "no test fails"


def main(words: Sequence[str]) -> int:
    """Plant the faults and print which tier detects how many; returns the exit status."""
    chosen = [fault for fault in faults() if not words or any(word in fault.name for word in words)]
    by_tier = dict.fromkeys(Tier, 0)
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or 2)) as pool:
        for fault, (tier, failed) in zip(chosen, pool.map(detect, chosen), strict=True):
            print(f"{tier or 'NOT DETECTED'}: {fault.name}: {fault.put.strip()[:60]!r}: {failed[:160]}", flush=True)
            if tier is not None:
                by_tier[tier] += 1
    quick, detected = by_tier[Tier.QUICK], sum(by_tier.values())
    print(f"{Tier.QUICK} detects at least {quick} of {len(chosen)} planted faults ({quick / len(chosen):.0%})")
    print(f"{Tier.ALL} detects {detected} of {len(chosen)}")
    return 0 if detected == len(chosen) and quick >= QUICK_SHARE * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
