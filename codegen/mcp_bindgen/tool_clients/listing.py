"""The tools of a contract as rows of a table: what each takes, and what it says of itself."""

from collections.abc import Iterator
from typing import Any

from mcp_bindgen.tool_clients.contract import Contract, Tool
from mcp_bindgen.tool_clients.kinds import is_list, is_object

MAX_CELL = 60
"""How much of a description a cell shows, in characters."""
MAX_ARGUMENTS = 12
"""How many arguments a cell lists."""


def rows(contract: Contract) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over name, arguments, hints and the beginning of the description of each tool."""
    for tool in contract.tools:
        yield tool.name, ", ".join(_arguments(tool)), ", ".join(_hints(tool)), _first_line(tool.description)


def _arguments(tool: Tool) -> Iterator[str]:
    schema: Any = tool.input_schema if is_object(tool.input_schema) else {}
    properties = schema.get("properties")
    required = schema.get("required")
    if not is_object(properties):
        return
    for number, (name, value) in enumerate(properties.items()):
        if number == MAX_ARGUMENTS:
            yield "..."
            return
        mark = "" if is_list(required) and name in required else "?"
        yield f"{name[:MAX_CELL]}{mark}: {_type(value)}"


def _type(schema: Any) -> str:
    if not is_object(schema):
        return "any"
    known = schema
    type_ = known.get("type")
    if isinstance(type_, str):
        return f"{_type(known.get('items'))}[]" if type_ == "array" and known.get("items") is not known else type_
    if is_list(type_):
        return "|".join(str(item) for item in type_[:MAX_ARGUMENTS])
    for keyword in ("anyOf", "oneOf"):
        members = known.get(keyword)
        if is_list(members):
            return "|".join(dict.fromkeys(_type(member) for member in members[:MAX_ARGUMENTS]))
    return "enum" if "enum" in known else "any"


def _hints(tool: Tool) -> Iterator[str]:
    if tool.is_gated:
        yield "needs capabilities"
    if tool.task:
        yield f"task {tool.task}"
    if tool.hint("readOnlyHint"):
        yield "read only"
        return
    if tool.hint("destructiveHint"):
        yield "destructive"
    if tool.hint("idempotentHint"):
        yield "idempotent"


def _first_line(text: str) -> str:
    line = " ".join(text.split("\n", 1)[0].split())
    return line if len(line) <= MAX_CELL else f"{line[:MAX_CELL]}..."
