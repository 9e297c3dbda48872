"""`mcp-bindgen verify`: compares the shipped structure of a revision with an official file.

The JSON output has ``revision``, ``source``, ``sha256``, ``pinned`` (whether it is exactly the file that the structure
was extracted from), ``agrees`` and ``differences``, each with ``rule``, ``pointer``, ``shipped``, ``given`` and
``contradiction``.
"""

from typing import Annotated

import typer

from mcp_bindgen.cli.options import FormatOption, Printing, revision_argument
from mcp_bindgen.cli.output import answer_as, table
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains
from mcp_bindgen.ingest.sources import read_source


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
