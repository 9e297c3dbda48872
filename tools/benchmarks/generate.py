"""Generating: seconds of CPU for all five revisions, from nothing and when nothing changed."""

import json
from collections.abc import Iterator
from statistics import median
from tempfile import TemporaryDirectory

from measure import HERE, Row, at_most, clean_environment, ratio, run_python

CHILD = str(HERE / "generate_child.py")


def measure(quick: bool) -> Iterator[Row]:
    whole: list[float] = []
    black: list[float] = []
    again: list[float] = []
    lines = 0
    with clean_environment() as environment, TemporaryDirectory(prefix="mcp-bench-") as folder:
        # The first round fills the bytecode cache.
        for number in range(2 if quick else 4):
            out = f"{folder}/{number}"
            answer = json.loads(run_python([CHILD, "ours", out], environment).output)
            repeated = run_python(
                ["-m", "mcp_bindgen", "generate", "--quiet", "--out", out, "--package", "bindings"], environment
            )
            if number:
                whole.append(answer["whole"])
                black.append(answer["black"])
                again.append(repeated.cpu)
                lines = answer["lines"]
        run_python(["-W", "ignore", CHILD, "peer", f"{folder}/models-warm"], environment)
        models = run_python(["-W", "ignore", CHILD, "peer", f"{folder}/models"], environment)
    rest = [total - part for total, part in zip(whole, black, strict=True)]
    yield Row(
        what=f"generate five revisions, {lines} lines",
        unit="s",
        ours=median(whole),
        floor=median(black),
        judged=((ratio(whole, black), at_most(1.35, "x floor")),),
    )
    yield Row(
        what="  of that, everything but black", unit="s", ours=median(rest), judged=((median(rest), at_most(1, " s")),)
    )
    yield Row(
        what="generate when nothing changed",
        unit="s",
        ours=median(again),
        judged=((median(again), at_most(0.6, " s")),),
    )
    answer = json.loads(models.output)
    yield Row(
        what=f"datamodel-code-generator, models only, {answer['lines']} lines",
        unit="s",
        peer=answer["whole"],
        floor=answer["black"],
        note="for reference",
    )
