"""A migration guide in Markdown: what changes for clients, for servers, and for code that uses the bindings."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mcp_bindgen.bridge.rows import ERA, FRAMING, ROWS
from mcp_bindgen.diff.finding import Finding, Pair, Travel
from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.markdown import code, prose
from mcp_bindgen.diff.report.model import Cause, Judged, Report, causes
from mcp_bindgen.diff.report.story import capabilities
from mcp_bindgen.diff.rule import NOTHING, Rule, Severity, View
from mcp_bindgen.diff.rules import CATALOGUE, definitions, properties
from mcp_bindgen.diff.rules.annotations import DEPRECATED_ADDED
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.witness import Examples
from mcp_bindgen.impact.bindings import CALLERS, HANDLERS, RECORDS, PythonName
from mcp_bindgen.impact.marks import TOUCHES, Marks, UseKind
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.methods import RUNTIME_REQUESTS
from mcp_bindgen.ir.nodes import Direction, Method, Protocol
from mcp_bindgen.load import replacements
from mcp_bindgen.migrate.topics import NOTES, by_topic

_WAYS = {
    Direction.CLIENT_TO_SERVER: "client to server",
    Direction.SERVER_TO_CLIENT: "server to client",
    Direction.BOTH: "both ways",
    Direction.EMBEDDED: "inside a result",
}


def methods_table(
    old: Protocol, new: Protocol, labels: tuple[str, str], successors: Mapping[str, str]
) -> Iterator[str]:
    """Iterate over the lines of the table, with the successors of methods that are gone; empty if no method changed."""
    names = renamed_methods(old, new)
    before, after = ({method.name: method for method in side.methods} for side in (old, new))
    rows: list[tuple[str, str]] = []
    for name in sorted(before.keys() | after.keys() - set(names.values())):
        row = _cell(before.get(name)), _cell(after.get(names.get(name, name)), successors.get(name, ""))
        if row[0] != row[1]:
            rows.append(row)
    if not rows:
        return
    yield from ("", "## Methods", "", f"| {prose(labels[0])} | {prose(labels[1])} |", "|---|---|")
    yield from (f"| {was} | {is_} |" for was, is_ in rows)


def capabilities_table(old: Protocol, new: Protocol, labels: tuple[str, str]) -> Iterator[str]:
    """Iterate over the lines of the table; empty if the capabilities are the same."""
    before, after = (set(capabilities(side)) for side in (old, new))
    changed = sorted(before ^ after)
    if not changed:
        return
    yield from ("", "## Capabilities", "", f"| {prose(labels[0])} | {prose(labels[1])} |", "|---|---|")
    for path in changed:
        cells = [code(path) if path in side else "-" for side in (before, after)]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _cell(method: Method | None, successor: str = "") -> str:
    if method is None:
        return f"{code(successor)} instead" if successor else "-"
    kind = "request" if method.is_request else "notification"
    return f"{code(method.name).replace('|', chr(92) + '|')}: {kind}, {_WAYS[method.direction]}"


MAX_MESSAGE = 400
"""The number of characters of a message that the guide shows."""
MAX_EXAMPLES = 1
"""How many causes of one rule and topic the guide shows messages for."""
MAX_METHODS = 8
"""How many methods a cause lists before it only counts the rest."""
MAX_SUBJECTS = 6
"""How many names a line of the checklist lists before it only counts the rest."""
_ROLES = ((Pair.OLD_CLIENT, "client", "server"), (Pair.NEW_CLIENT, "server", "client"))
_RANK = {rule.id: number for number, rule in enumerate(CATALOGUE)}

_BY_RUNTIME = "The runtime does this for you, unless you build messages yourself."
_NOW_REQUIRED = (
    properties.PROPERTY_ADDED_REQUIRED,
    properties.PROPERTY_NOW_REQUIRED,
    definitions.MEMBER_ADDED_REQUIRED,
    definitions.MEMBER_NOW_REQUIRED,
)
_PROGRAMS = {
    "client": """\
from mcp_bindings.{folder} import Client


async def forecast(client: Client) -> str:
    result = await client.call_tool(name="forecast", arguments={{"city": "Oslo"}})
    return result.content[0].text""",
    "server": """\
