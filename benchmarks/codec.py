"""Decoding and encoding: microseconds of CPU for one message, with its type known before."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from statistics import median

from measure import (
    PEER_PYTHON,
    Budget,
    Row,
    Samples,
    Worker,
    at_most,
    batch,
    clean_environment,
    faster,
    in_turn,
    mean_of,
    ratio,
)
from messages import SMALL

# What is measured, the cases it is the geometric mean of, and its budgets: against the peer, against the floor.
DECODE: Sequence[tuple[str, tuple[str, ...], tuple[float | None, float | None]]] = (
    *((f"decode {name}", (f"decode:{name}",), (None, None)) for name in SMALL),
    ("decode small, geometric mean", tuple(f"decode:{name}" for name in SMALL), (5, 3.5)),
    ("decode tools/list result, 100 tools", ("decode:tools-result",), (4, 3.2)),
    ("decode tools/call result, 1 MB text", ("decode:text-result",), (1.4, None)),
)
ENCODE: Sequence[tuple[str, tuple[str, ...], tuple[float | None, float | None]]] = (
    ("encode tools/call request", ("encode:call-request",), (4.5, None)),
    ("encode small tools/call result", ("encode:call-result",), (8, None)),
    ("encode tools/list result, 100 tools", ("encode:tools-result",), (5.5, None)),
)
# The same messages, as a receiver reads them that parses first and looks the method up: no budget of its own.
LOOKUP = (
    ("decode small, method looked up, geometric mean", tuple(f"lookup:{name}" for name in SMALL)),
    ("decode tools/list result, method looked up", ("lookup:tools-result",)),
    ("decode tools/call result, 1 MB, method looked up", ("lookup:text-result",)),
)


def decode(quick: bool) -> Iterator[Row]:
    plan = [(what, cases, cases, budgets) for what, cases, budgets in DECODE]
    plan += [(what, cases, _decoding(cases), (None, None)) for what, cases in LOOKUP]
    yield from _rows(plan, quick)


def encode(quick: bool) -> Iterator[Row]:
    yield from _rows([(what, cases, cases, budgets) for what, cases, budgets in ENCODE], quick)


def _decoding(cases: Sequence[str]) -> tuple[str, ...]:
    return tuple(case.replace("lookup:", "decode:") for case in cases)


_Plan = Sequence[tuple[str, tuple[str, ...], tuple[str, ...], tuple[float | None, float | None]]]
"""What; our cases; the cases of the others; the budgets."""


def _rows(plan: _Plan, quick: bool) -> Iterator[Row]:
    samples = _samples(plan, quick)
    for what, own, others, (least_peer, most_floor) in plan:
        ours = mean_of(samples, [f"ours {case}" for case in own])
        floor = mean_of(samples, [f"floor {case}" for case in others])
        peer = mean_of(samples, [f"peer {case}" for case in others]) if PEER_PYTHON else None
        judged: list[tuple[float, Budget]] = []
        if peer and least_peer:
            judged.append((ratio(peer, ours), faster(least_peer)))
        if most_floor:
            judged.append((ratio(ours, floor), at_most(most_floor, "x floor")))
        shown = "" if judged or not peer else f"{ratio(peer, ours):.2f}x faster than peer"
        yield Row(
            what=what,
            unit="us",
            ours=median(ours),
            peer=median(peer) if peer else None,
            floor=median(floor),
            judged=tuple(judged),
            note=shown,
        )


def _samples(plan: _Plan, quick: bool) -> Samples:
    own = {case: None for _, cases, _, _ in plan for case in cases}
    others = {case: None for _, _, cases, _ in plan for case in cases}
    with clean_environment() as environment, ExitStack() as stack:

        def start(side: str, python: str | None = None) -> Worker:
            return stack.enter_context(closing(Worker(side, environment, python)))

        sides = {"ours": (start("ours"), own), "floor": (start("floor"), others)}
        if PEER_PYTHON:
            sides["peer"] = (start("peer", PEER_PYTHON), others)
        target = 0.004 if quick else 0.02
        runs = {
            f"{side} {case}": batch(worker, case, target)
            for case in {**own, **others}
            for side, (worker, has) in sides.items()
            if case in has
        }
        return in_turn(runs, 5 if quick else 15)
