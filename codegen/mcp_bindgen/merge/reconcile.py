"""Merge schema.ts, the source of truth, with schema.json, which is derived from it and contains less.

There is one rule for each kind of loss, and none for specific definitions. Every place where the two
differ becomes an erratum with both readings and the rule that settled it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.ingest.json_schema import SchemaDocument
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.nodes import Erratum
from mcp_bindgen.merge.compare import Comparison, Difference
from mcp_bindgen.merge.join import join
from mcp_bindgen.merge.lower import lower

RULES: Mapping[str, str] = {
    "number-in-value-union": "a number next to a boolean belongs to a JSON value and admits any number",
    "null-in-value-union": "null in a union of JSON values is a value like the others",
    "number": "a number tagged as such takes fractions",
    "reference-inlined": "a copy of a named type is that type",
    "union-flattened": "nested unions and their flat form admit the same values",
    "union-order": "the order of schema.ts is the author's",
    "enum-order": "the order of schema.ts is the author's (severity, for log levels)",
    "open-literals": "the values that schema.ts names for an open string are kept as known values",
    "params-meta": "inline params that replace those of their base have its `_meta`",
}
"""The kinds of difference that are expected of the official converter, and how each is settled."""

OVERRULED = "schema.ts is the source of truth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """The merged declarations, the errata, and those differences that no rule expects."""

    declarations: Mapping[str, Declaration]
    errata: tuple[Erratum, ...]
    unexpected: tuple[Difference, ...]


def reconcile(typescript: TypeScriptDocument, schema: SchemaDocument) -> Reconciled:
    """Merge the two readings of one revision."""
    declarations = lower(typescript, schema.declarations)
    ours, theirs = join(declarations, typescript.source), join(schema.declarations, schema.source)
    differences = list(Comparison(ours, theirs).declarations())
    return Reconciled(
        declarations=declarations,
        errata=tuple(_erratum(difference) for difference in differences),
        unexpected=tuple(d for d in differences if d.rule not in RULES),
    )


def _erratum(difference: Difference) -> Erratum:
    return Erratum(
        rule=difference.rule,
        pointer=difference.pointer,
        json=difference.right,
        typescript=difference.left,
        contradiction=difference.contradiction,
    )
