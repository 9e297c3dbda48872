"""The report as a page for a terminal: the verdicts, then the findings by cause, then the methods."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Cause, Judged, Report, by_method, causes
from mcp_bindgen.diff.rule import View
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import plain

WIDTH = 120
"""The width of a page that is not written to a terminal, in columns."""
MAX_LINES = 100
"""The maximum number of lines of the short page, if that leaves room for one line per rule."""
MAX_LINES_OF_A_ROLE = 84
"""The same for a page on a single role, which is never longer than the page on both."""
MAX_CAUSES = 7
"""The number of causes per rule that the short page lists."""
MAX_METHODS = 12
"""The number of methods that the short page lists."""
MAX_WITNESS = 400
"""The number of characters of a message that a line shows."""

_MESSAGE_MARGIN = " " * 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The findings of one rule at one severity, as lines of the page; `short` replaces `lines` if space is short."""

    heading: tuple[bool, Severity]
    lines: tuple[str, ...]
    short: tuple[str, ...]


def render(report: Report, *, everything: bool, width: int = WIDTH) -> str:
    """Return the page; the short one only counts harmless changes and shows no messages."""
    shown = [judged for judged in report.findings if everything or judged.severity is not Severity.INFO]
    folded = [judged for judged in shown if _is_folded(judged, report)] if not everything else []
    open_ = [judged for judged in shown if judged not in folded]
    blocks = [_block(report, causes(group), everything, width) for _, group in groupby(open_, key=_same_rule)]
    head = _wrapped(_head(report), width)
    ends = *_source(folded), *_methods(report, everything), *_stale(report), *_rest(report, len(shown), everything)
    tail = _wrapped(ends, width)
    headings = len({block.heading for block in blocks})
    if not everything:
        most = MAX_LINES if report.options.role is None else MAX_LINES_OF_A_ROLE
        blocks = _squeezed(blocks, most - len(head) - len(tail) - headings)
    lines = [*head]
    for _, group in groupby(blocks, key=lambda block: block.heading):
        lines += ["", *(line for block in group for line in block.lines)]
    return "\n".join([*lines, *tail]) + "\n"


def verdicts(report: Report) -> Iterator[tuple[str, str]]:
    """Iterate over the verdicts: the audience of each, and its text."""
    if report.is_contract:
        yield "callers", words.how_many(report.peers[0])
        yield "contract", report.compatibility.sentence
        return
    if files := words.halves(report):
        yield "read from", files
    for verdict in report.peers if report.options.view is not View.SOURCE else ():
        yield words.who(verdict), words.how_many(verdict)
    if report.options.view is not View.WIRE:
        yield "Python source that uses the bindings", words.source_verdict(report)
    if report.findings and report.options.view is not View.SOURCE:
        yield "version", words.gate(report.old, report.new)
        for side in (report.old, report.new):
            if not side.has_roots:
                yield "directions", words.no_roots(side)
    yield "schema author", report.compatibility.sentence


def _head(report: Report) -> Iterator[str]:
    yield words.headline(report)
    yield from (f"  {words.told(line)}" for line in report.story)
    yield from ("",) if report.story else ()
    for audience, verdict in verdicts(report):
        yield f"  {audience}: {verdict}"


def _is_folded(judged: Judged, report: Report) -> bool:
    """Whether the short page only counts a finding: most readers of a page on messages write no Python with it."""
    return report.options.view is None and judged.rule.view is View.SOURCE and not judged.accepted


def _source(folded: Sequence[Judged]) -> Iterator[str]:
    """Count the findings on definitions and Python source, by rule."""
    if folded:
        counts = Counter(judged.rule.id for judged in folded)
        yield ""
        yield "definitions and Python source (--view source shows them)"
        yield "  " + ", ".join(f"{rule} {number}" for rule, number in counts.items())


def _same_rule(judged: Judged) -> tuple[bool, Severity, str]:
    return judged.accepted, judged.severity, judged.rule.id


