"""What each test costs, in CPU seconds of its process and of the processes that it started and waited for.

`make test-times` runs the quick tier with `--times`; then this module says what is too dear:

    python -m support.times FILE
"""

import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

TIER_BUDGET: Final = 230.0
"""CPU seconds that the quick tier may take in all, collection included."""

TEST_BUDGET: Final = 1.0
"""CPU seconds that a test may take without the marker `slow`."""

WORKER_KEY: Final = "times"
TOTAL: Final = "total"


spent_elsewhere = 0.0
"""CPU seconds of processes that other processes started for the tests (`support.programs`)."""

spent_on_all = 0.0
"""The same for what serves all tests, and is charged to none."""


def cpu_seconds() -> float:
    """Return the CPU time that this process, its ended children and others on its behalf have taken so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime + spent_elsewhere


class Times:
    """A plugin of pytest that adds up what the tests cost, in this process and in the workers of xdist."""

    def __init__(self, file: Path) -> None:
        """Write the costs to this file at the end, as a JSON object of seconds by test."""
        self._file = file
        self._costs: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = cpu_seconds()
        try:
            return (yield)
        finally:
            self._costs[item.nodeid] += cpu_seconds() - before

    def pytest_testnodedown(self, node: object) -> None:
        output: dict[str, dict[str, float]] = getattr(node, "workeroutput", {})
        for test, seconds in output.get(WORKER_KEY, {}).items():
            self._costs[test] += seconds

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        workers = session.config.getoption("numprocesses", None)
        self._costs[TOTAL] += (
            time.process_time() if workers else cpu_seconds() + spent_on_all
        )  # workers count themselves
        output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[WORKER_KEY] = dict(self._costs)
        else:
            self._file.write_text(json.dumps(self._costs, indent=1), "utf-8")


def too_dear(costs: dict[str, float]) -> list[str]:
    """Return a line for each test that needs the marker `slow`, and one if all tests together take too long."""
    tests = sorted(((seconds, test) for test, seconds in costs.items() if test != TOTAL), reverse=True)
    lines = [f"{seconds:6.1f} s  {test}" for seconds, test in tests if seconds > TEST_BUDGET]
    if costs[TOTAL] > TIER_BUDGET:
        lines.append(f"{costs[TOTAL]:6.1f} s  all tests together; the budget is {TIER_BUDGET:.0f} s")
    return lines


def main(file: Path) -> int:
    """Print what is too dear and the total; returns the exit status, 1 if something is too dear."""
    costs: dict[str, float] = json.loads(file.read_text("utf-8"))
    lines = too_dear(costs)
    if lines:
        print("too dear for the quick tier (CPU time; mark tests as slow, or make them cheaper):", *lines, sep="\n")
    print(f"quick tier: {len(costs) - 1} tests, {costs[TOTAL]:.0f} s of CPU")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
