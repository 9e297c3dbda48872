"""A migration guide in Markdown: what changes for clients, for servers, and for code that uses the bindings."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from mcp_bindgen.diff.finding import Finding, Pair, Travel
from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.markdown import code, prose
from mcp_bindgen.diff.report.model import Cause, Report, causes
from mcp_bindgen.diff.rule import NOTHING, Rule, Severity, View
from mcp_bindgen.diff.rules import CATALOGUE, messages, properties
from mcp_bindgen.diff.rules.annotations import DEPRECATED_ADDED, DIALECT_CHANGED
from mcp_bindgen.diff.rules.definitions import DEFINITION_RENAMED
from mcp_bindgen.diff.wire.examples import Examples
from mcp_bindgen.impact.bindings import CALLERS, HANDLERS, RECORDS, PythonName
from mcp_bindgen.impact.marks import TOUCHES, Marks, UseKind
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Protocol, Ref, Struct, TypeRef
from mcp_bindgen.migrate.code import before_and_after
from mcp_bindgen.migrate.methods import capabilities_table, methods_table
from mcp_bindgen.migrate.topics import NOTES, by_topic

MAX_MESSAGE = 400
"""The number of characters of a message that the guide shows."""
MAX_EXAMPLES = 1
"""How many causes of one rule and topic the guide shows messages for."""
MAX_METHODS = 8
"""How many methods a cause lists before it only counts the rest."""
MAX_SUBJECTS = 6
"""How many names a line of the checklist lists before it only counts the rest."""
MAX_HELD = 8
"""How many properties of something new are listed."""
MAX_NEW = 12
"""How many names each line on what is new lists before it only counts the rest."""

_ROLES = ((Pair.OLD_CLIENT, "client", "server"), (Pair.NEW_CLIENT, "server", "client"))
_RANK = {rule.id: number for number, rule in enumerate(CATALOGUE)}

NEWS = {
    messages.REQUEST_METHOD_ADDED: "Requests",
    messages.NOTIFICATION_METHOD_ADDED: "Notifications",
    messages.RESULT_ALTERNATIVE_ADDED: "Other results",
    properties.CAPABILITY_ADDED: "Capabilities",
    properties.PROPERTY_ADDED_OPTIONAL: "Optional properties",
}
"""Rule -> the heading of its findings in the section on what is new."""


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
        yield from self._checklist()
        yield from methods_table(*self._sides, (self._old, self._new))
        yield from capabilities_table(*self._sides, (self._old, self._new))
        yield from self._topics()
        yield from self._bindings()
        yield from before_and_after(*self._sides)
        yield from self._news()

    def _rest(self) -> str:
        """Say where the other changes of a released revision are listed."""
        new = self._sides[1].revision
        page = f"https://modelcontextprotocol.io/specification/{new}/changelog"
        return f" For everything else, read the [changes of {new}]({page})." if new in released() else ""

    def _broken(self, pair: Pair) -> list[tuple[Rule, list[Cause]]]:
        """The causes that break one pair of peers, by rule, in the order of the report."""
        found = causes(judged for judged in self._report.findings if pair in judged.broken)
        return [(rule, list(group)) for rule, group in groupby(found, key=lambda cause: cause.first.rule)]

    def _checklist(self) -> Iterator[str]:
        yield from ("", "## Checklist")
        for pair, ours, theirs in _ROLES:
            yield from ("", f"In a {ours}:", "")
            rows = self._broken(pair)
            for rule, found in rows:
                yield f"- [ ] {prose(rule.purpose)} {prose(self._advice(rule, found, pair))} {_subjects(found)}"
            unproven = [judged for judged in self._report.findings if pair in judged.finding.unproven]
            if unproven:
                subjects = _subjects(causes(unproven))
                yield f"- [ ] Rule out these breaks, which are neither proven nor excluded: {subjects}"
            if not rows and not unproven:
                yield f"- [x] nothing: it keeps working with any {theirs} of {prose(self._new)}"
        yield from ("", "In Python code that uses the bindings:", "")
        rules = list(self._python_rules())
        for rule, uses in rules:
            number = words.counted(len({name for _, name in uses}), "name")
            yield f"- [ ] {prose(rule.purpose)} {prose(rule.advice)} {number}"
        if rules:
            command = f"mcp-bindgen impact src --from {self._report.old.name} --to {self._report.new.name}"
            yield f"- [ ] Run {code(command)}: it lists the lines."
        else:
            yield "- [x] nothing: everything that it may use still exists"

    def _advice(self, rule: Rule, found: Sequence[Cause], pair: Pair) -> str:
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
            found = causes(j for j in judged if j.rule is not DEPRECATED_ADDED)
            for (rule, broken), group in groupby(found, key=lambda cause: (cause.first.rule, cause.first.broken)):
                yield from self._change(rule, list(group), broken)
            deprecated = sorted(j.finding.place for j in judged if j.rule is DEPRECATED_ADDED)
            if deprecated:
                yield f"- Deprecated: {', '.join(map(code, deprecated))}."
            yield from (f"- {note.text}" for note in NOTES if note.applies(self._report.findings, topic))

    def _change(self, rule: Rule, found: list[Cause], broken: tuple[Pair, ...]) -> Iterator[str]:
        if not broken:
            yield f"- {prose(rule.purpose)} {prose(rule.advice)}"
        for pair, ours, theirs in _ROLES:
            if pair in broken:
                why = " ".join(self._whys(found, pair, ours, theirs))
                yield f"- **{ours}**: {prose(rule.purpose)} {why} {prose(self._advice(rule, found, pair))}"
        for number, cause in enumerate(found):
            yield f"  {self._cause(cause)}"
            if number < MAX_EXAMPLES:
                for pair in broken[:1]:
                    yield from self._messages(cause, pair)

    def _whys(self, found: Sequence[Cause], pair: Pair, ours: str, theirs: str) -> Iterator[str]:
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

    def _python_rules(self) -> Iterator[tuple[Rule, list[tuple[Finding, PythonName]]]]:
        ranked = sorted(self._marks.names, key=lambda row: (_RANK[row[0].rule.id], row[1], row[0].new))
        for rule, group in groupby(ranked, key=lambda row: row[0].rule):
            yield rule, list(group)

    def _bindings(self) -> Iterator[str]:
        yield from ("", "## For code that uses the bindings")
        rules = list(self._python_rules())
        if not rules:
            yield from ("", "Everything that it may use still exists.")
        for rule, found in rules:
            yield from ("", f"### {prose(rule.purpose.rstrip('.'))}", "", f"**{prose(rule.advice)}**", "")
            plain = list(dict.fromkeys(_plain(finding, name) for finding, name in found if not name.member))
            if plain:
                yield f"- {', '.join(plain)}"
            for owner, group in groupby((name for _, name in found if name.member), key=lambda name: name.owner):
                members = list(dict.fromkeys(_member(rule, name) for name in group))
                yield f"- {code(owner)}: {', '.join(code(member) for member in members)}"

    def _news(self) -> Iterator[str]:
        rows: list[str] = []
        for rule, title in NEWS.items():
            found = [judged for judged in self._report.findings if judged.rule is rule]
            names = {name: self._held(cause.first.finding, name) for cause in causes(found) for name in _names(cause)}
            if names:
                shown = ", ".join(f"{code(name)}{held}" for name, held in list(names.items())[:MAX_NEW])
                rows.append(f"- {title}: {shown}{f' and {len(names) - MAX_NEW} more' if len(names) > MAX_NEW else ''}")
        for judged in self._report.findings:
            if judged.rule is DIALECT_CHANGED:
                rows.append(f"- Dialect of the schema: {code(judged.finding.new)}, not {code(judged.finding.old)}")
        if rows:
            yield from ("", "## What is new", "", *rows)

    def _held(self, finding: Finding, name: str) -> str:
        """List the properties of something new that is an object: those of its params if it is a method."""
        new, subject = self._sides[1], finding.after
        types: list[TypeRef] = [Ref(name=m.params) for m in new.methods if m.name == name and m.params]
        if not finding.is_about_method and subject is not None:
            owner = new.definitions.get(subject.definition)
            field = owner.field(subject.member) if isinstance(owner, Struct) else None
            types = [field.type] if field else []
        names = [code(name) for type_ in types for name in _properties(new, type_, 1)]
        return f" (with {', '.join(names[:MAX_HELD])})" if names else ""


def _properties(protocol: Protocol, type_: TypeRef, depth: int) -> Iterator[str]:
    """Iterate over the properties of an object; nested objects are replaced by their properties."""
    struct = protocol.resolve(type_)
    for field in struct.fields if isinstance(struct, Struct) else ():
        if field.wire_name != "_meta":
            inner = (
                [f"{field.wire_name}.{name}" for name in _properties(protocol, field.type, depth - 1)] if depth else []
            )
            yield from inner or [field.wire_name]


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


def _travels(found: Sequence[Cause], pair: Pair) -> set[Travel]:
    """The directions in which causes break a pair of peers."""
    return {
        carrier.travel
        for cause in found
        for judged in cause.findings
        for carrier in judged.finding.carriers
        if pair in judged.finding.breaks_in(carrier)
    }


def _plain(finding: Finding, name: PythonName) -> str:
    renamed = finding.rule is DEFINITION_RENAMED
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
