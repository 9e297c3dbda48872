"""Results that are written as they are, with their properties in their order."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any


def exact(result: Mapping[str, Any]) -> Any:
    """Return what a handler returns for the runtime to write this result unchanged, keyed by wire names."""
    return _model()(dict(result))


@cache
def _model() -> Any:
    from pydantic import RootModel

    return RootModel[dict[str, Any]]


def canonical(value: Any) -> str:
    """Return the text of a JSON value that equal values share."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
