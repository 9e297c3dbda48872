"""The worker process of `measure.Worker`: times the cases of one side, in the interpreter that runs it."""

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import repeat
from time import process_time_ns


def cpu_time(run: Callable[[], object], number: int) -> int:
    """Return the nanoseconds of CPU time that this many calls take, with the collector on as in any program."""
    # Some cases first have to create their input, which is not timed.
    if (ready := getattr(run, "ready", None)) is not None:
        ready(number)
    gc.collect()
    start = process_time_ns()
    for _ in repeat(None, number):
        run()
    return process_time_ns() - start


def main() -> None:
    # A side is a module next to this one, whose `cases()` returns its cases.
    cases: dict[str, Callable[[], object]] = import_module(sys.argv[1]).cases()
    print(*cases, flush=True)
    for line in sys.stdin:
        case, number = line.split()
        print(cpu_time(cases[case], int(number)), flush=True)


if __name__ == "__main__":
    main()
