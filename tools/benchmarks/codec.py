"""Receiving and encoding: microseconds of CPU for one message."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from statistics import median
from typing import TypeAlias

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

_Plan: TypeAlias = Sequence[tuple[str, tuple[str, ...], tuple[float | None, float | None]]]
"""Name; the cases whose geometric mean it is; its budgets relative to the peer and the floor."""

RECEIVE: _Plan = (
    *((f"receive {name}", (f"receive:{name}",), (None, None)) for name in SMALL),
    ("receive small, geometric mean", tuple(f"receive:{name}" for name in SMALL), (3.2, None)),
    ("receive small, blanks between tokens", tuple(f"blanks:{name}" for name in SMALL), (2.5, None)),
    ("receive tools/list result, 100 tools", ("receive:tools-result",), (3, None)),
    ("receive tools/list result, blanks between tokens", ("blanks:tools-result",), (2.5, None)),
    ("receive tools/call result, 1 MB text", ("receive:text-result",), (3, None)),
    ("receive tools/call result, 1 MB with quotes", ("receive:escaped-result",), (1.5, None)),
    # The scope of the peer's figure above: text to typed values, without a session.
    ("decode small, no session, geometric mean", tuple(f"decode:{name}" for name in SMALL), (None, None)),
    ("decode tools/list result, no session", ("decode:tools-result",), (None, None)),
)
ENCODE: _Plan = (
    ("encode tools/call request", ("encode:call-request",), (4.5, None)),
    ("encode small tools/call result", ("encode:call-result",), (8, None)),
    ("encode tools/list result, 100 tools", ("encode:tools-result",), (5.5, None)),
    ("encode tools/call result, 1 MB with quotes", ("encode:escaped-result",), (None, None)),
)


def receive(quick: bool) -> Iterator[Row]:
    yield from _rows(RECEIVE, quick)


def encode(quick: bool) -> Iterator[Row]:
    yield from _rows(ENCODE, quick)


def _rows(plan: _Plan, quick: bool) -> Iterator[Row]:
    samples = _samples(plan, quick)
    for what, cases, (least_peer, most_floor) in plan:
        ours = mean_of(samples, [f"ours {case}" for case in cases])
        floor = mean_of(samples, [f"floor {case}" for case in cases])
        peer = mean_of(samples, [f"peer {case}" for case in cases]) if PEER_PYTHON else None
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
    every = {case: None for _, cases, _ in plan for case in cases}
    with clean_environment() as environment, ExitStack() as stack:

        def start(side: str, python: str | None = None) -> Worker:
            return stack.enter_context(closing(Worker(side, environment, python)))

        sides = {"ours": start("ours"), "floor": start("floor")}
        if PEER_PYTHON:
            sides["peer"] = start("peer", PEER_PYTHON)
        target = 0.004 if quick else 0.02
        runs = {f"{side} {case}": batch(worker, case, target) for case in every for side, worker in sides.items()}
        return in_turn(runs, 5 if quick else 15)
