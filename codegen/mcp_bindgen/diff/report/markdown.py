"""The report as Markdown, for pull requests and release notes. Names from a schema appear only in code spans."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Cause, Report, by_method, causes
from mcp_bindgen.diff.report.text import verdicts
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import plain

_BACKTICKS = re.compile(r"`+")
_MARKUP = re.compile(r"([\\`*_\[\]|~<>&])")


def render(report: Report, *, everything: bool) -> str:
    """Return the document; the short one only counts harmless changes and shows no messages."""
    from mcp_bindgen.emit.python.render import document

    shown = [judged for judged in report.findings if everything or judged.severity is not Severity.INFO]
    by_weight = groupby(causes(shown), key=lambda cause: (cause.first.accepted, cause.first.severity))
    rows = by_method(report.findings) if not report.is_contract else ()
    context: dict[str, object] = {
        "report": report,
        "words": words,
        "code": code,
        "prose": prose,
        "as_json": partial(json.dumps, ensure_ascii=False),
        "verdicts": [*verdicts(report)],
        "sections": [
            (f"{'Accepted: ' if accepted else ''}{severity}", [*_rules(report, group, everything)])
            for (accepted, severity), group in by_weight
        ],
        "methods": [(in_table(method), errors, warnings) for method, errors, warnings in rows],
        "rest": len(report.findings) - len(shown),
    }
    return document("diff.md.j2", context)


def code(text: str) -> str:
    """Return a text as a code span that its content cannot end, not even in a table cell."""
    line = plain(text)
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or not line.strip() else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: str) -> str:
    """Return a text as one line with all markup escaped."""
    return _MARKUP.sub(r"\\\1", plain(text))


def in_table(text: str) -> str:
    """Return a text as a code span in a cell of a table, which must not contain a bar."""
    return code(text).replace("|", "\\|")


def _rules(report: Report, found: Iterable[Cause], everything: bool) -> Iterator[tuple[Rule, str, object]]:
    """Iterate over rules with their advice and the causes of their findings, which only the whole page lists."""
    for rule, group in groupby(found, key=lambda cause: cause.first.rule):
        of_rule = list(group)
        every = [judged for cause in of_rule for judged in cause.findings]
        rows = [(_cause(report, c), [judged.finding for judged in c.findings if everything]) for c in of_rule]
        yield rule, words.advice(rule, every, report.options), rows


def _cause(report: Report, cause: Cause) -> str:
    role = words.tag(cause.first, report.options)
    parts = [f"{f'**{role}**: ' if role else ''}{code(words.what(cause))}"]
    carried = words.method_names(cause)
    many = len(carried) > words.MAX_METHODS
    parts += [f"{len(carried)} methods" if many else ", ".join(map(code, carried))] if carried else []
    parts += [f"behind {code(names)}"] if (names := words.gates(cause.findings)) else []
    parts += [f"accepted: {prose(cause.first.reason)}"] if cause.first.accepted else []
    return "; ".join(parts)
