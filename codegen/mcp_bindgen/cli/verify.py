"""`mcp-bindgen verify`: compares the shipped structure of a revision with an official file.

The JSON output has ``revision``, ``source``, ``sha256``, ``pinned`` (whether it is exactly the file that the structure
was extracted from), ``agrees`` and ``differences``, each with ``rule``, ``pointer``, ``shipped``, ``given`` and
``contradiction``.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, VerboseOption, complete_revision
from mcp_bindgen.cli.output import Format, answer, answer_json, count, report, table
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains
from mcp_bindgen.ingest.sources import read_source

if TYPE_CHECKING:
    from mcp_bindgen.verify import Verdict


def verify(
    revision: Annotated[
        str, typer.Argument(metavar="REVISION", help="A released revision.", autocompletion=complete_revision)
    ],
    against: Annotated[str, typer.Option(metavar="FILE_OR_URL", help="An official schema.json or schema.ts.")],
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Compare the shipped structure of a revision with an official file; exit with status 1 if they differ."""
    from mcp_bindgen import verify as verification

    diagnostics = Diagnostics()
    official = read_source(against)
    with refuse_endless_chains(official.name):
        verdict = verification.verify(revision, official, diagnostics)
    if format_ is Format.JSON:
        answer_json(_facts(verdict))
    elif not quiet:
        _print(verdict)
    if not quiet:
        report(diagnostics, verbose=verbose)
    raise typer.Exit(0 if verdict.agrees else 1)


def _facts(verdict: "Verdict") -> dict[str, object]:
    return {
        "revision": verdict.revision,
        "source": verdict.source.name,
        "sha256": verdict.source.sha256,
        "pinned": verdict.pinned,
        "agrees": verdict.agrees,
        "differences": [
            {
                "rule": difference.rule,
                "pointer": difference.pointer,
                "shipped": difference.left,
                "given": difference.right,
                "contradiction": difference.contradiction,
            }
            for difference in verdict.differences
        ],
    }


def _print(verdict: "Verdict") -> None:
    which = "is the pinned file" if verdict.pinned else "is not the pinned file"
    answer(f"{verdict.source.name} {which} of {verdict.revision} (sha256 {verdict.source.sha256})")
    if verdict.agrees:
        answer("the shipped structure is equivalent")
        return
    number = len(verdict.differences)
    answer(f"the shipped structure differs in {count(number, 'place')}:")
    rows = [(found.pointer, found.rule, found.left, found.right) for found in verdict.differences]
    answer(table(("pointer", "what", "shipped", "given"), rows))
