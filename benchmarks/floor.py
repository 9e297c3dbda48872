"""The floor: JSON in and out of plain dictionaries with orjson, nothing checked."""

from collections.abc import Callable
from functools import partial

import messages
import orjson


def cases() -> dict[str, Callable[[], object]]:
    reads = {f"decode:{name}": partial(orjson.loads, data) for name, data in messages.WIRE.items()}
    writes = {f"encode:{name}": partial(orjson.dumps, document) for name, document in messages.DOCUMENTS.items()}
    return {**reads, **writes}
