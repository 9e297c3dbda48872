"""Measure what the project costs against the official SDK and against doing nothing: `make bench`.

Never fails on a slow figure: a row says ok or MISS, and the exit status is 0 unless something is broken.
"""

import argparse
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import bridging
import codec
import decorated
import differences
import generate
import hostile
import import_time
import load
import proxying
import session
from measure import PEER_PYTHON, Row

MEASURES: Mapping[str, Callable[[bool], Iterator[Row]]] = {
    "import": import_time.measure,
    "receive": codec.receive,
    "encode": codec.encode,
    "generate": generate.measure,
    "diff": differences.measure,
    "bridge": bridging.measure,
    "runtime": session.measure,
    "http": load.measure,
    "app": decorated.measure,
    "proxy": proxying.measure,
    "hostile": hostile.measure,
}
COLUMNS = "{:<52} {:>10} {:>10} {:>10}  {:<22} {:<24} {}"


def shown(row: Row) -> Iterator[str]:
    """Format a row; each further budget has its own line."""
    figures = [_figure(value, row.unit) for value in (row.ours, row.peer, row.floor)]
    ratios = [
        (f"{value:.2f}{budget.unit}", str(budget), "ok" if budget.holds(value) else "MISS")
        for value, budget in row.judged
    ]
    first, *more = ratios or [(row.note, "", "")]
    yield COLUMNS.format(row.what, *figures, *first).rstrip()
    for entry in more:
        yield COLUMNS.format("", "", "", "", *entry).rstrip()


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=[*MEASURES],
        help=f"one of {', '.join(MEASURES)}; may be repeated",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows there too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a first impression")
    arguments = parser.parse_args()
    if "http" in (arguments.only or MEASURES) and (reason := load.missing()):
        parser.error(f"{reason}; or choose other rows with --only")

    where = f"Python {platform.python_version()}, pydantic {version('pydantic')}, {platform.machine()}"
    peer = "mcp 2.3.0" if PEER_PYTHON else "none, set MCP_BENCH_PYTHON"
    print(f"{where}; CPU time unless a row says otherwise, medians; peer: {peer}")
    rows: list[Row] = []
    print(COLUMNS.format("what", "ours", "peer", "floor", "ratio", "budget", "").rstrip())
    for name in arguments.only or MEASURES:
        for row in MEASURES[name](arguments.quick):
            rows.append(row)
            for line in shown(row):
                print(line, flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(
            json.dumps({"where": where, "rows": [row.as_json() for row in rows]}, indent=2) + "\n", "utf-8"
        )
    missed = sum(row.verdict() == "MISS" for row in rows)
    print(f"{missed} of {sum(bool(row.judged) for row in rows)} budgets missed" if missed else "every budget met")


if __name__ == "__main__":
    main()
