"""Plants bugs in a copy of the runtime, one at a time, and prints which world finds each.

Run by `python -m simulation.plant` in tests/.
"""

import argparse
import os
import random
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from support.planting import Fault, copied

HERE: Final = Path(__file__).parent

Planted = tuple[Fault, tuple[int, ...]]
"""A bug, and the seed of the kept world that found it, if one did."""


def faults() -> list[Planted]:
    """Read the bugs: their kind, the file, the text to replace and the new text."""
    table = tomllib.loads((HERE / "planted.toml").read_text("utf-8"))["fault"]
    return [
        (Fault(root="runtime", requirement=row["kind"], **{name: row[name] for name in ("file", "find", "put")}), kept)
        for row in table
        if "equivalent" not in row
        for kept in [(row["world"],) if "world" in row else ()]
    ]


def search(seconds: float, planted: Planted) -> str:
    """Play worlds with a bug until one fails, first the one that found it before; return the line that names it.

    The line is empty if none does.
    """
    fault, kept = planted
    with copied("runtime", fault) as folder:
        command = [sys.executable, "-m", "simulation.simulate", "--seconds", str(seconds), "--as-it-is"]
        command += ["--kept", *map(str, kept)]
        environment = {**os.environ, "PYTHONPATH": f"{folder}:{HERE.parent}"}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=20 * seconds
            )
        except subprocess.TimeoutExpired:
            return "a world that never ends"
    if done.returncode == 0:
        return ""
    return done.stdout.partition("\n")[0] or done.stderr.strip().rpartition("\n")[2]


def main(arguments: list[str]) -> int:
    """Plant the bugs and print what finds each; returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", help="only bugs whose kind, file or text contains one of these")
    parser.add_argument("--seconds", type=float, default=120, help="CPU seconds for each bug")
    parser.add_argument("--sample", type=int, default=None, help="how many bugs, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    wanted = chosen.words
    known = [each for each in faults() if not wanted or any(word in f"{each[0].name} {each[0].put}" for word in wanted)]
    if chosen.sample is not None:
        known = random.Random(chosen.seed).sample(known, chosen.sample)
    found = 0
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or 2)) as pool:
        for (fault, _), line in zip(known, pool.map(partial(search, chosen.seconds), known), strict=True):
            found += bool(line)
            place = f"{fault.name}: {fault.put.strip()[:70]!r}"
            print(f"{line[:150] or 'NOT FOUND'}: {place}", flush=True)
    print(f"{found} of {len(known)} planted bugs were found ({found / len(known):.0%})")
    return 0 if found >= 0.95 * len(known) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
