"""Methods and definitions as text for people."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from mcp_bindgen.export.facts import Facts, MethodFacts, PropertyFacts, TypeFacts

Table: TypeAlias = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
"""Lays out rows below their headings."""


def method_text(found: MethodFacts, facts: Facts, table: Table) -> str:
    """Return a method, with its params; `table` lays out rows."""
    rows = [
        ("kind", "request" if found.result else "notification"),
        ("direction", found.direction.replace("_", " ")),
        ("message", found.message),
        ("params", f"{found.params or 'none of its own'}{'' if found.params_required else ' (optional)'}"),
        ("result", " | ".join([found.result, *found.alternatives]) if found.result else "none"),
        ("needs", found.capability or "nothing"),
        ("flags", ", ".join(flag.replace("_", " ") for flag in found.flags) or "none"),
    ]
    parts = [_heading(found), table(("", ""), rows).lstrip("\n")]
    if found.params:
        parts.append(type_text(facts.type(facts.protocol.definitions[found.params]), table))
    return "\n\n".join(parts)


def type_text(found: TypeFacts, table: Table) -> str:
    """Return a definition; `table` lays out rows."""
    if found.kind == "alias":
        return f"{_heading(found)}\n\n{found.name} = {found.type}{f'  ({found.bounds})' if found.bounds else ''}"
    extends = f"\n\nextends {', '.join(found.bases)}" if found.bases else ""
    rows = [_row(each) for each in found.properties]
    shown = table(("property", "type", "required", "meaning"), rows) if rows else "no properties"
    return f"{_heading(found)}{extends}\n\n{shown}"


def _row(each: PropertyFacts) -> tuple[str, str, str, str]:
    words = [each.doc, f"({each.bounds})" if each.bounds else "", "Deprecated." if each.deprecated else ""]
    return each.name, each.type, "yes" if each.required else "no", " ".join(word for word in words if word)


def _heading(found: MethodFacts | TypeFacts) -> str:
    title = f"{found.name}{' (deprecated)' if found.deprecated else ''}"
    return "\n".join([title, *([found.doc] if found.doc else [])])
