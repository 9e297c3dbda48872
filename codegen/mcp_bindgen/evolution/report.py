"""The report on a proposal: what `diff` says, what the text leaves out, the bridge to the base, and what is left."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mcp_bindgen.bridge import report as bridges
from mcp_bindgen.bridge.derive import Bridge
from mcp_bindgen.diagnostics import Diagnostic, plain
from mcp_bindgen.diff.report import json, text, words
from mcp_bindgen.diff.report.model import Report
from mcp_bindgen.evolution.by_hand import ByHand
from mcp_bindgen.evolution.prose import Unmentioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found out about a proposal; `unmentioned` is None if no text was given.

    `warnings` are those on the schema that its base does not have.
    """

    diff: Report
    unmentioned: tuple[Unmentioned, ...] | None
    warnings: tuple[Diagnostic, ...]
    bridge: Bridge
    by_hand: tuple[ByHand, ...]

    def as_json(self) -> Mapping[str, Any]:
        """Return everything as JSON values."""
        return {
            "diff": json.as_json(self.diff),
            "unmentioned": None if self.unmentioned is None else [asdict(each) for each in self.unmentioned],
            "warnings": [str(each) for each in self.warnings],
            "bridge": bridges.as_json(self.bridge),
            "by_hand": [asdict(each) for each in self.by_hand],
        }

    def lines(self, *, everything: bool) -> Iterator[str]:
        """Iterate over the lines of the page for a terminal."""
        yield text.render(self.diff, everything=everything)
        if self.unmentioned is not None:
            yield from _section("changed, and not mentioned in the text", map(_said, self.unmentioned))
        if self.warnings:
            yield from _section("doubtful in the schema", map(str, self.warnings))
        yield from _section("by hand, since generation cannot know it", map(_work, self.by_hand))
        yield "bridge to peers of the base:"
        yield from map(plain, bridges.text([self.bridge]).split("\n")[1:])


def _section(heading: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{heading}:"
    yield from (f"  {plain(line)}" for line in list(lines) or ["nothing"])
    yield ""


def _said(change: Unmentioned) -> str:
    return f"{change.name}: {change.old} -> {change.new} ({change.rule}), in {words.listed(change.places)}"


def _work(work: ByHand) -> str:
    files = f" ({words.listed(work.files)})" if work.files else ""
    return f"{work.what}: {work.work}{files}"
