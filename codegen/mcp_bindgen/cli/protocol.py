"""The commands for those who write the protocol: `mcp-bindgen proposal`, `errata` and `verify`.

The JSON output of ``proposal``: ``diff`` (the report of `diff`), ``unmentioned`` (each ``rule``, ``name``, ``old``,
``new`` and ``places``; null without --text), ``warnings`` (those that its base does not have), ``bridge`` (as in
`bridge`), ``by_hand`` (each ``what``, ``work``, ``files``), and ``written``. That of ``errata`` is a list with one
object for each revision: ``revision`` and ``errata``, each with ``rule``, ``sentence``, ``contradiction``, ``pointer``,
``json`` and ``typescript``. That of ``verify`` has ``revision``, ``source``, ``sha256``, ``pinned`` (whether it is
exactly the file that the structure was extracted from), ``agrees`` and ``differences``, each with ``rule``,
``pointer``, ``shipped``, ``given`` and ``contradiction``.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.options import (
    AllOption,
    FormatOption,
    OutputOption,
    Printing,
    QuietOption,
    SchemaOption,
    load,
    revision_argument,
    revision_option,
)
from mcp_bindgen.cli.output import IssueFormat, answer_as, answer_document, answer_verbatim, table
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import public_name, read_source
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, refuse_endless_chains
from mcp_bindgen.ir.nodes import Difference

PACKAGE = "proposal_bindings"
"""The package that --out gets: `mcp_bindgen.evolution.report` writes it."""


def proposal(
    *,
    proposals: Annotated[
        list[str],
        typer.Argument(
            metavar="PROPOSAL...", help="A schema.ts, a page with blocks of it, a URL, COMMIT:PATH or COMMIT in git."
        ),
    ],
    base: Annotated[
        list[str] | None,
        revision_option(
            "The revision that it branched from; repeat it if each proposal has its own (default: the newest)."
        ),
    ] = None,
    onto: Annotated[
        str | None, revision_option("Apply what is proposed to this one; by default to the first base.")
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The prose of the proposals, to report what it leaves out; repeat for more."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Write the schema.ts and the package {PACKAGE} to this folder.")
    ] = None,
    everything: AllOption = False,
    output: OutputOption = None,
    quiet: QuietOption = False,
    format_: Annotated[
        IssueFormat, typer.Option("--format", help="Output format; issue is Markdown to file upstream.")
    ] = "text",
) -> None:
    """Show what a proposal changes, what its text leaves out, what peers of its base get, and what is left to write.

    Several proposals are merged in the order given.
    """
    from mcp_bindgen.evolution.issues import of_proposal
    from mcp_bindgen.evolution.prose import read_prose
    from mcp_bindgen.evolution.read import read_sides
    from mcp_bindgen.evolution.report import findings_of, write_proposal

    prose = "\n".join(map(read_prose, text)) if text else None
    sides = read_sides(proposals, base or [list(released())[-1]], onto)
    with refuse_endless_chains(public_name(sides.head.name)):
        found = findings_of(sides, prose)
    written = write_proposal(sides.head.source, out) if out else ()
    if format_ == "json":
        lines = [json.dumps({**found.as_json(), "written": list(written)}, indent=2)]
    elif format_ == "issue":
        lines = list(of_proposal(found))
    else:
        lines = [*found.lines(everything=everything), *(f"wrote {place}" for place in written)]
    page = "\n".join(lines) + "\n"
    if output or not quiet or format_ != "text":
        answer_document(page, output)


def errata(
    revision: Annotated[str | None, revision_argument("REVISION", "By default, a summary of all.")] = None,
    schema: SchemaOption = None,
    all_: Annotated[bool, typer.Option("--all", help="Print every difference in every revision.")] = False,
    quiet: QuietOption = False,
    format_: Annotated[
        IssueFormat, typer.Option("--format", help="Output format; issue is Markdown to file upstream.")
    ] = "text",
) -> None:
    """List the differences between the official schema.json and schema.ts.

    A contradiction is a difference in the valid messages; otherwise the JSON is only less detailed.
    """
    from mcp_bindgen.merge.reconcile import facts_of, lines_of  # as in `load`

    if schema and format_ == "issue":
        raise InputError.at("--schema", "issues are about released revisions; leave it out")
    names = [revision] if revision or schema else list(released())
    loaded = [load(name, schema=schema, printing=Printing(quiet=quiet)) for name in names]
    found = {protocol.revision: sorted(protocol.errata, key=_order) for protocol in loaded}
    if format_ == "issue":
        answer_verbatim("\n".join(line for name, rows in found.items() for line in _issues(name, rows)))
        return
    every = all_ or len(names) == 1
    answer_as(
        format_,
        lambda: [{"revision": name, "errata": [facts_of(e) for e in rows]} for name, rows in found.items()],
        lambda: "\n".join(line for name, rows in found.items() for line in lines_of(name, rows, table, every=every)),
        quiet=quiet,
    )


def _order(erratum: Difference) -> tuple[bool, str, str]:
    return not erratum.contradiction, erratum.rule, erratum.pointer


def _issues(revision: str, rows: Sequence[Difference]) -> Iterator[str]:
    from mcp_bindgen.evolution.issues import of_errata  # comparing takes longer than all else

    return of_errata(revision, [erratum for erratum in rows if erratum.contradiction])


def verify(
    *,
    revision: Annotated[str, revision_argument("REVISION", "A released revision, or a shipped extension.")],
    official: Annotated[
        str, typer.Option("--against", metavar="FILE_OR_URL", help="An official schema.json or schema.ts.")
    ],
    printing: Printing,
    format_: FormatOption = "text",
) -> None:
    """Compare the shipped structure of a revision or extension with an official file; exit with 1 if they differ."""
    from mcp_bindgen.evolution import verify as verification

    diagnostics = Diagnostics()
    source = read_source(official)
    with refuse_endless_chains(source.name):
        verdict = verification.verify(revision, source, diagnostics)
    answer_as(format_, verdict.as_json, lambda: "\n".join(verdict.lines(table)), quiet=printing.quiet)
    printing.report(diagnostics)
    raise typer.Exit(0 if verdict.agrees else 1)
