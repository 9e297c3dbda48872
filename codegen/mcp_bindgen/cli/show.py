"""`mcp-bindgen show`: one method or one definition, as a table.

The JSON output has ``kind``, ``name``, ``revision``, ``revisions`` (all with that name),
``doc`` and ``deprecated``. A ``struct`` adds ``bases`` and
``members``, each with ``name``, ``type``, ``required``, ``bounds``, ``doc``, ``deprecated`` and ``inherited``; an
``alias`` adds ``type`` and ``bounds``; a ``method`` adds ``direction``, ``message``, ``params``, ``params_required``,
``result``, ``alternatives`` and ``flags``.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, load, newest, revision_option
from mcp_bindgen.cli.output import Format, answer, answer_json, table
from mcp_bindgen.diagnostics import InputError, did_you_mean
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Alias, Definition, Field, Method, Protocol, Struct
from mcp_bindgen.ir.spell import spell, spell_bounds
from mcp_bindgen.settings import find_settings

MAX_CLOSE = 5
"""The number of suggestions for an unknown name."""
_FLAGS = ("paginated", "cacheable", "task_augmentable", "multi_round_trip", "payload")


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A method such as tools/call, or a definition such as Tool.")
    ],
    revision: Annotated[str | None, revision_option("By default the project's revision, or the newest.")] = None,
    quiet: QuietOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Show a method or a definition of a revision."""
    protocol = load(revision or _of_project() or newest())
    having = [known for known in released() if _knows(load(known), name)]
    method = next((method for method in protocol.methods if method.name == name), None)
    if method is not None:
        facts, text = _method_facts(method, protocol), _method_text(method, protocol)
    elif name in protocol.definitions:
        facts, text = _definition_facts(protocol.definitions[name]), _definition_text(protocol.definitions[name])
    else:
        raise _unknown(name, protocol, having)
    if format_ is Format.JSON:
        answer_json({**facts, "revision": protocol.revision, "revisions": having})
    elif not quiet:
        others = [known for known in having if known != protocol.revision]
        where = f"also in {', '.join(others)}" if others else "in no other revision"
        answer(f"{text}\n\nrevision {protocol.revision}; {where}")


def _of_project() -> str | None:
    """Return the newest revision whose bindings the project has; None if it names none."""
    named = [name for name in find_settings(Path.cwd()).revisions if name in released()]
    return max(named, default=None)


def _knows(protocol: Protocol, name: str) -> bool:
    return name in protocol.definitions or any(method.name == name for method in protocol.methods)


def _unknown(name: str, protocol: Protocol, having: list[str]) -> InputError:
    known = (*protocol.definitions, *(method.name for method in protocol.methods))
    hint = f"it exists in {', '.join(having)}" if having else did_you_mean(name, known, MAX_CLOSE)
    hint = f"; {hint}" if hint else ""
    return InputError.at(name, f"{protocol.revision} has no method or definition of that name{hint}")


def _method_facts(method: Method, protocol: Protocol) -> dict[str, Any]:
    return {
        "kind": "method",
        "name": method.name,
        "doc": protocol.definitions[method.message].doc,
        "deprecated": method.deprecated,
        "direction": method.direction.value,
        "message": method.message,
        "params": method.params,
        "params_required": method.params_required,
        "result": method.result,
        "alternatives": list(method.alternatives),
        "flags": [flag for flag in _FLAGS if getattr(method, flag)],
    }


def _method_text(method: Method, protocol: Protocol) -> str:
    facts = _method_facts(method, protocol)
    rows = [
        ("kind", "request" if method.is_request else "notification"),
        ("direction", method.direction.value.replace("_", " ")),
        ("message", method.message),
        ("params", f"{method.params or 'none of its own'}{'' if method.params_required else ' (optional)'}"),
        ("result", " | ".join([method.result, *method.alternatives]) if method.result else "none"),
        ("flags", ", ".join(flag.replace("_", " ") for flag in facts["flags"]) or "none"),
    ]
    parts = [_heading(method.name, facts["doc"], method.deprecated), table(("", ""), rows).lstrip("\n")]
    definition = protocol.definitions.get(method.params or "")
    if definition is not None:
        parts.append(_definition_text(definition))
    return "\n\n".join(parts)


def _definition_facts(definition: Definition) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": definition.name, "doc": definition.doc, "deprecated": definition.deprecated}
    match definition:
        case Alias(type=type_):
            return {"kind": "alias", **facts, "type": spell(type_), "bounds": spell_bounds(type_)}
        case Struct(bases=bases, fields=fields, own=own):
            properties = [_property_facts(field) | {"inherited": field.wire_name not in own} for field in fields]
            return {"kind": "struct", **facts, "bases": [base.name for base in bases], "properties": properties}


def _property_facts(field: Field) -> dict[str, Any]:
    return {
        "name": field.wire_name,
        "type": spell(field.type),
        "required": field.required,
        "bounds": spell_bounds(field.type),
        "doc": field.doc,
        "deprecated": field.deprecated,
    }


def _definition_text(definition: Definition) -> str:
    heading = _heading(definition.name, definition.doc, definition.deprecated)
    if isinstance(definition, Alias):
        bounds = spell_bounds(definition.type)
        return f"{heading}\n\n{definition.name} = {spell(definition.type)}{f'  ({bounds})' if bounds else ''}"
    rows = [_property_row(field) for field in definition.fields]
    bases = ", ".join(base.name for base in definition.bases)
    extends = f"\n\nextends {bases}" if bases else ""
    return (
        f"{heading}{extends}\n\n{table(('property', 'type', 'required', 'meaning'), rows) if rows else 'no properties'}"
    )


def _property_row(field: Field) -> tuple[str, str, str, str]:
    bounds = spell_bounds(field.type)
    words = [field.doc, f"({bounds})" if bounds else "", "Deprecated." if field.deprecated else ""]
    return (
        field.wire_name,
        spell(field.type),
        "yes" if field.required else "no",
        " ".join(word for word in words if word),
    )


def _heading(name: str, doc: str, deprecated: bool) -> str:
    return "\n".join([f"{name}{' (deprecated)' if deprecated else ''}", *([doc] if doc else [])])
