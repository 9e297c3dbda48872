"""`mcp-bindgen errata`: where schema.json and schema.ts differ, and which rule resolves it.

The JSON output is a list with one object for each revision: ``revision`` and ``errata``, each with ``rule``,
``sentence``, ``contradiction``, ``pointer``, ``json`` and ``typescript``.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from mcp_bindgen.cli.options import Printing, QuietOption, SchemaOption, load, revision_argument
from mcp_bindgen.cli.output import IssueFormat, answer_as, answer_verbatim, table
from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Erratum


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


def _order(erratum: Erratum) -> tuple[bool, str, str]:
    return not erratum.contradiction, erratum.rule, erratum.pointer


def _issues(revision: str, rows: Sequence[Erratum]) -> Iterator[str]:
    from mcp_bindgen.evolution.issues import of_errata  # comparing takes longer than all else

    return of_errata(revision, [erratum for erratum in rows if erratum.contradiction])
