"""Compare a contract with what a server offers now; the findings are those of `mcp-bindgen diff`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_bindgen.diff.compatibility import Compatibility, Verdict, compatibility
from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Subject, Travel
from mcp_bindgen.diff.report.model import Report, Side, make_report
from mcp_bindgen.diff.report.options import Options, Role
from mcp_bindgen.diff.report.places import SourceFile
from mcp_bindgen.diff.rule import NOTHING, View
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import clip, count
from mcp_bindgen.ir.json_values import as_object, escaped
from mcp_bindgen.tool_clients.comparing.narrowing import Gap, gaps, meaning, reworded, smallest
from mcp_bindgen.tool_clients.contract import HINTS, Contract, Tool
from mcp_bindgen.tool_clients.typing.keywords import nodes
from mcp_bindgen.values.builder import Step

METHOD = "tools/call"
WITHHELD = frozenset(("tool-changed", "tool-description-changed", "tool-invalid"))
"""Changes that no caller notices; but a Host asks a person again before it offers such a tool to a model."""
MAX_TEXTS = 50
"""How many changed texts of one schema are shown."""
MAX_TEXT = 200
"""The number of characters of a schema that a reading shows."""
_CALLER = Pair.OLD_CLIENT
"""The pair that changes break: callers that use the tools according to the contract."""
_CARRIERS = {
    "inputSchema": Carrier(METHOD, "params", Travel.TO_SERVER),
    "outputSchema": Carrier(METHOD, "result", Travel.TO_CLIENT),
}


def compare(old: Contract, new: Contract) -> Iterator[Finding]:
    """Iterate over what changed between two contracts, tool by tool."""
    before = {tool.name: tool for tool in old.tools}
    after = {tool.name: tool for tool in new.tools}
    for name in sorted(before.keys() | after.keys()):
        if name in new.invalid and name not in after:
            yield _finding("tool-invalid", before[name], "", "-", clip(new.invalid[name], MAX_TEXT))
        elif name not in after:
            yield _removed(before[name])
        elif name not in before:
            yield _finding("tool-added", after[name], "", "-", name)
        else:
            yield from _compare(before[name], after[name])
    for tool in new.repeated:
        yield _finding("tool-listed-twice", tool, "", "once", "twice")


def _compare(old: Tool, new: Tool) -> Iterator[Finding]:
    found = [
        *_gaps("inputSchema", old, old.input_schema, new.input_schema),
        *_gaps("outputSchema", old, new.output_schema, old.output_schema),
    ]
    if not any("outputSchema" in finding.pointer for finding in found):
        found += _removed_properties(old, new)
    yield from found
    for member in _CARRIERS:
        was, is_ = (meaning(tool.raw.get(member)) for tool in (old, new))
        if was != is_ and not any(member in finding.pointer for finding in found):
            yield _finding("tool-changed", old, member, clip(was, MAX_TEXT), clip(is_, MAX_TEXT))
    if old.task != new.task:
        yield _task(old, new)
    for hint in HINTS:
        first, second = old.hint(hint.name), new.hint(hint.name)
        before, after = (hint.default if value is None else value for value in (first, second))
        if first != second:
            rule = "tool-less-safe" if before != after and after is hint.default else "tool-changed"
            yield _finding(rule, old, hint.name, _word(first), _word(second))
    yield from _texts(old, new)


def _removed_properties(old: Tool, new: Tool) -> Iterator[Finding]:
    """Iterate over optional properties of results that only the old schema declares."""
    after = dict(nodes(new.output_schema))
    for pointer, node in nodes(old.output_schema):
        kept = as_object(after.get(pointer))
        for name in as_object(node.get("properties")) if "properties" in kept else ():
            if name not in as_object(kept["properties"]):
                where = f"structuredContent{pointer}/properties/{escaped(name)}"
                finding = _finding("tool-output-property-removed", old, where, "optional", "-")
                yield replace(finding, pointer=f"{old.where.pointer}/outputSchema")


def _texts(old: Tool, new: Tool) -> Iterator[Finding]:
    """Iterate over the changed texts that models read: of a tool, and of what its schemas say without asserting it."""
    if old.description != new.description:
        yield _finding("tool-description-changed", old, "", old.description or "-", new.description or "-")
    titles = [(as_object(tool.raw), as_object(tool.raw.get("annotations"))) for tool in (old, new)]
    for number, member in enumerate(("title", "annotations.title")):
        before, after = (each[number].get("title") for each in titles)
        if before != after and (number or old.description == new.description):
            yield _finding("tool-changed", old, member, _shown(before), _shown(after))
    for member, word in (("inputSchema", "arguments"), ("outputSchema", "structuredContent")):
        if meaning(old.raw.get(member)) != meaning(new.raw.get(member)):
            continue  # which is reported
        changed = list(reworded(old.raw.get(member), new.raw.get(member)))
        for place, was, is_ in changed[:MAX_TEXTS]:
            finding = _finding("tool-changed", old, f"{word}{place}", _shown(was), _shown(is_))
            yield replace(finding, pointer=f"{old.where.pointer}/{member}")
        if len(changed) > MAX_TEXTS:
            more = count(len(changed) - MAX_TEXTS, "more text")
            yield _finding("tool-changed", old, word, more, more)


def _shown(text: object) -> str:
    return clip(str(text), MAX_TEXT) if text is not None else "-"


def _gaps(member: str, tool: Tool, sent: Any, taken: Any) -> Iterator[Finding]:
    """Iterate over the gaps in one half of a tool; for its arguments, callers send what the old schema allows."""
    is_output = member == "outputSchema"
    if is_output and taken is None:
        return
    for gap in gaps(True if sent is None else sent, True if taken is None else taken):
        yield _gap(member, tool, gap, is_output=is_output)


def _gap(member: str, tool: Tool, gap: Gap, *, is_output: bool) -> Finding:
    within = "structuredContent" if is_output else "arguments"
    call: dict[str, Any] = {"method": METHOD, "params": {"name": tool.name, within: gap.witness}}
    answer: dict[str, Any] = {"result": {"content": [], within: gap.witness}}
    old, new = (gap.taken, gap.sent) if is_output else (gap.sent, gap.taken)
    if NOTHING in (old, new):  # A reading that exists on one side only is not clear without the rule.
        became = f" ({gap.rule.mirror if is_output else gap.rule.id})"
        old, new = (text if text == NOTHING else f"{text}{became}" for text in (old, new))
    path = "".join(str(step) for step in gap.way if step.kind != "member")
    finding = _finding("tool-output-widened" if is_output else "tool-input-narrowed", tool, within, old, new)
    return replace(
        finding,
        place=f"{finding.place}{path}",
        pointer=f"{tool.where.pointer}/{member}",
        carriers={_CARRIERS[member]: (Step("field", within), *gap.way)},
        witnesses={_CALLER: answer if is_output else call} if gap.is_proven else {},
        **({} if gap.is_proven else _unproven(gap.why)),
    )


def _task(old: Tool, new: Tool) -> Finding:
    """Return the finding on a changed task support; a change to optional breaks no caller."""
    readings = (old.task or "forbidden", new.task or "forbidden")
    if new.task == "optional":
        return _finding("tool-changed", old, "execution", *readings)
    rule = "tool-task-support-changed"
    return replace(
        _finding(rule, old, "execution", *readings),
        carriers={_CARRIERS["inputSchema"]: ()},
        **_unproven(RULES[rule].unprovable),
    )


def _removed(tool: Tool) -> Finding:
    message = {"method": METHOD, "params": {"name": tool.name, "arguments": smallest(tool.input_schema)}}
    return replace(
        _finding("tool-removed", tool, "", tool.name, "-"),
        after=None,
        carriers={_CARRIERS["inputSchema"]: ()},
        witnesses={_CALLER: message},
    )


def _unproven(why: str) -> dict[str, Any]:
    return {"unproven": frozenset((_CALLER,)), "why_unproven": {_CALLER: why}}


def _finding(rule: str, tool: Tool, member: str, old: str, new: str) -> Finding:
    subject = Subject(definition=tool.name, member=member)
    return Finding(
        rule=RULES[rule],
        place=f"{tool.name}.{member}" if member else tool.name,
        old=old,
        new=new,
        before=None if rule == "tool-added" else subject,
        after=subject,
        pointer=tool.where.pointer,
    )


def _word(value: bool | None) -> str:
    return "-" if value is None else "true" if value else "false"


def make(old: Contract, new: Contract, *, lock: Path, fail_on: Severity | None, baseline: Baseline) -> Report:
    """Return the report for callers that rely on the contract."""
    findings = tuple(compare(old, new))
    options = Options(view=View.WIRE, role=Role.CLIENT, fail_on=fail_on, severities=baseline.severities)
    judged = compatibility(findings)
    made = make_report(
        findings,
        old=_side(old, lock.name, _file(lock)),
        new=_side(new, "now", None),
        options=options,
        baseline=baseline,
        compatibility=replace(judged, sentence=_sentence(judged) + _withheld(findings)),
    )
    return replace(made, command="mcp-bindgen tools check", is_contract=True)


def _sentence(judged: Compatibility) -> str:
    match judged.verdict:
        case Verdict.BREAKS:
            return f"The server violates it ({count(len(judged.deciding), 'finding')})."
        case Verdict.NOT_PROVEN:
            return f"It is not proven that the server keeps it ({count(len(judged.undecided), 'finding')})."
        case Verdict.COMPATIBLE:
            return "The contract is kept."


def _withheld(findings: tuple[Finding, ...]) -> str:
    tools = {subject.definition for each in findings if each.rule.id in WITHHELD and (subject := each.after)}
    return f" A Host with this lock withholds {count(len(tools), 'changed tool')}." if tools else ""


def _side(contract: Contract, name: str, file: SourceFile | None) -> Side:
    version = f"{contract.server} {contract.version}".strip()
    return Side(name=f"{version} ({name})", revision=version, file=file, dated=False)


def _file(lock: Path) -> SourceFile:
    data = lock.read_bytes()
    return SourceFile(str(lock), SourceText(name=str(lock), kind=SourceKind.JSON_SCHEMA, data=data))
