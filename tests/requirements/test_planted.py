"""Tests of requirements must be able to fail: they have to detect each fault in a table."""

import ast
import os
from pathlib import Path

import pytest

from support.planting import Fault, faults, run_with
from support.requirement_table import rows

FEWEST = 40
NAMES = {fault: f"{fault.requirement} in {fault.file}" for fault in faults()}
PLANTED = faults() if os.environ.get("LONG") else faults()[::8]
"""All of them take four minutes: `make test-all LONG=1`."""


def test_there_are_enough_faults() -> None:
    assert len(faults()) >= FEWEST
    assert len({fault.requirement for fault in faults()}) >= FEWEST
    assert len({(fault.file, fault.put, fault.requirement) for fault in faults()}) == len(faults())


@pytest.mark.parametrize("fault", faults(), ids=NAMES.get)
def test_each_fault_can_be_planted_and_has_tests(fault: Fault) -> None:
    assert fault.requirement in rows() and fault.tests()
    ast.parse(fault.planted())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", PLANTED, ids=NAMES.get)
def test_each_fault_is_noticed(fault: Fault, tmp_path: Path) -> None:
    passed, said = run_with(fault, fault.tests(), tmp_path)
    assert not passed, f"no test detected that {fault.put!r} replaced {fault.find!r}:\n{said}"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_without_a_fault_the_same_tests_pass(tmp_path: Path) -> None:
    tests = sorted({test for fault in faults() for test in fault.tests()})
    passed, said = run_with(None, tests, tmp_path)
    assert passed, said
