"""Rows of the runtime: whole conversations, in memory, over stdio and over HTTP, of ours and of the peer, in turn.

CPU seconds are those of both ends of a conversation together; the floor is lines echoed between two processes.
"""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import TypeAlias

from measure import PEER_PYTHON, Budget, Row, Worker, at_most, clean_environment, faster, in_turn_of, ratio

Figures: TypeAlias = Mapping[str, float]
Rounds: TypeAlias = Sequence[Figures]

SEQUENTIAL = 1000
CONCURRENT = 6400
QUEUED = 10_000
SESSIONS = 300
LARGE = 10_000_000
LISTED = 100
SENT = 30
POSTED = 500


class Side(Worker):
    """A process that holds the conversations of one side ready; its cases are ``between:work``."""

    program = "session_worker.py"

    def figures(self, case: str, number: int) -> Figures:
        answered: Figures = json.loads(self.ask(f"{case} {number}"))
        return answered


@contextmanager
def _sides() -> Generator[dict[str, Side]]:
    """Start every available side."""
    with ExitStack() as stack:
        environment = stack.enter_context(clean_environment())
        sides = {"ours": Side("session_ours", environment), "floor": Side("session_floor", environment)}
        if PEER_PYTHON:
            sides["peer"] = Side("session_peer", environment, PEER_PYTHON)
        for side in sides.values():
            stack.callback(side.close)
        yield sides


