"""`mcp-bindgen show` and `list`: one method or one definition as a table, and the released revisions.

The JSON output of ``show`` has the facts of `mcp_bindgen.export.facts` and ``revision``, ``revisions`` (all with that
name), ``kind``, ``name``, ``doc``, ``deprecated``, ``since``, ``removed`` and ``use`` (what replaces it). A ``struct``
adds ``bases``, ``users`` and ``properties``, each with ``name``, ``type``, ``required``, ``bounds``, ``doc``,
``deprecated``, ``inherited``, ``capability``, ``since``, ``removed`` and ``use``; an ``alias`` adds ``type``,
``bounds`` and ``users``; a ``method`` adds ``direction``, ``sender``, ``message``, ``params``, ``params_required``,
``result``, ``alternatives``, ``flags`` and ``capability``. That of ``list`` is a list, oldest revision first, of
objects with ``revision``, ``era``, ``definitions``, ``requests``, ``notifications``, and the sha256 of the official
files as ``schema_json_sha256`` and ``schema_ts_sha256``.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import (
    ExtensionOption,
    FormatOption,
    Printing,
    QuietOption,
    SchemaOption,
    load,
    revision_option,
)
from mcp_bindgen.cli.output import answer_as, progress, table
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.diagnostics import InputError, did_you_mean

if TYPE_CHECKING:
    from mcp_bindgen.export.facts import Facts, MethodFacts, TypeFacts

MAX_CLOSE = 5
"""The number of suggestions for an unknown name."""


def show(
    *,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A method such as tools/call, or a definition such as Tool.")
    ],
    revision: Annotated[str | None, revision_option("By default the project's revision, or the newest.")] = None,
    schema: SchemaOption = None,
    extension: ExtensionOption = None,
    quiet: QuietOption = False,
    format_: FormatOption = "text",
) -> None:
    """Show a method or a definition of a revision, or of an extension."""
    from mcp_bindgen.export.facts import Facts, method_text, type_text
    from mcp_bindgen.load.protocol import history

    protocol = load(revision, extension, schema, Printing(quiet=quiet))
    facts = Facts(protocol, history(protocol))
    having = facts.history.revisions(name)
    method = next((method for method in protocol.methods if method.name == name), None)
    if method is None and name not in protocol.definitions:
        raise _unknown(name, facts, having)
    found: MethodFacts | TypeFacts
    if method is None:
        found = facts.type(protocol.definitions[name])
        text = type_text(found, table)
    else:
        found = facts.method(method)
        text = method_text(found, facts, table)
    others = [other for other in having if other != protocol.revision]
    where = f"also in {', '.join(others)}" if others else "in no other revision"
    name = f"{protocol.revision} with {extension}" if extension else protocol.revision
    answer_as(
        format_,
        lambda: {**asdict(found), "revision": protocol.revision, "revisions": having},
        lambda: f"{text}\n\nrevision {name}; {where}",
        quiet=quiet,
    )


def _unknown(name: str, facts: "Facts", having: list[str]) -> InputError:
    known = (*facts.protocol.definitions, *(method.name for method in facts.protocol.methods))
    hint = f"it exists in {', '.join(having)}" if having else did_you_mean(name, known, MAX_CLOSE)
    revision = facts.protocol.revision
    return InputError.at(name, f"{revision} has no method or definition of that name{f'; {hint}' if hint else ''}")


def list_revisions(quiet: QuietOption = False, format_: FormatOption = "text") -> None:
    """List the released revisions: era, definitions, methods, and the sha256 of the official files."""
    found: list[dict[str, object]] = []
    with progress(len(released()), quiet=quiet) as step:
        for revision, official in released().items():
            step(revision)
            protocol = load(revision)
            requests = sum(method.is_request for method in protocol.methods)
            found.append(
                {
                    "revision": revision,
                    "era": protocol.era.value,
                    "definitions": len(protocol.definitions),
                    "requests": requests,
                    "notifications": len(protocol.methods) - requests,
                    **{name: value for name, value in asdict(official).items() if name != "revision"},
                }
            )
    headings = ("revision", "era", "definitions", "methods", "official file", "sha256")
    answer_as(format_, lambda: found, lambda: table(headings, _rows(found)), quiet=quiet)


def _rows(found: list[dict[str, object]]) -> list[list[str]]:
    rows: list[list[str]] = []
    for row in found:
        methods = f"{row['requests']} + {row['notifications']}"
        start = [str(row[name]) for name in ("revision", "era", "definitions")]
        rows.append([*start, methods, "schema.ts", str(row["schema_ts_sha256"])])
        rows.append(["", "", "", "", "schema.json", str(row["schema_json_sha256"])])
    return rows
