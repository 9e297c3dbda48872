"""The tests must be able to fail: they have to detect each fault in the tables. `make planted` plants them all."""

import ast
import subprocess

import pytest

from mcp_bindgen.check.requirements import rows
from support.planting import ROOT, Fault, Tier, detect, faults, run_with

FEWEST_BROKEN_REQUIREMENTS = 40
FEWEST_IN_A_FOLDER = 10
FOLDERS = ("ingest", "merge", "emit", "diff")
"""The folders of the generator that need the most faults."""
SAMPLE = 3
"""How many faults a run of the slow tests plants."""


def sample() -> list[Fault]:
    """Return faults that are spread over the tables; each day's commits take the next ones."""
    command = ("git", "show", "-s", "--format=%ct")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    day = int(done.stdout) // 86_400 if done.stdout.strip().isdigit() else 0  # an sdist has no commits
    known = faults()
    step = len(known) // SAMPLE
    return [known[(day + number * step) % len(known)] for number in range(SAMPLE)]


def test_there_are_enough_faults() -> None:
    known = faults()
    assert len({fault.requirement for fault in known if fault.requirement}) >= FEWEST_BROKEN_REQUIREMENTS
    for folder in FOLDERS:
        assert sum(fault.file.startswith(f"{folder}/") for fault in known) >= FEWEST_IN_A_FOLDER
    assert len({(fault.file, fault.put, fault.requirement) for fault in known}) == len(known)


def test_each_fault_can_be_planted_and_has_tests() -> None:
    for fault in faults():
        assert fault.circles()[0], fault
        text = fault.planted()
        if fault.file.endswith(".py"):
            ast.parse(text)


def test_each_broken_requirement_exists() -> None:
    assert {fault.requirement for fault in faults() if fault.requirement} <= rows().keys()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", sample(), ids=lambda fault: fault.name)
def test_a_fault_is_detected(fault: Fault) -> None:
    tier, failed = detect(fault)
    assert tier is not None, f"no test detects that {fault.put!r} replaced {fault.find!r}"
    test = failed.partition(" ")[2].partition("[")[0].partition(" ")[0]
    assert run_with(fault.root, None, (test,), tier) == "", "it also fails without the fault"


@pytest.mark.slow
def test_a_copy_of_the_generator_has_all_its_files() -> None:
    assert run_with("codegen", None, ("tests/cli/test_help.py",), Tier.QUICK) == ""