from mcp_bindings.{folder} import CallToolResult, Server, TextContent


class Weather(Server):
    async def call_tool(self, params, ctx):
        return CallToolResult(content=[TextContent(text="Sunny")])""",
}
"""Programs that only import the bindings of another revision, which a test of the guide runs."""


class Guide:
    """Writes the guide from one revision to another."""

    def __init__(self, report: Report, old: Protocol, new: Protocol, examples: Examples, marks: Marks) -> None:
        self._report = report
        self._sides = old, new
        self._examples = examples
        self._marks = marks
        self._old, self._new = report.old.label, report.new.label

    def render(self) -> str:
        """Return the document."""
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._document()) + "\n")

    def _document(self) -> Iterator[str]:
        yield f"# From {prose(self._old)} to {prose(self._new)}"
        yield ""
        if not self._report.findings:
            yield "Nothing changed: there is nothing to do."
            return
        for verdict in self._report.peers:
            yield f"- {prose(words.who(verdict))}: **{prose(words.how_many(verdict))}**"
        yield f"- Python source that uses the bindings: **{words.source_verdict(self._report)}**"
        yield ""
        yield f"{prose(words.gate(self._report.old, self._report.new)).capitalize()}."
        yield f"This guide covers messages, types and methods.{self._rest()}"
        yield from ("", "## What changes", "", *(f"- {words.told(line, code)}" for line in self._report.story))
        yield from self._checklist()
        yield from methods_table(*self._sides, (self._old, self._new), replacements())
        yield from capabilities_table(*self._sides, (self._old, self._new))
        yield from self._topics()
        yield from self._bindings()
        yield from self._programs()

    def _rest(self) -> str:
        """Say where the other changes of a released revision are listed."""
        new = self._sides[1].revision
        page = f"https://modelcontextprotocol.io/specification/{new}/changelog"
        return f" For everything else, read the [changes of {new}]({page})." if new in released() else ""

    def _by_advice(self, found: Iterable[Judged]) -> list[tuple[Rule, str, list[Judged]]]:
        """Group findings by rule, in the order of the report, and by the advice that replaces that of the rule."""
        groups: dict[tuple[Rule, str], list[Judged]] = {}
        for judged in found:
            groups.setdefault((judged.rule, self._own_advice(judged.finding)), []).append(judged)
        return [(rule, own, group) for (rule, own), group in groups.items()]

    def _own_advice(self, finding: Finding) -> str:
        """Return the advice for what the runtime handles or a bridge knows a successor of, or an empty text."""
        value = finding.old if finding.new == NOTHING else finding.new
        subject = finding.after
        if finding.is_about_method and value in RUNTIME_REQUESTS:
            return _BY_RUNTIME
        row = next((row for row in ROWS if row.kind == ERA and row.fits(finding.rule.id, finding.place, value)), None)
        frames = (row for row in FRAMING if row.place == finding.place and finding.rule.id in row.rules)
        frame = next(frames, None)
        if finding.rule in _NOW_REQUIRED and subject is not None:
            known = row or frame or subject.member == "_meta"
            default = f"{subject.definition}.{subject.member}" in self._sides[1].defaults
            return _BY_RUNTIME if known or default else ""
        is_named = finding.is_about_method or "." not in finding.place
        use = replacements().get(value if is_named else finding.place, "") if finding.new == NOTHING else ""
        framed = frame.says.capitalize() + "." if frame and finding.is_about_method else ""
        why = row.reason if row else framed
        return " ".join([*([f"Use `{use}` instead."] if use else []), *([why] if why else [])])

    def _checklist(self) -> Iterator[str]:
        yield from ("", "## Checklist")
        for pair, ours, theirs in _ROLES:
            yield from ("", f"In a {ours}:", "")
            rows = self._by_advice(judged for judged in self._report.findings if pair in judged.broken)
            for rule, own, found in rows:
                advice = own or prose(self._advice(rule, found, pair))
                done = "x" if own is _BY_RUNTIME else " "
                yield f"- [{done}] {prose(rule.purpose)} {advice} {_subjects(causes(found))}"
            unproven = [judged for judged in self._report.findings if pair in judged.finding.unproven]
            if unproven:
                subjects = _subjects(causes(unproven))
                yield f"- [ ] Rule out these breaks, which are neither proven nor excluded: {subjects}"
            if not rows and not unproven:
                yield f"- [x] nothing: it keeps working with any {theirs} of {prose(self._new)}"
        yield from ("", "In Python code that uses the bindings:", "")
        rules = list(self._python_rules())
        for rule, own, uses in rules:
            number = words.counted(len({name for _, name in uses}), "name")
            yield f"- [{'x' if own is _BY_RUNTIME else ' '}] {prose(rule.purpose)} {own or prose(rule.advice)} {number}"
        if rules:
            command = f"mcp-bindgen impact src --from {self._report.old.name} --to {self._report.new.name}"
            yield f"- [ ] Run {code(command)}: it lists the lines."
        else:
            yield "- [x] nothing: everything that it may use still exists"

    def _advice(self, rule: Rule, found: Sequence[Judged], pair: Pair) -> str:
        """Return what a role has to do; some advice is for the sender, and has a counterpart for the receiver."""
        to_them = Travel.TO_SERVER if pair is Pair.OLD_CLIENT else Travel.TO_CLIENT
        receives = to_them not in _travels(found, pair)
        return rule.to_receivers or rule.advice if receives else rule.advice

    def _topics(self) -> Iterator[str]:
        """Describe the changes in messages, topic by topic: breaks first, then other changes."""
        told = [j for j in self._report.findings if j.rule.view is View.WIRE and j.severity is not Severity.INFO]
        told += [j for j in self._report.findings if j.rule is DEPRECATED_ADDED]
        yield from ("", "## Topic by topic")
        for topic, judged in by_topic(told):
            yield from ("", f"### {topic.title}", "")
            for rule, own, found in self._by_advice(j for j in judged if j.rule is not DEPRECATED_ADDED):
                for broken, group in groupby(causes(found), key=lambda cause: cause.first.broken):
                    yield from self._change(rule, own, list(group), broken)
            deprecated = sorted(j.finding.place for j in judged if j.rule is DEPRECATED_ADDED)
            if deprecated:
                yield f"- Deprecated: {', '.join(map(code, deprecated))}."
            yield from (f"- {note.text}" for note in NOTES if note.applies(self._report.findings, topic))

    def _change(self, rule: Rule, own: str, found: list[Cause], broken: tuple[Pair, ...]) -> Iterator[str]:
        judged = [each for cause in found for each in cause.findings]
        if not broken:
            yield f"- {prose(rule.purpose)} {own or prose(rule.advice)}"
        for pair, ours, theirs in _ROLES:
            if pair in broken:
                why = " ".join(self._whys(judged, pair, ours, theirs))
                yield f"- **{ours}**: {prose(rule.purpose)} {why} {own or prose(self._advice(rule, judged, pair))}"
        for number, cause in enumerate(found):
            yield f"  {self._cause(cause)}"
            if number < MAX_EXAMPLES and own is not _BY_RUNTIME:
                for pair in broken[:1]:
                    yield from self._messages(cause, pair)

    def _whys(self, found: Sequence[Judged], pair: Pair, ours: str, theirs: str) -> Iterator[str]:
        """Explain which messages are refused: those that we send, or those that we receive."""
        travels = _travels(found, pair)
        to_them = Travel.TO_SERVER if ours == "client" else Travel.TO_CLIENT
        if to_them in travels:
            yield f"A new {theirs} refuses what your {ours} sends."
        if travels - {to_them}:
            yield f"Your {ours} refuses what a new {theirs} may send."

    def _cause(self, cause: Cause) -> str:
        parts = [code(words.what(cause))]
        methods = sorted({name for judged in cause.findings for name in words.carriers(judged.finding)})
        if methods:
            parts.append(f"in {', '.join(code(name) for name in methods[:MAX_METHODS])}")
            if len(methods) > MAX_METHODS:
                parts[-1] += f" and {len(methods) - MAX_METHODS} more"
        gates = words.gates(cause.findings)
        if gates:
            parts.append(f"only after {code(gates)} was declared or sent")
        return f"- {'; '.join(parts)}"

    def _messages(self, cause: Cause, pair: Pair) -> Iterator[str]:
        shown = (self._examples.pair(judged.finding, pair) for judged in cause.findings)
        before, after = next((both for both in shown if both != (None, None)), (None, None))
        if before is None and after is None:
            return
        yield from ("", "    ```jsonc")
        for side, message in ((self._old, before), (self._new, after)):
            if message is not None:
                yield f"    // {words.plain(side)}"
                yield f"    {_json(message)}"
        yield from ("    ```", "")

    def _python_rules(self) -> Iterator[tuple[Rule, str, list[tuple[Finding, PythonName]]]]:
        """Iterate over the rules with the advice that replaces theirs, and the names that they concern."""
        groups: dict[tuple[Rule, str], list[tuple[Finding, PythonName]]] = {}
        for row in sorted(self._marks.names, key=lambda row: (_RANK[row[0].rule.id], row[1], row[0].new)):
            groups.setdefault((row[0].rule, self._own_advice(row[0])), []).append(row)
        yield from ((rule, own, rows) for (rule, own), rows in groups.items())

    def _bindings(self) -> Iterator[str]:
        yield from ("", "## For code that uses the bindings")
        rules = list(self._python_rules())
        if not rules:
            yield from ("", "Everything that it may use still exists.")
        for rule, own, found in rules:
            yield from ("", f"### {prose(rule.purpose.rstrip('.'))}", "", f"**{own or prose(rule.advice)}**", "")
            plain = list(dict.fromkeys(_plain(finding, name) for finding, name in found if not name.member))
            if plain:
                yield f"- {', '.join(plain)}"
            for owner, group in groupby((name for _, name in found if name.member), key=lambda name: name.owner):
                members = list(dict.fromkeys(_member(rule, name) for name in group))
                yield f"- {code(owner)}: {', '.join(code(member) for member in members)}"

    def _programs(self) -> Iterator[str]:
        new = self._sides[1].revision
        if self._sides[0].revision not in released() or new not in released():
            return
        yield from ("", "## Before and after")
        for role, program in _PROGRAMS.items():
            yield from ("", f"A {role} like this one only imports the bindings of {new} instead:", "")
            yield from ("```python", f"# {new}", *program.format(folder=revision_folder(new)).split("\n"), "```")


def _names(cause: Cause) -> list[str]:
    """Name the subject of a cause briefly: methods, a property of several definitions, a place."""
    finding = cause.first.finding
    owner, dot, member = finding.place.rpartition(".")
    if not dot:
        return sorted({j.finding.new if j.finding.old == NOTHING else j.finding.old for j in cause.findings})
    return [f"{owner}.{member}" if len(cause.findings) == 1 else member]


def _subjects(found: Sequence[Cause]) -> str:
    """List the subjects of some causes."""
    names = list(dict.fromkeys(name for cause in found for name in _names(cause)))
    shown = ", ".join(code(name) for name in names[:MAX_SUBJECTS])
    return shown if len(names) <= MAX_SUBJECTS else f"{shown} and {len(names) - MAX_SUBJECTS} more"


def _travels(found: Sequence[Judged], pair: Pair) -> set[Travel]:
    """The directions in which findings break a pair of peers."""
    return {
        carrier.travel
        for judged in found
        for carrier in judged.finding.carriers
        if pair in judged.finding.breaks_in(carrier)
    }


def _plain(finding: Finding, name: PythonName) -> str:
    renamed = finding.rule is definitions.DEFINITION_RENAMED
    return f"{code(str(name))} is {code(finding.new)}" if renamed else code(str(name))


def _member(rule: Rule, name: PythonName) -> str:
    """Spell how code uses a name: look it up, pass it, call it, read it."""
    if name.owner == RECORDS:
        return f'"{name.member}"'
    if UseKind.BUILD in TOUCHES[rule]:
        return f"{name.member}=..."
    return f"{name.member}()" if name.owner in (*CALLERS, *HANDLERS) else name.member


def _json(message: Any) -> str:
    return words.plain(words.short(json.dumps(message, ensure_ascii=False), MAX_MESSAGE))
