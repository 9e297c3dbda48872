"""`mcp-bindgen errata`: where schema.json and schema.ts differ, and which rule resolves it.

The JSON output is a list with one object for each revision: ``revision`` and ``errata``, each with ``rule``,
``sentence``, ``contradiction``, ``pointer``, ``json`` and ``typescript``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Any

import typer

from mcp_bindgen.cli.options import QuietOption, SchemaOption, load, revision_argument
from mcp_bindgen.cli.output import Format, IssueFormat, answer_as, answer_verbatim, table
from mcp_bindgen.diagnostics import InputError, count
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Erratum


def errata(
    revision: Annotated[str | None, revision_argument("REVISION", "By default, a summary of all.")] = None,
    schema: SchemaOption = None,
    all_: Annotated[bool, typer.Option("--all", help="Print every difference in every revision.")] = False,
    quiet: QuietOption = False,
    format_: Annotated[
        IssueFormat, typer.Option("--format", help="issue is Markdown to file upstream.")
    ] = IssueFormat.TEXT,
) -> None:
    """List the differences between the official schema.json and schema.ts.

    A contradiction is a difference in the valid messages; otherwise the JSON is only less detailed.
    """
    if schema and format_ is IssueFormat.ISSUE:
        raise InputError.at("--schema", "issues are about released revisions; leave it out")
    names = [revision] if revision or schema else list(released())
    loaded = [load(name, schema=schema, quiet=quiet) for name in names]
    found = {protocol.revision: sorted(protocol.errata, key=_order) for protocol in loaded}
    if format_ is IssueFormat.ISSUE:
        answer_verbatim("\n".join(line for name, rows in found.items() for line in _issues(name, rows)))
        return
    every = all_ or len(names) == 1
    answer_as(
        Format(format_.value),
        lambda: [{"revision": name, "errata": [_facts(e) for e in rows]} for name, rows in found.items()],
        lambda: "\n".join(line for name, rows in found.items() for line in _lines(name, rows, every=every)),
        quiet=quiet,
    )


def _order(erratum: Erratum) -> tuple[bool, str, str]:
    return not erratum.contradiction, erratum.rule, erratum.pointer


def _issues(revision: str, rows: Sequence[Erratum]) -> Iterator[str]:
    from mcp_bindgen.evolution.issues import of_errata  # comparing takes longer than all else

    return of_errata(revision, [erratum for erratum in rows if erratum.contradiction])


def _sentence(rule: str) -> str:
    from mcp_bindgen.merge.reconcile import OVERRULED, RULES  # as in `load`

    return RULES.get(rule, OVERRULED)


def _facts(erratum: Erratum) -> dict[str, Any]:
    return {**asdict(erratum), "sentence": _sentence(erratum.rule)}


def _lines(revision: str, rows: Sequence[Erratum], *, every: bool) -> Iterator[str]:
    contradictions = sum(erratum.contradiction for erratum in rows)
    differences = f"{len(rows)} {'difference' if len(rows) == 1 else 'differences'}"
    yield f"{revision}: {differences}, {count(contradictions, 'contradiction')}"
    for (contradiction, rule), group in groupby(rows, key=lambda erratum: (erratum.contradiction, erratum.rule)):
        places = list(group)
        mark = "contradiction, " if contradiction else ""
        yield f"  {rule} ({mark}{count(len(places), 'place')}): {_sentence(rule)}"
        if every:
            cells = [(place.pointer, place.json, place.typescript) for place in places]
            yield from (f"    {line}" for line in table(("pointer", "schema.json", "schema.ts"), cells).splitlines())
    yield ""
