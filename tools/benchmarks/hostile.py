"""Schemas of strangers: what the slowest and the largest use of a hostile one of 100 KB costs, of all functions."""

import json
from collections.abc import Iterator

from measure import HERE, Row, at_most, clean_environment, run_python

CHILD = str(HERE / "hostile_child.py")
SECONDS = 0.5
MEGABYTES = 100


def measure(quick: bool) -> Iterator[Row]:
    with clean_environment() as environment:
        used: dict[str, list[float]] = json.loads(run_python([CHILD], environment).output)
    for unit, index, most in (("s", 0, SECONDS), ("MB", 1, MEGABYTES)):
        name = max(used, key=lambda use: used[use][index])
        figure = used[name][index]
        yield Row(
            what=f"hostile schema, {name}"[:52],
            unit=unit,
            ours=figure,
            judged=((figure, at_most(most, f" {unit}")),),
        )
