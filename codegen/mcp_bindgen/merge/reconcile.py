"""Merge schema.ts, the source of truth, with schema.json, which is derived from it and contains less.

There is one rule for each kind of loss, and none for specific definitions. Every place where the two
differ becomes an erratum with both readings and the rule that settled it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from mcp_bindgen.ingest.json_schema import SchemaDocument
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.diagnostics import count
from mcp_bindgen.ir.nodes import Difference
from mcp_bindgen.merge.compare import Comparison
from mcp_bindgen.merge.join import join
from mcp_bindgen.merge.lower import lower

Table: TypeAlias = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

RULES: Mapping[str, str] = {
    "number-in-value-union": "a number next to a boolean belongs to a JSON value and admits any number",
    "null-in-value-union": "null in a union of JSON values is a value like the others",
    "number": "a number tagged as such takes fractions",
    "reference-inlined": "a copy of a named type is that type",
    "union-flattened": "nested unions and their flat form admit the same values",
    "union-order": "the order of schema.ts is the author's",
    "enum-order": "the order of schema.ts is the author's (severity, for log levels)",
    "open-literals": "the values that schema.ts names for an open string are kept as known values",
    "boolean-subschema": 'a property\'s schema may be true or false (JSON Schema); it is read as {} or {"not": {}}',
    "params-meta": "inline params that replace those of their base have its `_meta`",
}
"""The kinds of difference that are expected of the official converter, and how each is settled."""

OVERRULED = "schema.ts is the source of truth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """The merged declarations, the errata, and those differences that no rule expects."""

    declarations: Mapping[str, Declaration]
    errata: tuple[Difference, ...]
    unexpected: tuple[Difference, ...]


def reconcile(typescript: TypeScriptDocument, schema: SchemaDocument, *, official: bool = False) -> Reconciled:
    """Merge the two readings of one revision; if `official`, MCP's converter made the schema.json (see `lower`)."""
    declarations = lower(typescript, schema.declarations, official=official)
    ours, theirs = join(declarations, typescript.source), join(schema.declarations, schema.source)
    differences = list(Comparison(ours, theirs).declarations())
    return Reconciled(
        declarations=declarations,
        errata=tuple(differences),
        unexpected=tuple(d for d in differences if d.rule not in RULES),
    )


def _sentence(rule: str) -> str:
    return RULES.get(rule, OVERRULED)


def facts_of(erratum: Difference) -> dict[str, Any]:
    """Return the JSON output about an erratum."""
    return {
        "rule": erratum.rule,
        "pointer": erratum.pointer,
        "json": erratum.right,
        "typescript": erratum.left,
        "contradiction": erratum.contradiction,
        "sentence": _sentence(erratum.rule),
    }


def lines_of(revision: str, rows: Sequence[Difference], table: Table, *, every: bool) -> Iterator[str]:
    """Iterate over what people read of a revision's errata; `every` lists the places, which `table` lays out."""
    contradictions = sum(erratum.contradiction for erratum in rows)
    differences = f"{len(rows)} {'difference' if len(rows) == 1 else 'differences'}"
    yield f"{revision}: {differences}, {count(contradictions, 'contradiction')}"
    for (contradiction, rule), group in groupby(rows, key=lambda erratum: (erratum.contradiction, erratum.rule)):
        places = list(group)
        mark = "contradiction, " if contradiction else ""
        yield f"  {rule} ({mark}{count(len(places), 'place')}): {_sentence(rule)}"
        if every:
            cells = [(place.pointer, place.right, place.left) for place in places]
            yield from (f"    {line}" for line in table(("pointer", "schema.json", "schema.ts"), cells).splitlines())
    yield ""
