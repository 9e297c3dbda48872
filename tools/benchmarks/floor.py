"""The floor: JSON in and out of plain dictionaries with orjson, nothing checked."""

from collections.abc import Callable
from functools import partial

import messages
import orjson


def cases() -> dict[str, Callable[[], object]]:
    reads = {case: partial(orjson.loads, text) for case, (_, text) in messages.TEXTS.items()}
    writes = {f"encode:{name}": partial(orjson.dumps, document) for name, document in messages.DOCUMENTS.items()}
    return {**reads, **writes}
