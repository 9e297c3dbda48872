"""Compare the shipped structure of a revision with an official file.

A schema.json is compared with the shipped JSON half; a schema.ts with the shipped TypeScript half, both lowered with
the shipped JSON half as a hint. What remains are real differences, except in annotations, which the shipped structure
does not take from the files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_bindgen.ingest.extensions import ExtensionTable, shipped_extensions, shipped_structure
from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, count
from mcp_bindgen.ir.nodes import Difference, Object
from mcp_bindgen.load.extension import lower_extension, read_extension
from mcp_bindgen.load.protocol import Halves, read_halves
from mcp_bindgen.merge.compare import Comparison
from mcp_bindgen.merge.join import join
from mcp_bindgen.merge.lower import lower

UNJUDGED = frozenset(("format",))
"""Kinds of differences that do not affect messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a comparison: `pinned` says whether the structure was extracted from exactly this file."""

    revision: str
    source: SourceText
    pinned: bool
    differences: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether the two are equivalent."""
        return not self.differences

    def as_json(self) -> dict[str, object]:
        """Return the JSON output."""
        return {
            "revision": self.revision,
            "source": self.source.name,
            "sha256": self.source.sha256,
            "pinned": self.pinned,
            "agrees": self.agrees,
            "differences": [
                {
                    "rule": difference.rule,
                    "pointer": difference.pointer,
                    "shipped": difference.left,
                    "given": difference.right,
                    "contradiction": difference.contradiction,
                }
                for difference in self.differences
            ],
        }

    def lines(self, table: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> Iterator[str]:
        """Iterate over what people read; `table` lays out rows."""
        which = "is the pinned file" if self.pinned else "is not the pinned file"
        yield f"{self.source.name} {which} of {self.revision} (sha256 {self.source.sha256})"
        if self.agrees:
            yield "the shipped structure is equivalent"
            return
        yield f"the shipped structure differs in {count(len(self.differences), 'place')}:"
        rows = [(found.pointer, found.rule, found.left, found.right) for found in self.differences]
        yield table(("pointer", "what", "shipped", "given"), rows)


def verify(revision: str, official: SourceText, diagnostics: Diagnostics) -> Verdict:
    """Compare the shipped structure of a released revision, or of an extension, with a schema.json or schema.ts.

    Raises:
        InputError: there is no such revision, or the file cannot be read.
    """
    if revision in shipped_extensions():
        return _verify_extension(shipped_extensions()[revision], official, diagnostics)
    if revision not in released():
        raise InputError.at(revision, f"no such revision; the released ones are {', '.join(released())}")
    shipped = read_halves([shipped_source(revision, kind) for kind in SourceKind], Diagnostics())
    given = read_halves([official], diagnostics)
    diagnostics.raise_errors()
    pins = released()[revision]
    is_json = official.kind is SourceKind.JSON_SCHEMA
    differences = _differences(shipped, given)
    return Verdict(
        revision=revision,
        source=official,
        pinned=official.sha256 == (pins.schema_json_sha256 if is_json else pins.schema_ts_sha256),
        differences=tuple(differences),
    )


def _verify_extension(table: ExtensionTable, official: SourceText, diagnostics: Diagnostics) -> Verdict:
    if official.kind is not SourceKind.TYPESCRIPT:
        raise InputError.at(official.name, f"the structure of {table.id} comes from its schema.ts; give that")
    sides = [read_extension(source, table.revision, diagnostics) for source in (shipped_structure(table), official)]
    diagnostics.raise_errors()
    ours, theirs = (join(lower_extension(side, table.revision, whole=True), side.source) for side in sides)
    differences = (*_constants(*sides), *_compared(ours, theirs), *_bases(ours, theirs))
    pinned = official.sha256 == table.sha256
    return Verdict(revision=table.id, source=official, pinned=pinned, differences=differences)


def _differences(shipped: Halves, given: Halves) -> list[Difference]:
    assert shipped.schema is not None and shipped.typescript is not None, "both halves are shipped"
    if given.schema is not None:
        return list(_compared(shipped.schema.declarations, given.schema.declarations))
    assert given.typescript is not None, "a source is one of the two"
    ours, theirs = (lower(half, shipped.schema.declarations) for half in (shipped.typescript, given.typescript))
    return [*_constants(shipped.typescript, given.typescript), *_compared(ours, theirs), *_bases(ours, theirs)]


def _compared(ours: Mapping[str, Declaration], theirs: Mapping[str, Declaration]) -> Iterator[Difference]:
    return (found for found in Comparison(ours, theirs).declarations() if found.rule not in UNJUDGED)


def _constants(ours: TypeScriptDocument, theirs: TypeScriptDocument) -> Iterator[Difference]:
    for name in dict.fromkeys((*ours.constants, *theirs.constants)):
        sides = [repr(half.constants[name]) if name in half.constants else "-" for half in (ours, theirs)]
        if sides[0] != sides[1]:
            yield Difference(rule="constant", pointer=f"/{name}", left=sides[0], right=sides[1], contradiction=True)


def _bases(ours: Mapping[str, Declaration], theirs: Mapping[str, Declaration]) -> Iterator[Difference]:
    """Compare inherited properties: `Comparison` does not distinguish them."""
    for name, declaration in ours.items():
        sides = [declaration.type, theirs[name].type] if name in theirs else []
        bases = [side.bases if isinstance(side, Object) else () for side in sides]
        if bases and bases[0] != bases[1]:
            left, right = (", ".join(base.name for base in side) or "-" for side in bases)
            pointer = declaration.pointer or f"/{name}"
            yield Difference(rule="extends", pointer=pointer, left=left, right=right, contradiction=False)
