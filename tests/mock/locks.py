"""Locks and sessions for tests of mocks."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FORECAST: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "array", "items": {"$ref": "#/$defs/day"}, "minItems": 1},
        "unit": {"enum": ["C", "F"]},
    },
    "required": ["city", "days", "unit"],
    "additionalProperties": False,
    "$defs": {
        "day": {
            "type": "object",
            "properties": {"degrees": {"type": "number", "exclusiveMinimum": -90, "maximum": 60}, "wet": {}},
            "required": ["degrees"],
        }
    },
}
CITY: Mapping[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str, input_: Any = CITY, output: Any = None, **more: Any) -> dict[str, Any]:
    """Return a tool in the form of a lock file."""
    described = {"name": name, "description": f"The tool {name}.", "inputSchema": input_}
    return {**described, **({} if output is None else {"outputSchema": output}), **more}


def write_lock(folder: Path, *tools: Mapping[str, Any]) -> Path:
    """Write the lock file of a server called weather."""
    path = folder / "tools.lock.json"
    server = {"name": "weather", "version": "1.4"}
    path.write_text(json.dumps({"format": 1, "server": server, "tools": tools}), "utf-8")
    return path
