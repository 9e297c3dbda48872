"""Each function that takes a peer's schema, with one of each hostile family: prints as JSON the worst of each function.

That is the most CPU seconds of one use, and by how many megabytes its process grew, which has made all uses.
"""

import json
import sys
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.hostile_schemas import FAMILIES, hostile
from support.schema_functions import REFUSALS, ROWS

SCHEMAS = [json.dumps(hostile(family)) for family in FAMILIES]


def worst(name: str) -> tuple[float, float]:
    seconds: list[float] = []
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for text in SCHEMAS:
        schema = json.loads(text)
        start = process_time()
        with suppress(*REFUSALS):
            ROWS[name](schema)
        seconds.append(process_time() - start)
    return max(seconds), (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    # A process for each, since the peak of memory cannot be reset.
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        found = pool.map(worst, ROWS, chunksize=1)
    print(json.dumps({name.partition(":")[2]: used for name, used in zip(ROWS, found, strict=True)}))
