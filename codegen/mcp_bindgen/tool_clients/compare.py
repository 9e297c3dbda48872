"""Compare a contract with what a server offers now; the findings are those of `mcp-bindgen diff`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mcp_bindgen.diff.finding import Carrier, Finding, Pair, Step, Subject, Travel
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.tool_clients.contract import Contract, Tool
from mcp_bindgen.tool_clients.hints import HINTS
from mcp_bindgen.tool_clients.narrowing import Gap, gaps, is_same, spell
from mcp_bindgen.tool_clients.probes import ANY, sample

METHOD = "tools/call"
_CARRIERS = {
    "inputSchema": Carrier(METHOD, "params", Travel.TO_SERVER),
    "outputSchema": Carrier(METHOD, "result", Travel.TO_CLIENT),
}


def compare(old: Contract, new: Contract) -> Iterator[Finding]:
    """Iterate over what changed between two contracts, tool by tool."""
    before = {tool.name: tool for tool in old.tools}
    after = {tool.name: tool for tool in new.tools}
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield _removed(before[name])
        elif name not in before:
            yield _finding("tool-added", after[name], "", "-", name)
        else:
            yield from _compare(before[name], after[name])
    for tool in new.repeated:
        yield _finding("tool-listed-twice", tool, "", "once", "twice")


def _compare(old: Tool, new: Tool) -> Iterator[Finding]:
    found = [
        *_gaps("tool-input-narrowed", "inputSchema", old, old.input_schema, new.input_schema),
        *_gaps("tool-output-widened", "outputSchema", old, new.output_schema, old.output_schema),
    ]
    yield from found
    for member in ("inputSchema", "outputSchema"):
        first, second = old.raw.get(member), new.raw.get(member)
        if not is_same(first, second) and not any(member in finding.pointer for finding in found):
            yield _finding("tool-changed", old, member, spell(first), spell(second))
    if old.task != new.task:
        yield _task(old, new)
    for hint in HINTS:
        first, second = old.hint(hint.name), new.hint(hint.name)
        before, after = (hint.default if value is None else value for value in (first, second))
        if first != second:
            rule = "tool-less-safe" if before != after and after is hint.worse else "tool-changed"
            yield _finding(rule, old, hint.name, _word(first), _word(second))
    if old.description != new.description:
        yield _finding("tool-description-changed", old, "", old.description or "-", new.description or "-")


def _gaps(rule: str, member: str, tool: Tool, sent: Any, taken: Any) -> Iterator[Finding]:
    """Iterate over the gaps in one half of a tool; for its arguments, callers send what the old schema allows."""
    is_output = member == "outputSchema"
    if is_output and taken is None:
        return
    for gap in gaps(True if sent is None else sent, True if taken is None else taken):
        yield _gap(rule, member, tool, gap, is_output=is_output)


def _gap(rule: str, member: str, tool: Tool, gap: Gap, *, is_output: bool) -> Finding:
    carrier = _CARRIERS[member]
    within = "structuredContent" if is_output else "arguments"
    steps = tuple(
        Step("property", name) if isinstance(name, str) and name != ANY else Step("item") for name in gap.path
    )
    call: dict[str, Any] = {"method": METHOD, "params": {"name": tool.name, within: gap.witness}}
    answer: dict[str, Any] = {"result": {"content": [], within: gap.witness}}
    message = answer if is_output else call
    place = ".".join([tool.name, within, *(_spell_step(step) for step in gap.path)])
    pair = Pair.OLD_CLIENT
    old, new = (gap.taken, gap.sent) if is_output else (gap.sent, gap.taken)
    return Finding(
        rule=RULES[rule],
        place=place,
        old=old or "-",
        new=new or "-",
        before=Subject(definition=tool.name, member=within),
        after=Subject(definition=tool.name, member=within),
        pointer=f"{tool.where.pointer}/{member}",
        carriers={carrier: (Step("property", within), *steps)},
        witnesses={pair: message} if gap.is_proven else {},
        unproven=frozenset() if gap.is_proven else frozenset((pair,)),
        why_unproven={} if gap.is_proven else {pair: gap.why},
    )


def _task(old: Tool, new: Tool) -> Finding:
    """Return the finding on a tool that runs as a task otherwise than before; what became optional breaks nobody."""
    readings = (old.task or "forbidden", new.task or "forbidden")
    if new.task == "optional":
        return _finding("tool-changed", old, "execution", *readings)
    rule = "tool-task-support-changed"
    return replace(
        _finding(rule, old, "execution", *readings),
        carriers={_CARRIERS["inputSchema"]: ()},
        unproven=frozenset((Pair.OLD_CLIENT,)),
        why_unproven={Pair.OLD_CLIENT: RULES[rule].unprovable},
    )


def _removed(tool: Tool) -> Finding:
    arguments = sample(tool.input_schema, tool.input_schema)
    params: dict[str, Any] = {"name": tool.name, "arguments": arguments if arguments else {}}
    message = {"method": METHOD, "params": params}
    return Finding(
        rule=RULES["tool-removed"],
        place=tool.name,
        old=tool.name,
        new="-",
        before=Subject(definition=tool.name),
        pointer=tool.where.pointer,
        carriers={_CARRIERS["inputSchema"]: ()},
        witnesses={Pair.OLD_CLIENT: message},
    )


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


def _spell_step(step: str | int) -> str:
    return "[]" if step == 0 else "{}" if step == ANY else str(step)