def _block(report: Report, found: Sequence[Cause], everything: bool, width: int) -> _Block:
    first = found[0].first
    title = f"{'accepted ' if first.accepted else ''}{first.severity} {first.rule.id}"
    judged_all = [judged for cause in found for judged in cause.findings]
    lines = [f"{title}: {first.rule.purpose} {words.advice(first.rule, judged_all, report.options)}"]
    for cause in found if everything else found[:MAX_CAUSES]:
        lines.append(f"  {_cause(report, cause)}")
        if everything:
            lines += [line for judged in cause.findings for line in _details(judged)]
    hidden = 0 if everything else sum(len(cause.findings) for cause in found[MAX_CAUSES:])
    lines += [f"  and {hidden} more (--all shows them)"] if hidden else []
    names = sorted({words.subject(judged.finding) for cause in found for judged in cause.findings})
    shorter = [f"{title}: {words.listed(names, most)}" for most in range(words.MAX_NAMES, 0, -1)]
    fitting = next((line for line in shorter if len(line) <= width), f"{title}: {words.counted(len(names), 'place')}")
    return _Block(
        heading=(first.accepted, first.severity),
        lines=tuple(_wrapped(lines, width)),
        short=(fitting,),
    )


def _squeezed(blocks: Sequence[_Block], room: int) -> list[_Block]:
    """Shorten blocks, starting from the last (the least important), until all fit; none is dropped."""
    found = list(blocks)
    for number in reversed(range(len(found))):
        if sum(len(block.lines) for block in found) <= room:
            break
        block = found[number]
        found[number] = _Block(heading=block.heading, lines=block.short, short=block.short)
    return found


def _cause(report: Report, cause: Cause) -> str:
    role = "" if report.is_contract else words.tag(cause.first, report.options)
    parts = [f"{role + ':':8}{words.what(cause)}" if role else words.what(cause)]
    parts += [names] if not report.is_contract and (names := words.methods(cause)) else []
    parts += [f"behind {names}"] if (names := words.gates(cause.findings)) else []
    parts += [f"accepted: {cause.first.reason}"] if cause.first.accepted else []
    return "; ".join(parts)


def _details(judged: Judged) -> Iterator[str]:
    finding = judged.finding
    where = f" at {judged.where.source}:{judged.where.line}" if judged.where else ""
    carried = f", in {', '.join(names)}" if (names := words.carriers(finding)) else ""
    yield f"    {words.subject(finding)} {finding.fingerprint}{where}{carried}"
    for pair in sorted(finding.breaks):
        if pair in finding.witnesses:
            message = json.dumps(finding.witnesses[pair], ensure_ascii=False)
            yield f"{_MESSAGE_MARGIN}{pair}: {words.short(message, MAX_WITNESS)}"
        else:
            yield f"{_MESSAGE_MARGIN}{pair}: {words.unproven(finding, pair)}"


def _methods(report: Report, everything: bool) -> Iterator[str]:
    rows = by_method(report.findings)
    if not rows or report.is_contract:
        return
    shown = rows if everything else rows[:MAX_METHODS]
    yield ""
    yield "by method (errors + warnings)"
    more = f", and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    yield "  " + ", ".join(f"{method} {errors}+{warnings}" for method, errors, warnings in shown) + more


def _stale(report: Report) -> Iterator[str]:
    if report.stale:
        yield ""
        yield f"stale in {report.baseline_file}"
    for stale in report.stale:
        yield f"  row {stale.row.number} ({stale.row.rule}, {words.short(stale.row.path)}) {stale.why}"


def _rest(report: Report, shown: int, everything: bool) -> Iterator[str]:
    rest = len(report.findings) - shown
    if not report.is_contract and any(judged.broken for judged in report.findings):
        yield from ("", "client, server, both: which of the programs named above breaks")
    if rest or (shown and not everything):
        more = f"{words.counted(rest, 'more harmless change')}; " if rest else ""
        yield f"{more}--all shows everything, and a message that proves each break"


def _wrapped(lines: Iterable[str], width: int) -> list[str]:
    """Break lines that are too long, the rest of each indented further; a message stays whole, to be copied."""
    found: list[str] = []
    for line in map(_inert, lines):
        margin = line[: len(line) - len(line.lstrip())]
        if not line or margin >= _MESSAGE_MARGIN:
            found.append(line)
            continue
        found += textwrap.wrap(
            line, width, subsequent_indent=f"{margin}    ", break_long_words=False, break_on_hyphens=False
        )
    return found


def _inert(line: str) -> str:
    """Return a line of text in which a CI system that reads logs finds no command (``::error::``, ``##[error]``)."""
    return plain(line).replace("::", r":\x3a").replace("##[", r"#\x23[")
