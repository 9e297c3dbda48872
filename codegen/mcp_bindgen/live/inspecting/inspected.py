"""The output of `mcp-bindgen inspect`: tables and contents, truncated."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp_bindgen.ir.diagnostics import clip, count
from mcp_bindgen.ir.json_values import as_object, is_list, is_object
from mcp_bindgen.tool_clients.listing import spell_arguments, spell_type

MAX_NOTES = 20
"""The number of notes shown; the rest is counted."""
MAX_ROWS = 200
"""The number of table rows shown; the rest is counted."""
MAX_NAME = 80
MAX_LINE = 160
"""The number of characters of a name or a description shown in a table."""
MAX_TEXT = 20_000
"""The number of characters of one text shown."""


def shortened(value: dict[str, Any]) -> dict[str, Any]:
    """Return a value with its texts cut to twice the length that is shown, so that masking is fast.

    A secret that is cut in two is beyond the part that is shown.
    """
    short: dict[str, Any] = _short(value)
    return short


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[: 2 * MAX_TEXT]
    if is_object(value):
        return {name[: 2 * MAX_TEXT]: _short(inner) for name, inner in value.items()}
    return [_short(inner) for inner in value] if is_list(value) else value


def seen_text(seen: Mapping[str, Any], table: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> str:
    """Format what a server offers; `table` lays out rows below headings, indented."""
    info: Mapping[str, Any] = seen["info"]
    title = f" ({_clip(info['title'], MAX_NAME)})" if isinstance(info.get("title"), str) else ""
    lines = [
        f"server        {_clip(info.get('name', '?'), MAX_NAME)} {_clip(info.get('version', ''), MAX_NAME)}{title}",
        f"revision      {seen['revision']}",
        f"capabilities  {_clip(', '.join(_paths(seen['capabilities'])) or 'none', MAX_TEXT)}",
    ]
    if seen["instructions"]:
        lines += ["", "instructions", *(f"  {line}" for line in _clip(seen["instructions"], MAX_TEXT).splitlines())]
    for name, (headings, row) in _TABLES.items():
        listed: list[dict[str, Any]] | None = seen.get(name)
        if listed is None or (name == "resourceTemplates" and not listed):
            continue
        lines += ["", f"{count(len(listed), _NOUNS[name])}"]
        if listed:
            lines += table(*_used(headings, map(row, listed[:MAX_ROWS]))).splitlines()
        if len(listed) > MAX_ROWS:
            lines.append(f"  and {len(listed) - MAX_ROWS} more (--format json has all)")
    notes: list[str] = seen["notes"]
    lines += [f"\nnote: {_clip(note, MAX_TEXT)}" for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        lines.append(f"\nand {len(notes) - MAX_NOTES} more notes (--format json has all)")
    return "\n".join(lines)


def skills_text(seen: Mapping[str, Any], table: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> str:
    """Format the skills that a server lists; `table` lays out rows below headings."""
    rows: list[tuple[str, str, str]] = []
    for skill in seen["skills"][:MAX_ROWS]:
        files: Any = skill["resources"]
        number = str(len(files)) if is_list(files) else "dynamic"
        rows.append(
            (_clip(skill["uri"], MAX_TEXT), number, _clip(skill["frontmatter"].get("description", ""), MAX_TEXT))
        )
    lines = [count(len(seen["skills"]), "skill"), *table(("skill", "files", "description"), rows).splitlines()]
    more = len(seen["skills"]) - MAX_ROWS
    return "\n".join([*lines, f"and {more} more (--format json has all)"] if more > 0 else lines)


def contents_text(result: Mapping[str, Any]) -> str:
    """Format the result of a call, of reading a resource, or of getting a prompt."""
    return "\n".join(_parts(result)) or "(nothing)"


def _parts(result: Mapping[str, Any]) -> Iterator[str]:
    if result.get("isError") is True:
        yield "the tool failed:"
    if isinstance(result.get("description"), str):
        yield f"{_clip(result['description'], MAX_TEXT)}\n"
    for message in _objects(result.get("messages")):
        content = message.get("content")
        for block in content if is_list(content) else [content]:
            yield f"{_clip(message.get('role'), MAX_NAME)}: {_block(block)}"
    for block in (*_objects(result.get("content")), *_objects(result.get("contents"))):
        yield _block(block)
    if "structuredContent" in result:
        text = json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)
        yield f"structured content:\n{_clip(text, MAX_TEXT)}"


def _block(block: Any) -> str:
    """Format one content block or the contents of a resource: text as it is, other content as a summary."""
    if not is_object(block):
        return _clip(json.dumps(block), MAX_TEXT)
    if isinstance(block.get("text"), str):
        return _clip(block["text"], MAX_TEXT)
    if is_object(block.get("resource")):
        inner = block["resource"]
        return f"[resource {_clip(inner.get('uri'), MAX_LINE)}] {_block(inner)}"
    kind = _clip(block.get("type", "binary"), MAX_NAME)
    data = block.get("data", block.get("blob"))
    more = " or more" if isinstance(data, str) and len(data) >= 2 * MAX_TEXT else ""
    size = f", {len(data):,}{more} characters of base64" if isinstance(data, str) else ""
    place = f" {_clip(block['uri'], MAX_LINE)}" if isinstance(block.get("uri"), str) else ""
    return f"[{kind}{place} {_clip(block.get('mimeType', ''), MAX_NAME)}{size}]".replace(" ]", "]")


def _tool(tool: Mapping[str, Any]) -> tuple[str, ...]:
    taken, returned = spell_arguments(tool.get("inputSchema")), as_object(tool.get("outputSchema"))
    result = (spell_arguments(returned) or spell_type(returned, returned)) if returned else ""
    return (_name(tool), _clip(taken, MAX_LINE), _clip(result, MAX_LINE), _about(tool))


def _resource(resource: Mapping[str, Any]) -> tuple[str, ...]:
    where = resource.get("uri", resource.get("uriTemplate"))
    return (_clip(where, MAX_LINE), _name(resource), _clip(resource.get("mimeType", ""), MAX_NAME), _about(resource))


def _prompt(prompt: Mapping[str, Any]) -> tuple[str, ...]:
    arguments = [
        f"{one.get('name')}{'' if one.get('required') is True else '?'}" for one in _objects(prompt.get("arguments"))
    ]
    return (_name(prompt), _clip(", ".join(arguments[:100]), MAX_LINE), _about(prompt))


_TABLES = {
    "tools": (("tool", "arguments", "result", "description"), _tool),
    "resources": (("uri", "name", "type", "description"), _resource),
    "resourceTemplates": (("uri", "name", "type", "description"), _resource),
    "prompts": (("prompt", "arguments", "description"), _prompt),
}
_NOUNS = {"tools": "tool", "resources": "resource", "resourceTemplates": "resource template", "prompts": "prompt"}


def _used(headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return a table without the column of results if no tool declares any."""
    every = list(rows)
    kept = [at for at, heading in enumerate(headings) if heading != "result" or any(row[at] for row in every)]
    return [headings[at] for at in kept], [[row[at] for at in kept] for row in every]


def _paths(capabilities: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over the declared capabilities by path (``tools.listChanged``)."""
    for name, value in list(capabilities.items())[:MAX_ROWS]:
        inner = [f"{name}.{flag}" for flag, on in value.items() if on not in (False, None)] if is_object(value) else []
        yield from (_clip(path, MAX_NAME) for path in [name, *inner[:MAX_ROWS]])


def _about(item: Mapping[str, Any]) -> str:
    text = item.get("description") or item.get("title") or ""
    return _clip(text.strip().partition("\n")[0] if isinstance(text, str) else text, MAX_LINE)


def _name(item: Mapping[str, Any]) -> str:
    return _clip(item.get("name"), MAX_NAME)


def _objects(value: Any) -> Iterable[dict[str, Any]]:
    return (inner for inner in value if is_object(inner)) if is_list(value) else ()


def _clip(value: Any, limit: int) -> str:
    return clip(value if isinstance(value, str) else "" if value is None else json.dumps(value), limit)
