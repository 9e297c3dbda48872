"""Comparing revisions: CPU seconds for each pair of adjacent revisions, from the shipped files to proven findings."""

import json
from collections.abc import Iterator
from statistics import median

from measure import HERE, Row, at_most, clean_environment, run_python

CHILD = str(HERE / "differences_child.py")


def measure(quick: bool) -> Iterator[Row]:
    rounds: list[dict[str, float]] = []
    with clean_environment() as environment:
        # The first round fills the bytecode cache.
        for number in range(2 if quick else 4):
            answer = json.loads(run_python([CHILD], environment).output)
            if number:
                rounds.append(answer)
    for pair in rounds[0]:
        seconds = median(answer[pair] for answer in rounds)
        yield Row(what=f"diff {pair}", unit="s", ours=seconds, judged=((seconds, at_most(1, " s")),))
