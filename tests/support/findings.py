"""Findings between released revisions, compared once; and hand-made ones, with reports, for tests of their readers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from mcp_bindgen.diff.compatibility import Compatibility, compatibility
from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Travel
from mcp_bindgen.diff.report.model import Report, Side, make_report
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.diff.report.places import SourceFile
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.witness import Witnesses
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.load.protocol import load_released

HOSTILE = (
    "</script><img src=x onerror=alert(1)>\x1b[31m\u202e\r\n::error::x%0A ::error::y ##[error]z"
    "| `a` ``b`` [c](http://d.example) *e* ]]>&\"'"
)
"""A name that tries to be markup, a control sequence, a line of its own or a command, whatever the format."""


@cache
def messages_between(old: str, new: str) -> tuple[Finding, ...]:
    """Return the findings on messages between two released revisions."""
    return compare_messages(load_released(old), load_released(new))


@cache
def definitions_between(old: str, new: str) -> tuple[Finding, ...]:
    """Return the findings on definitions between two released revisions."""
    return compare_definitions(load_released(old), load_released(new))


@cache
def proven_between(old: str, new: str) -> tuple[Finding, ...]:
    """Return the findings on messages between two released revisions, with the messages that prove them."""
    testimony = Witnesses(load_released(old), load_released(new))
    return tuple(map(testimony.testify, messages_between(old, new)))


def finding(
    rule: str = "property-added-required",
    place: str = "CallToolResult.resultType",
    old: str = "-",
    new: str = "ResultType",
    *,
    carriers: Sequence[Carrier] = (Carrier("tools/call", "result", Travel.TO_CLIENT),),
    gates: Mapping[Pair, str] | None = None,
    proven: bool = True,
    pointer: str = "",
) -> Finding:
    """Make a finding; a break may have a message that proves it."""
    result = Finding(
        rule=RULES[rule],
        place=place,
        old=old,
        new=new,
        pointer=pointer,
        carriers=dict.fromkeys(carriers, ()),
        gates=gates or {},
    )
    messages = {pair: {"jsonrpc": "2.0", "result": {place: new}} for pair in sorted(result.breaks)}
    return replace(result, witnesses=messages) if proven else replace(result, unproven=result.breaks)


def with_sentence(findings: Iterable[Finding], sentence: str) -> Compatibility:
    """Judge findings, with another sentence."""
    return replace(compatibility(findings), sentence=sentence)


def reported(
    *findings: Finding,
    options: Options | None = None,
    baseline: Baseline | None = None,
    file: SourceFile | None = None,
    judged: Compatibility | None = None,
) -> Report:
    """Make a report of findings between two revisions; the newer side may be a file."""
    return make_report(
        findings,
        old=Side(name="2001-01-01", revision="2001-01-01"),
        new=Side(name="2002-02-02", revision="2002-02-02", file=file),
        options=options or Options(),
        baseline=baseline or Baseline(),
        compatibility=judged or with_sentence(findings, "compatible"),
    )
