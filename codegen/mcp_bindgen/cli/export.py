"""`mcp-bindgen export`: the protocol as documents, as JSON Schema, OpenRPC, or a page for people."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from mcp_bindgen.cli.help import CommandGroup, Task, more
from mcp_bindgen.cli.options import OutputOption, QuietOption, VerboseOption, load, newest, revision_argument
from mcp_bindgen.cli.output import answer_document, report
from mcp_bindgen.cli.show import of_project
from mcp_bindgen.diagnostics import Diagnostics, InputError, did_you_mean
from mcp_bindgen.ingest.sources import read_source

if TYPE_CHECKING:
    from mcp_bindgen.ir.nodes import Protocol

_PAGE = "docs/reference.md"
PARTS = ("params", "result")

RevisionArgument: TypeAlias = Annotated[
    str | None, revision_argument("REVISION", "By default the project's revision, or the newest.")
]
SchemaOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE_OR_URL", help="A schema.json or a schema.ts to read; repeat to give both."),
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
    schema: SchemaOption = None,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="Only what one method's messages need.")] = None,
    part: Annotated[str | None, typer.Option(metavar="PART", help="With --method: params or result.")] = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write a revision as JSON Schema (draft 2020-12): schema.json with its errata applied, and documented."""
    from mcp_bindgen.emit.json_schema import dump, json_schema

    protocol = _protocol(revision, schema, quiet=quiet, verbose=verbose)
    answer_document(dump(json_schema(protocol, documented=True, roots=_roots(protocol, method, part))), output)


def export_openrpc(
    *,
    revision: RevisionArgument = None,
    schema: SchemaOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write a revision as an OpenRPC document, with a method for each of its messages."""
    from mcp_bindgen.emit.json_schema import dump
    from mcp_bindgen.export.openrpc import openrpc

    answer_document(dump(openrpc(_protocol(revision, schema, quiet=quiet, verbose=verbose))), output)


task = Task(app=export, prefix="mcp-bindgen export")
task.add(export_json_schema, "Write JSON Schema.", "json-schema --method tools/call --part result", _PAGE)
task.add(export_openrpc, "Write an OpenRPC document.", "openrpc 2026-07-28 --output openrpc.json", _PAGE)


def _protocol(revision: str | None, schema: list[str] | None, *, quiet: bool, verbose: bool) -> "Protocol":
    from mcp_bindgen.load import load_sources

    if not schema:
        return load(revision or of_project() or newest())
    diagnostics = Diagnostics()
    protocol = load_sources([read_source(place) for place in schema], revision, diagnostics)
    report(diagnostics, verbose=verbose, quiet=quiet)
    return protocol


def _roots(protocol: "Protocol", method: str | None, part: str | None) -> list[str]:
    """Return the definitions that a part of a method's messages may be."""
    if method is None and part is not None:
        raise InputError.at("--part", "names a part of a method; give --method, too")
    if part is not None and part not in PARTS:
        hint = did_you_mean(part, PARTS) or f"the parts are {' and '.join(PARTS)}"
        raise InputError.at(part, f"no such part of a method; {hint}")
    found = next((each for each in protocol.methods if each.name == method), None)
    if method is None:
        return []
    if found is None:
        hint = did_you_mean(method, (each.name for each in protocol.methods)) or "`mcp-bindgen show` shows a method"
        raise InputError.at(method, f"{protocol.revision} has no such method; {hint}")
    parts = {"params": (found.params,), "result": (found.result, *found.alternatives)}
    chosen = parts if part is None else {part: parts[part]}
    names = [name for each in chosen.values() for name in each if name]
    if not names:
        raise InputError.at(method, f"has no {part or 'params and no result'} in {protocol.revision}")
    return names
