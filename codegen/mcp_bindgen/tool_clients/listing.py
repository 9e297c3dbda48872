"""The tools of a contract as rows of a table: what each takes, and what it says of itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_bindgen.ir.diagnostics import clip
from mcp_bindgen.ir.json_values import as_list, as_object, is_list
from mcp_bindgen.tool_clients.contract import Contract, Tool

MAX_CELL = 60
"""How much of a description a cell shows, in characters."""
MAX_SHOWN = 20
"""How many names are shown."""
MAX_LEVELS = 3
"""How many arrays and alternatives within each other are spelled: each level may have `MAX_SHOWN` of them."""
MAX_HOPS = 8
"""How many references in a row are followed."""

_DEFINITIONS = "#/$defs/", "#/definitions/"
_BOUNDS = (
    ((("minimum", ""), ("exclusiveMinimum", ">")), (("maximum", ""), ("exclusiveMaximum", "<")), ""),
    ((("minLength", ""),), (("maxLength", ""),), " characters"),
    ((("minItems", ""),), (("maxItems", ""),), " items"),
)
"""Keywords of the least and the most of a value, each with its mark, and what they count."""


def rows(contract: Contract) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over name, arguments, hints and the beginning of the description of each tool."""
    for tool in contract.tools:
        yield tool.name, spell_arguments(tool.input_schema), ", ".join(_hints(tool)), _first_line(tool.description)


def spell_arguments(schema: object) -> str:
    """Spell the arguments of a tool: ``a: number, b?: Box[]; Box {side: number}``, where ``?`` means optional."""
    root, named = as_object(schema), list[str]()
    parts = [_spell_properties(root, root, named)]
    for name in named:  # It grows.
        parts.append(f"{name} {{{_spell_properties(_definition(name, root), root, named)}}}")
    return "; ".join(parts)


def _spell_properties(schema: Mapping[str, Any], root: Mapping[str, Any], named: list[str]) -> str:
    required = set(map(str, as_list(schema.get("required"))))
    shown = list(as_object(schema.get("properties")).items())[: MAX_SHOWN * 5]
    return ", ".join(
        f"{clip(name, MAX_CELL)}{'' if name in required else '?'}: {spell_type(as_object(one), root, named)}"
        for name, one in shown
    )


def spell_type(
    schema: Mapping[str, Any], root: Mapping[str, Any], named: list[str] | None = None, levels: int = MAX_LEVELS
) -> str:
    """Spell in a word or two what a schema inside `root` asks for; `named` collects the objects that it only names."""
    name, target = _followed(schema, root)
    if name and "properties" in target:
        if named is not None and name not in named and len(named) < MAX_SHOWN:
            named.append(name)
        return name[:MAX_CELL]
    if options := as_list(target.get("enum")):
        shown = "|".join(option if isinstance(option, str) else json.dumps(option) for option in options[:6])
        return clip(shown, MAX_CELL)
    types = types_of(target, root)
    if types == ["array"] and (inner := as_object(target.get("items"))):
        spelled = f"{spell_type(inner, root, named, levels - 1) if levels else 'any'}[]"
        return f"{spelled}{_bounds(target)}"[:MAX_CELL]
    alternatives = [one for keyword in ("anyOf", "oneOf") for one in as_list(target.get(keyword))[:MAX_SHOWN]]
    if levels and alternatives:
        types = list(dict.fromkeys(spell_type(as_object(one), root, named, levels - 1) for one in alternatives))
    return f"{'|'.join(types) or 'any'}{_bounds(target)}"[:MAX_CELL]


def _bounds(schema: Mapping[str, Any]) -> str:
    """Spell the bounds and the format of a value: ``(1..50)``, ``(1.. items)``, ``(..80 characters)``, ``(date)``."""
    found: list[str] = []
    for least, most, unit in _BOUNDS:
        low, high = (
            next((f"{mark}{clip(json.dumps(schema[key]), MAX_CELL // 4)}" for key, mark in keys if key in schema), "")
            for keys in (least, most)
        )
        if low or high:
            found.append(f"{low}..{high}{unit}")
    found += [clip(format_, MAX_CELL // 2) for format_ in [schema.get("format")] if isinstance(format_, str)]
    return f" ({', '.join(found)})" if found else ""


def types_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema inside `root` names, also in its alternatives and through references."""
    _, schema = _followed(schema, root)
    named: Any = schema.get("type")
    if isinstance(named, str):
        return [named]
    if is_list(named):
        return [str(one) for one in named]
    found: dict[str, None] = {}
    for keyword in ("anyOf", "oneOf"):
        for one in as_list(schema.get(keyword))[:MAX_SHOWN]:
            inner: Any = _followed(as_object(one), root)[1].get("type")
            if isinstance(inner, str):
                found[inner] = None
    return list(found)


def _followed(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Follow references to definitions of `root`; return the last one's name, empty without one, and the schema."""
    name = ""
    for _ in range(MAX_HOPS):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith(_DEFINITIONS):
            break
        name = reference.rpartition("/")[2]
        schema = _definition(name, root)
    return name, schema


def _definition(name: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_object(as_object(root.get("$defs") or root.get("definitions")).get(name))


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
