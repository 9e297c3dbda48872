"""Mistakes in schemas as issues, in Markdown, ready to be filed where the schema is maintained."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.report.markdown import code, prose
from mcp_bindgen.evolution.report import Findings
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Difference, Protocol
from mcp_bindgen.load.protocol import load_sources


def of_errata(revision: str, errata: list[Difference]) -> Iterator[str]:
    """Iterate over an issue for each place where the two files of a released revision contradict each other.

    The message in it is valid by one file and not by the other.
    """
    read = Diagnostics()
    by_json, by_typescript = (_alone(revision, kind, read) for kind in (SourceKind.JSON_SCHEMA, SourceKind.TYPESCRIPT))
    found = {_place(finding.pointer): finding for finding in compare(by_json, by_typescript) if finding.witnesses}
    for pointer in dict.fromkeys(erratum.pointer for erratum in errata):
        erratum = next(each for each in errata if each.pointer == pointer)
        yield f"# schema.json and schema.ts of {revision} disagree at `{pointer}`\n"
        yield f"- `schema.ts`: `{erratum.left}`"
        yield f"- `schema.json`: `{erratum.right}`\n"
        if finding := found.get(_place(pointer)):
            yield f"This message is valid by schema.ts, and invalid by schema.json ({finding.place}):\n"
            yield from _message(next(iter(finding.witnesses.values())))
        yield "schema.json is made from schema.ts, so it is the one to correct.\n"


def of_proposal(found: Findings) -> Iterator[str]:
    """Iterate over the lines of a comment on a proposal: what its text leaves out, and doubts about its schema."""
    yield f"# What the schema of {prose(found.diff.new.name)} changes, and its text does not say\n"
    for change in found.unmentioned or ():
        places = ", ".join(map(code, change.places))
        yield f"- {code(change.name)}: {code(change.old)} -> {code(change.new)}, in {places}"
        if change.message is not None:
            yield "\n  A message that one of the two schemas accepts, and the other does not:\n"
            yield from (f"  {line}" for line in _message(change.message))
    if not found.unmentioned:
        yield "Nothing." if found.unmentioned is not None else "No text was given."
    if found.warnings:
        yield "\n# What is doubtful in the schema\n"
        yield from (f"- {prose(str(warning))}" for warning in found.warnings)


def _alone(revision: str, kind: SourceKind, diagnostics: Diagnostics) -> Protocol:
    protocol = load_sources([shipped_source(revision, kind)], kind.value, diagnostics)
    return replace(protocol, revision=revision)


def _place(pointer: str) -> str:
    """Return a pointer without the keyword that contains all definitions, which differs between the files."""
    return pointer.split("/", 2)[-1]


def _message(message: Any) -> Iterator[str]:
    yield "```json"
    yield from json.dumps(message, indent=2).splitlines()
    yield "```\n"
