"""Plays worlds, judges them, and shows the one that fails, made smaller: `make simulate SEEDS=N SECONDS=S SEED=n`."""

import argparse
import json
import pathlib
import re
import sys
import time
from collections.abc import Iterator
from itertools import chain, count, islice
from typing import Any, Final

from mcp_runtime.core.json.values import is_array, is_object
from simulation import hostile
from simulation.client import World
from simulation.judge import Judge
from simulation.model import FORBIDDEN, LIFECYCLES
from simulation.streams import Streams
from simulation.tasking import Tasking
from simulation.watching import Watching
from simulation.world import make, run, show

FOUND: Final = pathlib.Path(__file__).parent / "found"
"""Worlds that have found something, as data, since a seed means another world after any change here."""
KEPT: Final[dict[int, World]] = {
    world["seed"]: world for world in map(json.loads, (FOUND / "planted.jsonl").read_text("utf-8").splitlines())
}
"""Worlds that have found planted bugs, by their seed."""
LAST: Final = 20
MESSAGES: Final = ("sends", "posts", "gets", "hears")
JUDGES: Final = {"web": Streams, "watches": Watching, "tasks": Tasking}


def judge(world: World) -> tuple[list[str], set[tuple[str, str, str]], str, int]:
    """Play a world; return its faults, the rows of the tables used, its trace, and how many messages were sent."""
    history, loop = run(world)
    judged = next((kind for name, kind in JUDGES.items() if name in world), Judge)(world, history, loop.stalled)
    faults = hostile.judge(world, history) if "hostile" in world else judged.verdict()
    return faults, judged.seen, show(history), sum(what in MESSAGES and who != "handler" for _, who, what, _ in history)


def smaller(world: World) -> Iterator[World]:
    """Yield worlds with less in them: fewer calls, steps and clients, or the plainest value for something."""
    for number, place in enumerate(_places(world)):
        for key, value in place.items():
            for plainer in _plainer(key, value):
                copy: World = json.loads(json.dumps(world))
                _places(copy)[number][key] = plainer
                yield copy


_PLAIN: Final[dict[str, object]] = {
    **{"delay": 0, "cut": None, "stalls": 0, "close": None, "stop": None, "at": 0, "cancel": None, "client": 0},
    **{"progress": False, "pieces": 1, "capacity": 1 << 16, "progress_rate": None, "log_rate": None, "clients": 1},
    **{"slow": 0, "delete": None, "stream_after": 0.02, "log_level": None, "era": "auto", "speaks": "all"},
}


def _places(world: World) -> list[dict[str, Any]]:
    return [world, *(value for value in world.values() if is_object(value)), *world["calls"]]


def _plainer(key: str, value: Any) -> Iterator[Any]:
    if is_array(value):
        half = len(value) // 2
        yield from (value[:half], value[half:]) if half else ()
        yield from (value[:number] + value[number + 1 :] for number in range(len(value)))
    elif key in _PLAIN and value != _PLAIN[key]:
        yield _PLAIN[key]


def shrink(world: World, tries: int = 400) -> World:
    """Return the smallest world found that still fails, and in the same way."""
    kind, is_smaller = _kind(world), True
    while is_smaller and tries > 0:
        is_smaller = False
        for candidate in smaller(world):
            # What is left draws other numbers, so the same coincidence may need another seed.
            again = (candidate | {"seed": seed} for seed in (world["seed"], 1, 2))
            found = next((one for one in again if _kind(one) == kind), None)
            tries -= 1
            if found is not None:
                world, is_smaller = found, True
                break
    return world


def _kind(world: World) -> str:
    """Return the first fault without its numbers; empty without one, or if what is left is not a world."""
    try:
        return "".join(re.findall(r"[a-z ]+", (judge(world)[0] or [""])[0].partition("{")[0]))
    except (KeyError, IndexError):
        return ""


def main(arguments: list[str]) -> int:
    """Play worlds until one fails, or there were enough; return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--kept", type=int, nargs="*", default=(), help="first the kept worlds of these seeds")
    parser.add_argument("--as-it-is", action="store_true", help="do not make a world that fails smaller")
    chosen = parser.parse_args(arguments)
    seeds = count(chosen.first) if chosen.seed is None else iter((chosen.seed,))
    worlds = chain((KEPT[seed] for seed in chosen.kept), map(make, seeds))
    began, messages, played, seen = time.process_time(), 0, 0, set[tuple[str, str, str]]()
    limit = chosen.seeds if chosen.seeds is not None or chosen.seconds is not None else 200
    for world in islice(worlds, limit):
        faults, rows, trace, sent = judge(world)
        played, messages, seen = played + 1, messages + sent, seen | rows
        if faults:
            print(f"seed {world['seed']} fails: {faults[0]}")
            least = world if chosen.as_it_is else shrink(world)
            faults, _, trace, _ = judge(least)
            print(json.dumps(least), *trace.splitlines()[-LAST:], *faults, sep="\n")
            return 1
        if chosen.seed is not None:
            print(trace)
        if chosen.seconds is not None and time.process_time() - began > chosen.seconds:
            break
    tables = [(each.name, state, row) for each in LIFECYCLES for state, row in each.rows.items()]
    used = {(name, state, event) for name, state, row in tables for event in row if row[event] != FORBIDDEN}
    print(
        f"{played:,} worlds, {messages:,} messages, {time.process_time() - began:.1f} s of CPU; "
        f"{len(seen & used)} of {len(used)} rows of the tables were used"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
