"""`mcp-bindgen export`: the protocol as documents: JSON Schema, OpenRPC, the representation, or a page for people."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli import options
from mcp_bindgen.cli.help import CommandGroup, Task, more
from mcp_bindgen.cli.output import answer
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.diagnostics import InputError, refuse_endless_chains

_PAGE = "docs/reference.md"

export = typer.Typer(
    cls=CommandGroup,
    epilog=more("mcp-bindgen export json-schema 2025-11-25", _PAGE),
    help="Write the protocol as documents for people and for other tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def export_json_schema(
    *,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="Only what one method's messages need.")] = None,
    part: Annotated[str | None, typer.Option(metavar="PART", help="With --method: params or result.")] = None,
    document: options.Document,
) -> None:
    """Write a revision as JSON Schema (draft 2020-12): schema.json with its errata applied, and documented."""
    from mcp_bindgen.emit.json_schema import dump, json_schema, roots_of

    protocol = document.load()
    document.write(dump(json_schema(protocol, documented=True, roots=roots_of(protocol, method, part))))


def export_openrpc(
    *,
    document: options.Document,
) -> None:
    """Write a revision as an OpenRPC document, with a method for each of its messages."""
    from mcp_bindgen.emit.json_schema import dump
    from mcp_bindgen.export.openrpc import openrpc

    document.write(dump(openrpc(document.load())))


def export_ir(
    *,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Write the JSON Schema of the document instead.")
    ] = False,
    document: options.Document,
) -> None:
    """Write what the compiler knows of a revision as JSON, for a generator in any language.

    Each definition and property has its file and line.
    """
    from mcp_bindgen.emit.json_schema import dump
    from mcp_bindgen.export.ir import ir, schema_path

    document.write(schema_path().read_text("utf-8") if json_schema else dump(ir(document.load())))


def export_reference(
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")],
    schema: options.SchemaOption = None,
    revision: Annotated[str | None, options.revision_option("The revision of --schema.")] = None,
    templates: options.TemplatesOption = None,
    rules: Annotated[str, typer.Option(metavar="URL", help="The page on the rules of diff, to link them.")] = "",
    check: options.CheckOption = False,
    printing: options.Printing,
) -> None:
    """Write a page with every method, type and error code of all revisions, for a browser without a network.

    A schema adds its revision, or replaces the released one of its name.
    """
    if out.is_dir():
        raise InputError.at(out, "a directory; name a file")
    from mcp_bindgen.emit.python.render import Templates
    from mcp_bindgen.export.reference import SHELF, write_reference

    protocols = {name: options.load(name) for name in released()}
    if schema:
        own = options.load(revision, schema=schema, printing=printing)
        protocols[own.revision] = own
    with refuse_endless_chains(", ".join(schema or ())):
        every = [protocols[name] for name in sorted(protocols)]
        stale = write_reference(every, out, Templates(templates, shelf=SHELF), rules, check=check)
    if not printing.quiet:
        answer(f"{'up to date:' if not stale else 'differs:' if check else 'wrote'} {out}")
    raise typer.Exit(int(check and stale))


task = Task(app=export, prefix="mcp-bindgen export")
task.add(export_json_schema, "Write JSON Schema.", "json-schema --method tools/call --part result", _PAGE)
task.add(export_reference, "Write a page to browse.", "reference --out protocol.html", _PAGE)
task.add(export_ir, "Write the representation.", "ir 2025-11-25 --output ir.json", "docs/ir.md")
task.add(export_openrpc, "Write an OpenRPC document.", "openrpc 2026-07-28 --output openrpc.json", _PAGE)
