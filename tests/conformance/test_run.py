"""A scenario without successful checks does not pass."""

import pytest

from conformance.run import problem_of


def check(status: str) -> dict[str, str]:
    return {"id": "a-check", "status": status, "description": "It works"}


@pytest.mark.parametrize(
    ("statuses", "problem"),
    [
        (["SUCCESS", "INFO", "SKIPPED"], ""),
        ([], "nothing succeeded"),
        (["INFO", "SKIPPED"], "nothing succeeded"),
        (["SUCCESS", "FAILURE"], "FAILURE a-check: It works"),
        (["SUCCESS", "WARNING"], "WARNING a-check: It works"),
    ],
)
def test_a_scenario_passes_only_by_success(statuses: list[str], problem: str) -> None:
    assert problem_of([check(status) for status in statuses]) == problem
