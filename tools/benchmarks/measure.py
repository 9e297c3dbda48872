"""Rows of a measurement, and the timing of both sides: alternating, by CPU time, as medians of ratios."""

import os
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from subprocess import PIPE, Popen
from time import perf_counter
from typing import ClassVar, TypeVar

T = TypeVar("T")

HERE = Path(__file__).resolve().parent
PEER_PYTHON = os.environ.get("MCP_BENCH_PYTHON")
"""The interpreter with the peer installed; `make bench` sets it, and without it the peer's columns are empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A bound on a ratio of CPU times; `least` if it is a lower bound, otherwise it is an upper bound."""

    bound: float
    unit: str
    least: bool = False

    def __str__(self) -> str:
        return f"{'>=' if self.least else '<='} {self.bound:g}{self.unit}"

    def holds(self, value: float) -> bool:
        return value >= self.bound if self.least else value <= self.bound


def faster(bound: float) -> Budget:
    """We are at least this many times as fast as the peer."""
    return Budget(bound=bound, unit="x faster than peer", least=True)


def at_most(bound: float, unit: str) -> Budget:
    return Budget(bound=bound, unit=unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: three figures in `unit`, and what was promised about their ratios."""

    what: str
    unit: str
    ours: float | None = None
    peer: float | None = None
    floor: float | None = None
    judged: tuple[tuple[float, Budget], ...] = ()
    """Measured ratios with their budgets."""
    note: str = ""

    def verdict(self) -> str:
        if not self.judged:
            return ""
        return "ok" if all(budget.holds(value) for value, budget in self.judged) else "MISS"

    def as_json(self) -> dict[str, object]:
        judged = [{"ratio": value, "budget": str(budget), "ok": budget.holds(value)} for value, budget in self.judged]
        figures = {"ours": self.ours, "peer": self.peer, "floor": self.floor}
        return {"what": self.what, "unit": self.unit, **figures, "judged": judged, "note": self.note}


Samples = Mapping[str, Sequence[float]]
"""What each round measured, by the name of what was run."""


def in_turn(runs: Mapping[str, Callable[[], float]], rounds: int) -> Samples:
    """Run everything once per round, so that other load affects all equally; the first round does not count."""
    return in_turn_of(runs, rounds)


def in_turn_of(runs: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Do the same with runs that return more than one figure."""
    samples: dict[str, list[T]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        # Every other round is reversed, so that no run always follows the heaviest.
        for name in list(runs) if number % 2 else list(runs)[::-1]:
            figure = runs[name]()
            if number:
                samples[name].append(figure)
    return samples


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median over the rounds."""
    return median(a / b for a, b in zip(above, below, strict=True))


def less(samples: Sequence[float], start: Sequence[float]) -> list[float]:
    """Subtract the bare startup of each round."""
    return [max(sample - base, 1e-9) for sample, base in zip(samples, start, strict=True)]


def mean_of(samples: Samples, names: Sequence[str]) -> list[float]:
    """Return the geometric mean of several runs, round by round."""
    return [geometric_mean(figures) for figures in zip(*(samples[name] for name in names), strict=True)]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a finished process used: CPU and wall-clock seconds, and its output."""

    cpu: float
    wall: float
    output: str


@contextmanager
def clean_environment() -> Generator[dict[str, str]]:
    """Give children one fresh bytecode cache for all sides, and no variables that affect Python or pydantic."""
    with tempfile.TemporaryDirectory(prefix="mcp-bench-") as folder:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PYDANTIC"))}
        yield kept | {
            "PYTHONPYCACHEPREFIX": f"{folder}/pyc",
            "XDG_CACHE_HOME": f"{folder}/cache",
            "PYTHONHASHSEED": "0",
        }


def run_python(arguments: Sequence[str], environment: Mapping[str, str], python: str | None = None) -> Usage:
    """Run an interpreter to its end; the CPU time includes that of its children.

    Raises:
        RuntimeError: it failed.
    """
    start = perf_counter()
    with Popen([python or sys.executable, *arguments], stdout=PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments[0]} failed with status {process.returncode}")
    return Usage(cpu=used.ru_utime + used.ru_stime, wall=perf_counter() - start, output=output)


class Worker:
    """A process that has the cases of one side ready and times them one at a time.

    The protocol is lines: the worker first writes the names of its cases; then it answers every `case number` with the
    nanoseconds of CPU time that this many calls took.
    """

    program: ClassVar[str] = "worker.py"

    def __init__(self, side: str, environment: Mapping[str, str], python: str | None = None) -> None:
        command = [python or sys.executable, str(HERE / self.program), side]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, env=environment, text=True, bufsize=1)
        self.cases = frozenset(self._answer().split())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with status {self._process.wait()}")
        return line

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        return self._answer()

    def seconds(self, case: str, number: int) -> float:
        return int(self.ask(f"{case} {number}")) / 1e9

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def batch(worker: Worker, case: str, target: float) -> Callable[[], float]:
    """Return a run that takes about `target` seconds and returns the microseconds of one call."""
    worker.seconds(case, 10)  # the first call builds what it needs
    number, spent = 1, 0.0
    while spent < target / 4:
        number *= 2
        spent = worker.seconds(case, number)
    number = max(1, round(number * target / spent))
    return lambda: worker.seconds(case, number) / number * 1e6
