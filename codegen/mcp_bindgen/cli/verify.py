"""`mcp-bindgen verify`: compares the shipped structure of a revision with an official file.

The JSON output has ``revision``, ``source``, ``sha256``, ``pinned`` (whether it is exactly the file that the structure
was extracted from), ``agrees`` and ``differences``, each with ``rule``, ``pointer``, ``shipped``, ``given`` and
``contradiction``.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, VerboseOption, revision_argument
from mcp_bindgen.cli.output import Format, answer_as, report, table
from mcp_bindgen.diagnostics import Diagnostics, count, refuse_endless_chains
from mcp_bindgen.ingest.sources import read_source

if TYPE_CHECKING:
    from mcp_bindgen.verify import Verdict


def verify(
    revision: Annotated[str, revision_argument("REVISION", "A released revision, or a shipped extension.")],
    official: Annotated[
        str, typer.Option("--schema", "--against", metavar="FILE_OR_URL", help="An official schema.json or schema.ts.")
    ],
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Compare the shipped structure of a revision or extension with an official file; exit with 1 if they differ."""
    from mcp_bindgen import verify as verification

    diagnostics = Diagnostics()
    source = read_source(official)
    with refuse_endless_chains(source.name):
        verdict = verification.verify(revision, source, diagnostics)
    answer_as(format_, lambda: _facts(verdict), lambda: "\n".join(_lines(verdict)), quiet=quiet)
    report(diagnostics, verbose=verbose, quiet=quiet)
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


def _lines(verdict: "Verdict") -> Iterator[str]:
    which = "is the pinned file" if verdict.pinned else "is not the pinned file"
    yield f"{verdict.source.name} {which} of {verdict.revision} (sha256 {verdict.source.sha256})"
    if verdict.agrees:
        yield "the shipped structure is equivalent"
        return
    yield f"the shipped structure differs in {count(len(verdict.differences), 'place')}:"
    rows = [(found.pointer, found.rule, found.left, found.right) for found in verdict.differences]
    yield table(("pointer", "what", "shipped", "given"), rows)
