"""The tools of a contract as rows of a table: what each takes, and what it says of itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_bindgen.diagnostics import clip
from mcp_bindgen.tool_clients.contract import Contract, Tool
from mcp_bindgen.tool_clients.kinds import is_list, is_object

MAX_CELL = 60
"""How much of a description a cell shows, in characters."""
MAX_SHOWN = 20
"""How many names are shown."""


def rows(contract: Contract) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over name, arguments, hints and the beginning of the description of each tool."""
    for tool in contract.tools:
        yield tool.name, spell_arguments(tool.input_schema), ", ".join(_hints(tool)), _first_line(tool.description)


def spell_arguments(schema: object) -> str:
    """Spell the arguments of a tool: ``a: number, b?: string``, where ``?`` means optional."""
    known = as_object(schema)
    required = set(map(str, as_list(known.get("required"))))
    shown = list(as_object(known.get("properties")).items())[: MAX_SHOWN * 5]
    return ", ".join(f"{name}{'' if name in required else '?'}: {spell_type(as_object(one))}" for name, one in shown)


def spell_type(schema: Mapping[str, Any]) -> str:
    """Spell in a word or two what a schema asks for."""
    if options := as_list(schema.get("enum")):
        shown = "|".join(option if isinstance(option, str) else json.dumps(option) for option in options[:6])
        return clip(shown, MAX_CELL)
    types = types_of(schema)
    if types == ["array"] and (inner := as_object(schema.get("items"))):
        return f"{spell_type(inner)}[]"[:60]
    return "|".join(types)[:60] or "any"


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema names, also in its alternatives."""
    named: Any = schema.get("type")
    if isinstance(named, str):
        return [named]
    if is_list(named):
        return [str(one) for one in named]
    found: dict[str, None] = {}
    for keyword in ("anyOf", "oneOf"):
        for one in as_list(schema.get(keyword))[:MAX_SHOWN]:
            inner: Any = as_object(one).get("type")
            if isinstance(inner, str):
                found[inner] = None
    return list(found)


def as_object(value: Any) -> dict[str, Any]:
    """Return a value if it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value if it is a JSON array, else an empty one."""
    return value if is_list(value) else []


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
    return clip(" ".join(text.split("\n", 1)[0].split()), MAX_CELL)
