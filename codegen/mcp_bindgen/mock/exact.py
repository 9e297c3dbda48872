"""Results that are written as they are, with their properties in their order."""

import json
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from mcp_bindgen.ir.json_values import as_list, as_object


def exact(result: Mapping[str, Any]) -> Any:
    """Return what a handler returns for the runtime to write this result unchanged, keyed by wire names."""
    return _model()(dict(result))


@cache
def _model() -> Any:
    from pydantic import RootModel

    class Exact(RootModel[dict[str, Any]]):
        """A result that is also read like a page of tools, from which a server over HTTP learns their headers."""

        @property
        def tools(self) -> list[Any]:
            """The tools."""
            return [
                SimpleNamespace(name=str(each.get("name")), input_schema=RootModel[Any](each.get("inputSchema")))
                for each in map(as_object, as_list(self.root.get("tools")))
            ]

        @property
        def next_cursor(self) -> Any:
            """Where the list goes on; None at its end."""
            return self.root.get("nextCursor")

    return Exact


def canonical(value: Any) -> str:
    """Return the text of a JSON value that equal values share."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
