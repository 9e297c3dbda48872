"""One run of all comparisons in its own process: prints as JSON the CPU seconds of each pair of revisions.

Loading the two sides is included, so the figure is the cost of the command without its startup.
"""

import json
from itertools import pairwise
from time import process_time

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.load.protocol import load_released


def seconds(old: str, new: str) -> float:
    load_released.cache_clear()
    start = process_time()
    before, after = load_released(old), load_released(new)
    compare(before, after)
    return process_time() - start


print(json.dumps({f"{old} {new}": seconds(old, new) for old, new in pairwise(released())}))
