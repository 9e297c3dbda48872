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

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

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
    from mcp_bindgen.export.facts import Facts, found_text
    from mcp_bindgen.load.protocol import history

    protocol = load(revision, extension, schema, Printing(quiet=quiet))
    facts = Facts(protocol, history(protocol))
    found = facts.find(name)
    having = facts.history.revisions(name)
    text = found_text(found, facts, table)
    others = [other for other in having if other != protocol.revision]
    where = f"also in {', '.join(others)}" if others else "in no other revision"
    name = f"{protocol.revision} with {extension}" if extension else protocol.revision
    answer_as(
        format_,
        lambda: {**asdict(found), "revision": protocol.revision, "revisions": having},
        lambda: f"{text}\n\nrevision {name}; {where}",
        quiet=quiet,
    )


def list_revisions(quiet: QuietOption = False, format_: FormatOption = "text") -> None:
    """List the released revisions: era, definitions, methods, and the sha256 of the official files."""
    from mcp_bindgen.export.facts import revision_facts, revision_rows

    found: list[Mapping[str, object]] = []
    with progress(len(released()), quiet=quiet) as step:
        for revision in released():
            step(revision)
            found.append(revision_facts(load(revision)))
    headings = ("revision", "era", "definitions", "methods", "official file", "sha256")
    answer_as(format_, lambda: found, lambda: table(headings, revision_rows(found)), quiet=quiet)
