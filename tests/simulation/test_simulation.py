"""Worlds of the simulator, each judged by the oracle; and the oracle's own tables."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.model import LIFECYCLES, Lifecycle, explore, lifecycle, page
from simulation.plant import faults, search
from simulation.simulate import FOUND, KEPT, judge
from simulation.world import make
from support.planting import Fault

PAGE = Path(__file__).parents[2] / "docs" / "lifecycles.md"
SEEDS = 200
AT_ONCE = 25


@pytest.mark.parametrize(
    "first", [0, AT_ONCE, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2 * AT_ONCE, SEEDS, AT_ONCE))]
)
def test_worlds_are_as_they_should_be(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        assert judge(make(seed))[0] == [], f"make simulate SEED={seed}"


@pytest.mark.slow
def test_a_hundred_worlds_use_every_state_and_event() -> None:
    seen = set[tuple[str, str, str]]().union(*(judge(make(seed))[1] for seed in range(100)))
    for table in LIFECYCLES:
        used = {(state, event) for name, state, event in seen if name == table.name}
        assert {event for _, event in used} == set(table.events)
        assert {table.rows[state][event] for state, event in used} | {table.start} >= table.rows.keys()


@pytest.mark.parametrize("first", range(0, len(KEPT), AT_ONCE))
def test_worlds_that_find_planted_bugs_are_as_they_should_be(first: int) -> None:
    for seed in [*KEPT][first : first + AT_ONCE]:
        assert judge(KEPT[seed])[0] == [], seed


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_a_world_that_found_something_does_so_no_more(path: Path) -> None:
    assert judge(json.loads(path.read_text("utf-8")))[0] == []


@pytest.mark.parametrize("table", LIFECYCLES, ids=lambda table: table.name)
def test_every_state_can_be_reached_and_left_and_every_event_occurs(table: Lifecycle) -> None:
    assert list(explore(table)) == []


def test_a_dead_state_is_found() -> None:
    table = lifecycle(
        "t", "", "end", "     go    stop  never\nnew  -     end   -\nlost lost  -     -\nend  -     -     -"
    )
    assert list(explore(table)) == [
        "t: lost cannot be reached",
        "t: never is allowed in no state",
    ]


def test_the_page_shows_the_tables() -> None:
    text = PAGE.read_text("utf-8")
    expected = text.partition("\n## ")[0] + "\n" + page()
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(expected, "utf-8")
    assert PAGE.read_text("utf-8") == expected, "UPDATE_GOLDEN=1 pytest tests/simulation"


def test_every_bug_can_be_planted_and_a_kept_world_finds_one() -> None:
    known = faults()
    for fault, _ in known:
        ast.parse(fault.planted())
    assert {seed for _, kept in known for seed in kept} == KEPT.keys()


@pytest.mark.slow
def test_a_planted_bug_is_found() -> None:
    put = "self.next_id += self.next_id < 5"
    fault = Fault(root="runtime", file="core/protocol/session.py", find="self.next_id += 1", put=put)
    assert "the id 5 is used again" in search(5, (fault, ()))


@pytest.mark.slow
def test_two_processes_play_the_same_world() -> None:
    command = [sys.executable, "-m", "simulation.simulate", "--seed", "7"]
    traces = [
        subprocess.run(
            command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
        ).stdout.splitlines()[:-1]
        for _ in range(2)
    ]
    assert traces[0] == traces[1] and len(traces[0]) > 10