def measure(quick: bool) -> Iterator[Row]:
    """Measure all of them; `quick` runs fewer rounds."""
    with _sides() as sides:
        rounds = 3 if quick else 9
        yield from _memory(sides, rounds)
        yield from _stdio(sides, rounds)
        yield from _http(sides, rounds)
        yield from _idle(sides, rounds)
        yield from _queued(sides, max(2, rounds // 3))
        yield from _large(sides, rounds)


def _run(sides: Mapping[str, Side], case: str, number: int, rounds: int) -> Mapping[str, Rounds]:
    """Run one case of every side that has it, in turn."""
    between = case.partition(":")[0]
    runs = {
        name: (lambda side=side: side.figures(case, number)) for name, side in sides.items() if between in side.cases
    }
    return in_turn_of(runs, rounds)


def _each(rounds: Rounds | None, name: str, factor: float) -> list[float]:
    return [figures[name] * factor for figures in rounds or ()]


def _row(what: str, unit: str, found: Mapping[str, Sequence[float]], budgets: Sequence[Budget], note: str = "") -> Row:
    """Make a row from each side's figures per round; the unit of a budget says which ratio it bounds."""
    ours, peer, floor = (found.get(name) or None for name in ("ours", "peer", "floor"))
    assert ours is not None
    judged: list[tuple[float, Budget]] = []
    for budget in budgets:
        if budget.unit == f" {unit}":
            judged.append((median(ours), budget))
        elif budget.least and peer:
            judged.append((ratio(peer, ours), budget))
        elif not budget.least and floor:
            judged.append((ratio(ours, floor), budget))
    figures = {name: median(samples) if samples else None for name, samples in (("peer", peer), ("floor", floor))}
    return Row(what=what, unit=unit, ours=median(ours), **figures, judged=tuple(judged), note=note)


def _memory(sides: Mapping[str, Side], rounds: int) -> Iterator[Row]:
    cases = {"ours": "memory", "peer": "memory", "streams": "streams"}
    runs = {
        name: (lambda side=side, between=between: side.figures(f"{between}:sequential", SEQUENTIAL))
        for name, between in cases.items()
        if (side := sides.get("ours" if name == "ours" else "peer")) is not None
    }
    found = in_turn_of(runs, rounds)
    cpu = {name: _each(found.get(name), "cpu", 1e6 / SEQUENTIAL) for name in cases}
    yield _row("tools/call in memory; peer: direct calls", "us", cpu, (faster(3.5), at_most(30, " us")))
    over_streams = {"ours": cpu["ours"], "peer": cpu["streams"]}
    yield _row("tools/call in memory; peer: over streams", "us", over_streams, (faster(6),))
    yield _eras("tools/call in memory, modern", sides["ours"], "modern", "memory", (SEQUENTIAL, rounds))


def _stdio(sides: Mapping[str, Side], rounds: int) -> Iterator[Row]:
    for work, number, budgets, quickest in (
        ("sequential", SEQUENTIAL, (faster(12), at_most(2.5, "x floor")), (faster(6), at_most(2.5, "x floor"))),
        ("concurrent", CONCURRENT, (faster(15), at_most(45, " us")), (faster(15),)),
    ):
        found = _run(sides, f"stdio:{work}", number, rounds)
        name = work if work == "sequential" else "64 at once"
        for clock, shown, judged in (("cpu", "CPU", budgets), ("wall", "wall clock", quickest)):
            each = {side: _each(figures, clock, 1e6 / number) for side, figures in found.items()}
            yield _row(f"tools/call over stdio, {name}, {shown}", "us", each, judged)
    talking = {name: side for name, side in sides.items() if name != "floor"}
    for work, number, shown, least in (
        ("tools", LISTED, "tools/list of 100 over stdio, CPU", 6),
        ("text", SENT, "tools/call result of 1 MB with quotes over stdio, CPU", 3),
    ):
        found = _run(talking, f"stdio:{work}", number, rounds)
        yield _row(
            shown, "us", {side: _each(each, "cpu", 1e6 / number) for side, each in found.items()}, (faster(least),)
        )


def _http(sides: Mapping[str, Side], rounds: int) -> Iterator[Row]:
    found = _run(sides, "http:sequential", POSTED, rounds)
    cpu = {side: _each(figures, "cpu", 1e6 / POSTED) for side, figures in found.items()}
    yield _row("tools/call over HTTP, own client and server", "us", cpu, (faster(2),))
    yield _eras(
        "tools/call over HTTP, own client and server, modern", sides["ours"], "http-modern", "http", (POSTED, rounds)
    )


def _eras(what: str, ours: Side, modern: str, legacy: str, count: tuple[int, int]) -> Row:
    """Measure a call of the modern era beside one of the legacy era; ``count`` is how many, and the rounds."""
    number, rounds = count
    cases = (("ours", modern), ("floor", legacy))
    runs = {era: (lambda between=between: ours.figures(f"{between}:sequential", number)) for era, between in cases}
    each = {era: _each(found, "cpu", 1e6 / number) for era, found in in_turn_of(runs, rounds).items()}
    return _row(f"{what}; floor: legacy", "us", each, (at_most(1.15, "x floor"),))


def _idle(sides: Mapping[str, Side], rounds: int) -> Iterator[Row]:
    # Memory released by sessions is reused: only the first round shows how much they need.
    first = {name: side.figures("memory:idle", SESSIONS) for name, side in sides.items() if "memory" in side.cases}
    found = _run(sides, "memory:idle", SESSIONS, rounds)
    opening = {side: _each(figures, "cpu", 1e3 / SESSIONS) for side, figures in found.items()}
    yield _row("open a session in memory, both ends", "ms", opening, (at_most(0.2, " ms"),))
    size = {side: [figures["rise"] / SESSIONS / 2] for side, figures in first.items()}
    yield _row("idle session, each end", "KB", size, (at_most(8, " KB"),))
    tasks = {side: [figures["tasks"]] for side, figures in first.items()}
    yield _row("idle session, tasks", "", tasks, (at_most(1, " "),))


def _queued(sides: Mapping[str, Side], rounds: int) -> Iterator[Row]:
    found = _run(sides, "stdio:queued", QUEUED, rounds)
    wall = {side: _each(figures, "wall", 1) for side, figures in found.items()}
    yield _row("10,000 requests queued over stdio, wall clock", "s", wall, (at_most(1.3, " s"),))
    for name, shown in (("rise", "client"), ("server_rise", "server")):
        rise = {side: [max(_each(figures, name, 1 / 1024))] for side, figures in found.items()}
        yield _row(f"10,000 requests queued, memory of the {shown}", "MB", rise, (at_most(30, " MB"),))


def _large(sides: Mapping[str, Side], rounds: int) -> Iterator[Row]:
    found = _run(sides, "stdio:large", LARGE, rounds)
    wall = {side: _each(figures, "wall", 1e3) for side, figures in found.items()}
    yield _row("10 MB echoed over stdio, wall clock", "ms", wall, (at_most(130, " ms"),))
    for name, shown in (("rise", "client"), ("server_rise", "server")):
        rise = {side: [max(_each(figures, name, 1024 / LARGE))] for side, figures in found.items()}
        yield _row(f"10 MB echoed, memory of the {shown}", "x size", rise, (at_most(5, " x size"),))
