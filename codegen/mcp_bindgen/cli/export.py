"""`mcp-bindgen export`: the protocol as documents: JSON Schema, OpenRPC, the representation, or a page for people."""

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from mcp_bindgen.cli import options
from mcp_bindgen.cli.help import CommandGroup, Task, more
from mcp_bindgen.cli.output import answer, answer_document
from mcp_bindgen.diagnostics import InputError, refuse_endless_chains
from mcp_bindgen.ingest.revisions import released

_PAGE = "docs/reference.md"

RevisionArgument: TypeAlias = Annotated[
    str | None, options.revision_argument("REVISION", "By default the project's revision, or the newest.")
]

export = typer.Typer(
    cls=CommandGroup,
    epilog=more("mcp-bindgen export json-schema 2025-11-25", _PAGE),
    help="Write the protocol as documents for people and for other tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def export_json_schema(
    *,
    revision: RevisionArgument = None,
    schema: options.SchemaOption = None,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="Only what one method's messages need.")] = None,
    part: Annotated[str | None, typer.Option(metavar="PART", help="With --method: params or result.")] = None,
    output: options.OutputOption = None,
    quiet: options.QuietOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Write a revision as JSON Schema (draft 2020-12): schema.json with its errata applied, and documented."""
    from mcp_bindgen.emit.json_schema import dump, json_schema, roots_of

    protocol = options.load(revision, schema=schema, quiet=quiet, verbose=verbose)
    answer_document(dump(json_schema(protocol, documented=True, roots=roots_of(protocol, method, part))), output)


def export_openrpc(
    *,
    revision: RevisionArgument = None,
    schema: options.SchemaOption = None,
    output: options.OutputOption = None,
    quiet: options.QuietOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Write a revision as an OpenRPC document, with a method for each of its messages."""
    from mcp_bindgen.emit.json_schema import dump
    from mcp_bindgen.export.openrpc import openrpc

    answer_document(dump(openrpc(options.load(revision, schema=schema, quiet=quiet, verbose=verbose))), output)


def export_ir(
    *,
    revision: RevisionArgument = None,
    schema: options.SchemaOption = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Write the JSON Schema of the document instead.")
    ] = False,
    output: options.OutputOption = None,
    quiet: options.QuietOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Write what the compiler knows of a revision as JSON, for a generator in any language.

    Each definition and property has its file and line.
    """
    from mcp_bindgen.emit.json_schema import dump
    from mcp_bindgen.export.ir import ir, schema_path

    if json_schema:
        answer_document(schema_path().read_text("utf-8"), output)
        return
    answer_document(dump(ir(options.load(revision, schema=schema, quiet=quiet, verbose=verbose))), output)


def export_reference(
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")],
    schema: options.SchemaOption = None,
    revision: Annotated[str | None, options.revision_option("The revision of --schema.")] = None,
    templates: options.TemplatesOption = None,
    rules: Annotated[str, typer.Option(metavar="URL", help="The page on the rules of diff, to link them.")] = "",
    check: options.CheckOption = False,
    quiet: options.QuietOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Write a page with every method, type and error code of all revisions, for a browser without a network.

    A schema adds its revision, or replaces the released one of its name.
    """
    if out.is_dir():
        raise InputError.at(out, "a directory; name a file")
    from mcp_bindgen.diff.compare import compare
    from mcp_bindgen.emit.python.render import Templates
    from mcp_bindgen.emit.swap import write_trees
    from mcp_bindgen.emit.tree import Extent, Tree
    from mcp_bindgen.emit.tree import compare as compare_tree
    from mcp_bindgen.export.reference import SHELF, reference

    protocols = {name: options.load(name) for name in released()}
    if schema:
        own = options.load(revision, schema=schema, quiet=quiet, verbose=verbose)
        protocols[own.revision] = own
    every = [protocols[name] for name in sorted(protocols)]
    with refuse_endless_chains(", ".join(schema or ())):
        changes = {(old.revision, new.revision): compare(old, new, proven=False) for old, new in pairwise(every)}
        command = f"mcp-bindgen export reference --out {shlex.quote(out.name)}"
        text = reference(every, changes, Templates(templates, shelf=SHELF), command, rules)
    tree = Tree(folder=out.resolve().parent, files={out.name: text}, extent=Extent.LISTED)
    stale = bool(compare_tree(tree).paths)
    if not check:
        write_trees([tree], tree.folder / out.name)
    if not quiet:
        answer(f"{'up to date:' if not stale else 'differs:' if check else 'wrote'} {out}")
    raise typer.Exit(int(check and stale))


task = Task(app=export, prefix="mcp-bindgen export")
task.add(export_json_schema, "Write JSON Schema.", "json-schema --method tools/call --part result", _PAGE)
task.add(export_reference, "Write a page to browse.", "reference --out protocol.html", _PAGE)
task.add(export_ir, "Write the representation.", "ir 2025-11-25 --output ir.json", "docs/ir.md")
task.add(export_openrpc, "Write an OpenRPC document.", "openrpc 2026-07-28 --output openrpc.json", _PAGE)
