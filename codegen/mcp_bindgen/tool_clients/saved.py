"""Lists of tools in the forms in which programs save them, as a server lists them.

The forms are lists of MCP in either spelling of names (``inputSchema``, ``input_schema``), the tools of OpenAI (of both
APIs, and in ``mcp_list_tools`` items), those of Anthropic, and files with results of tools/list: responses, exports of
the Inspector, and recordings with one message per line.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.sources import parse_json
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.ir.json_values import as_list, as_object, is_list, is_object

MAX_DEPTH = 12
"""How deep in a file a list of tools may be."""
_SPELLINGS = {
    **{"input_schema": "inputSchema", "output_schema": "outputSchema", "parameters": "inputSchema"},
    **{"read_only_hint": "readOnlyHint", "destructive_hint": "destructiveHint"},
    **{"idempotent_hint": "idempotentHint", "open_world_hint": "openWorldHint", "task_support": "taskSupport"},
}
_NESTED = ("annotations", "execution")
_SCHEMAS = ("inputSchema", "input_schema", "parameters")
_REGISTRY = ("packages", "remotes", "repository")
_CONFIGURED = ("mcpServers", "servers")


def read_saved(data: bytes, path: Path, diagnostics: Diagnostics) -> Any:
    """Return the JSON value in a file, or the list of those in its lines; a line that is not JSON is left out.

    Raises:
        InputError: it is not JSON.
    """
    problems = Diagnostics()
    value = parse_json(data, str(path), problems)
    if problems.errors and len(data.splitlines()) > 1:
        values = [(number, *_line(text)) for number, text in enumerate(data.splitlines(), start=1) if text.strip()]
        if is_object(values[0][1]):
            for number, _, reason in values:
                if reason:
                    diagnostics.warning(Location(source=str(path), line=number), f"{reason}; the line is left out")
            return [value for _, value, reason in values if not reason]
    problems.raise_errors()
    return value


def _line(text: bytes) -> tuple[Any, str]:
    """Return the JSON value on a line, and why it has none; empty if it has one."""
    found = Diagnostics()
    value = parse_json(text, "", found)
    return value, found.errors[0].message if found.errors else ""


def tools_in(value: Any, where: Location) -> list[Any]:
    """Return the tools in a saved value, as a server lists them.

    Raises:
        InputError: it contains none in a known form.
    """
    lists = list(_lists(value, MAX_DEPTH))
    if not lists:
        raise InputError.at(where, _why(value))
    return [_tool(each) for tools in lists for each in tools]


def _lists(value: Any, depth: int) -> Iterator[list[Any]]:
    """Iterate over the lists of tools in a value, in their order."""
    if not depth:
        return
    if isinstance(value, str) and value[:1] in ("{", "[") and '"tools"' in value:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    if is_list(value):
        if value and all(map(_is_tool, value)):
            yield value
            return
        for each in value:
            yield from _lists(each, depth - 1)
    elif is_object(value):
        tools = value.get("tools")
        if is_list(tools) and (not tools or any(map(_is_named, tools))):
            yield tools
            return
        for name, each in value.items():
            if name not in _SCHEMAS:
                yield from _lists(each, depth - 1)


def _is_named(value: Any) -> bool:
    return is_object(value) and ("name" in value or "name" in as_object(value.get("function")))


def _is_tool(value: Any) -> bool:
    """Return whether a value on its own is a tool: it has a name and a schema."""
    inner = as_object(as_object(value).get("function")) or as_object(value)
    return "name" in inner and any(name in inner for name in _SCHEMAS)


def _tool(value: Any) -> Any:
    """Return one tool with the names of MCP."""
    if not is_object(value):
        return value
    raw: Mapping[str, Any] = as_object(value.get("function")) or value
    found = {_SPELLINGS.get(name, name): each for name, each in raw.items() if each is not None}
    for name in _NESTED:
        if is_object(found.get(name)):
            found[name] = {_SPELLINGS.get(key, key): each for key, each in found[name].items() if each is not None}
    return found


def _why(value: Any) -> str:
    """Say what a file without tools is, and what to give instead."""
    known = as_object(value)
    if "name" in known and ("server.schema.json" in str(known.get("$schema")) or any(k in known for k in _REGISTRY)):
        return "is a server.json of a registry, which lists no tools: give the server instead (-- COMMAND... or a URL)"
    if any(is_object(known.get(name)) for name in _CONFIGURED):
        return "is a configuration of servers, which lists no tools: give one of them instead (-- COMMAND... or a URL)"
    forms = "a result of tools/list, a list of tools (MCP, OpenAI or Anthropic), a recording, or a lock file"
    return f"contains no tools{' in a known form' if as_list(value) or known else ''}: give {forms}"
