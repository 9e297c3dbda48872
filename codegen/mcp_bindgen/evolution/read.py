"""Read proposals and their bases: revisions, files, Markdown, URLs, and states of a git repository."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from mcp_bindgen.diff.inputs import UNNAMED, side_source
from mcp_bindgen.evolution.merge import Proposed, merge, overlay
from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.sources import BLOCK, SourceKind, SourceText, decode, is_url, public_name
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import facts_from_document
from mcp_bindgen.ingest.typescript_source import parse_source
from mcp_bindgen.ir.diagnostics import Diagnostic, Diagnostics, InputError, Location
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_sources

DRAFT = "schema/draft/schema.ts"
"""The file of the specification's repository that a proposal changes."""
MERGED = "the merged proposals"
"""The name of what several proposals result in."""
_DECLARED = re.compile(r"\b(?:interface|type|enum)\s+(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalSide:
    """The base or the result: its name for the user, its schema.ts, and the revision that this states, if any."""

    name: str
    source: SourceText
    revision: str | None

    def load(self, diagnostics: Diagnostics) -> Protocol:
        """Load the schema.ts alone: a released revision's schema.json says more, and only the base may have one.

        Raises:
            InputError: it is not an MCP schema.
        """
        return replace(load_sources([self.source], "proposal", diagnostics), revision=self.revision or UNNAMED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The sides to compare, the types that the files declare, and the blocks of pages that were left out."""

    base: ProposalSide
    head: ProposalSide
    declared: frozenset[str]
    left_out: tuple[Diagnostic, ...] = ()


def read_sides(proposals: Sequence[str], bases: Sequence[str], onto: str | None) -> Sides:
    """Read proposals, each with its base; what they change is applied in turn to `onto`, by default the first base.

    One base serves all of several proposals.

    Raises:
        InputError: one of them cannot be read or is not TypeScript, or two change the same place differently.
    """
    if len(bases) not in (1, len(proposals)):
        message = f"given {len(bases)} times for {len(proposals)} proposals; give one base for all, or one for each"
        raise InputError.at("--base", message)
    bases = [_named(base) for base in bases]
    heads = [_named(proposal) for proposal in proposals]
    left_out = Diagnostics()
    each = [
        proposed(head, base, left_out) for head, base in zip(heads, [*bases, *bases[:1] * len(heads)], strict=False)
    ]
    target = _named(onto) if onto else bases[0]
    known = facts_of(target)
    revision = known["revision"]
    name = heads[0] if len(each) == 1 else MERGED
    if len(each) == 1 and target == bases[0] and not _is_markdown(heads[0]):
        source, revision = _source(heads[0]), each[0].head["revision"]
    else:
        text = merge(public_name(target), known, each)
        source = SourceText(
            name=f"{public_name(name)} applied to {public_name(target)}", kind=SourceKind.TYPESCRIPT, data=text.encode()
        )
    facts = [known, *(change.head for change in each)]
    return Sides(
        base=ProposalSide(name=target, source=_source(target), revision=known["revision"]),
        head=ProposalSide(name=name, source=source, revision=revision),
        declared=frozenset(declaration["name"] for side in facts for declaration in side["declarations"]),
        left_out=tuple(left_out),
    )


def _named(side: str) -> str:
    """Return a side as `side_source` reads it: a bare git reference stands for the draft of its commit."""
    if side in released() or is_url(side) or ":" in side or Path(side).exists() or Path(side).suffix:
        return side
    return f"{side}:{DRAFT}"


def proposed(head: str, base: str, left_out: Diagnostics | None = None) -> Proposed:
    """Return what a proposal, whole or as a page, changes in its base, both as a user names them.

    A block of a page that does not parse, such as a sketch, is left out with a warning.

    Raises:
        InputError: one of them cannot be read, or is not TypeScript.
    """
    before = facts_of(base)
    after = (
        overlay(before, _fragment(head, before, left_out or Diagnostics())) if _is_markdown(head) else facts_of(head)
    )
    return Proposed(name=public_name(head), base=before, head=after)


def _is_markdown(side: str) -> bool:
    return public_name(side).endswith((".md", ".mdx"))


def _source(side: str) -> SourceText:
    return shipped_source(side, SourceKind.TYPESCRIPT) if side in released() else side_source(side)


def facts_of(side: str) -> Mapping[str, Any]:
    """Return the facts of a schema.ts that a user names, or of a released revision.

    Raises:
        InputError: it cannot be read, or is not TypeScript.
    """
    source = _source(side)
    if side in released():
        found: Mapping[str, Any] = json.loads(source.data)
        return found
    if source.kind is not SourceKind.TYPESCRIPT:
        raise InputError.at(source.name, "a schema.json; a proposal and its base are read from a schema.ts")
    return _read(source, decode(source))


def _fragment(side: str, base: Mapping[str, Any], left_out: Diagnostics) -> Mapping[str, Any]:
    """Read the blocks of a page, which may use every type of the base."""
    source = side_source(side)
    text = "\n".join(_sound(source.name, decode(source).split("\n"), left_out))
    names = {declaration["name"] for declaration in base["declarations"]}
    used = sorted(names - set(_DECLARED.findall(text)))
    return _read(source, f'{text}\nimport type {{ {", ".join(used)} }} from "base";\n', names)


def _sound(name: str, lines: list[str], left_out: Diagnostics) -> list[str]:
    """Return the lines of a page, those of blocks that do not parse emptied.

    Raises:
        InputError: no block parses.
    """
    starts = [number for number, line in enumerate(lines) if line == BLOCK.decode()]
    problems = Diagnostics()
    for start, end in pairwise([*starts, len(lines)]):

        def place(line: int, column: int | None, start: int = start) -> Location:
            return Location(source=name, line=start + line, column=column)

        found = Diagnostics()
        parse_source("\n".join(lines[start:end]), place, found)
        problems.extend(found)
        if found.errors:
            first = found.errors[0]
            left_out.warning(first.where, f"this block is left out: {first.message}")
            lines[start:end] = [""] * (end - start)
    if starts and not any(lines):
        problems.raise_errors()
    return lines


def _read(source: SourceText, text: str, base: set[str] | None = None) -> Mapping[str, Any]:
    diagnostics = Diagnostics()
    document = read_typescript(text, source.name, diagnostics, base)
    diagnostics.raise_errors()
    facts = facts_from_document(document, text)
    return {key: value for key, value in facts.items() if key != "imports"}
