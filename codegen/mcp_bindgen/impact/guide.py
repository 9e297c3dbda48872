"""A migration guide in Markdown: what changes for clients, for servers, and for code that uses the bindings."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

from mcp_bindgen.bridge.rows import ERA, FRAMING, ROWS
from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import FRAMES, Finding, Pair, Travel
from mcp_bindgen.diff.inputs import load_side
from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.markdown import code, in_table, prose
from mcp_bindgen.diff.report.model import Cause, Judged, Report, causes
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.diff.report.sides import report_on
from mcp_bindgen.diff.report.story import capabilities
from mcp_bindgen.diff.rule import NOTHING, Rule, View
from mcp_bindgen.diff.rules import CATALOGUE, definitions, properties
from mcp_bindgen.diff.rules.annotations import DEPRECATED_ADDED
from mcp_bindgen.diff.rules.messages import REQUEST_METHOD_ADDED, RESULT_ALTERNATIVE_ADDED
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.witness import Examples
from mcp_bindgen.emit.python.render import document
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.impact.bindings import CALLERS, HANDLERS, RECORDS, PythonName
from mcp_bindgen.impact.marks import TOUCHES, Marks, UseKind
from mcp_bindgen.impact.run import marks_of
from mcp_bindgen.impact.topics import NOTES, by_topic, prose_between
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ingest.sources import public_name
from mcp_bindgen.ir.diagnostics import Diagnostics, plain, refuse_endless_chains
from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.methods import RUNTIME_REQUESTS
from mcp_bindgen.ir.nodes import Direction, Method, Protocol, Ref, Struct
from mcp_bindgen.load.protocol import replacements

_Row = TypeVar("_Row")
_WAYS = {
    Direction.CLIENT_TO_SERVER: "client to server",
    Direction.SERVER_TO_CLIENT: "server to client",
    Direction.BOTH: "both ways",
    Direction.EMBEDDED: "inside a result",
}


def methods_table(old: Protocol, new: Protocol) -> Iterator[tuple[str, str]]:
    """Iterate over the methods that changed, with the successors of those that are gone."""
    names = renamed_methods(old, new)
    before, after = ({method.name: method for method in side.methods} for side in (old, new))
    for name in sorted(before.keys() | after.keys() - set(names.values())):
        row = _cell(before.get(name)), _cell(after.get(names.get(name, name)), replacements().get(name, ""))
        if row[0] != row[1]:
            yield row


def capabilities_table(old: Protocol, new: Protocol) -> Iterator[tuple[str, str]]:
    """Iterate over the capabilities that only one side has."""
    before, after = (set(capabilities(side)) for side in (old, new))
    for path in sorted(before ^ after):
        yield in_table(path) if path in before else "-", in_table(path) if path in after else "-"


def _cell(method: Method | None, successor: str = "") -> str:
    if method is None:
        return f"{code(successor)} instead" if successor else "-"
    kind = "request" if method.is_request else "notification"
    return f"{in_table(method.name)}: {kind}, {_WAYS[method.direction]}"


MAX_MESSAGE = 400
"""The number of characters of a message that the guide shows."""
MAX_EXAMPLES = 1
"""How many causes of one rule and topic the guide shows messages for."""
_ROLES = ((Pair.OLD_CLIENT, "client", "server"), (Pair.NEW_CLIENT, "server", "client"))
_RANK = {rule.id: number for number, rule in enumerate(CATALOGUE)}

_BY_RUNTIME = "The runtime does this for you, unless you build messages yourself."
_BY_HANDLER = "Write a handler if you support it; the runtime refuses it otherwise."
_WITHOUT_SUCCESSOR = "Nothing takes its place."
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
        framed = (side for side in (old, new) if FRAMES in side.definitions)
        frames = [struct for side in framed for struct in structs(Ref(name=FRAMES), side)]
        self._frames = {FRAMES, *(struct.name for struct in frames)}
        self._id_types = {field.type for struct in frames if (field := struct.field("id"))}

    def render(self) -> str:
        """Return the document."""
        text = document("guide.md.j2", self._context())
        return re.sub(r"\n{3,}", "\n\n", text.rstrip("\n") + "\n")

    def _context(self) -> dict[str, object]:
        report, (old, new) = self._report, self._sides
        told = [j for j in report.findings if j.rule.view is View.WIRE and j.severity is not Severity.INFO]
        told += [j for j in report.findings if j.rule is DEPRECATED_ADDED]
        names = sorted(self._marks.names, key=lambda row: (_RANK[row[0].rule.id], row[1], row[0].new))
        are_released = old.revision in released() and new.revision in released()
        folder = revision_folder(new.revision)
        return {
            "report": report,
            "old": report.old.label,
            "new": report.new.label,
            "words": words,
            "code": code,
            "prose": prose,
            "elsewhere": self._elsewhere(new.revision),
            "prose_only": [*prose_between(old.revision, new.revision)],
            "roles": [self._role(*row) for row in _ROLES],
            "uses": [self._use(*row) for row in self._by_advice(((row[0], row) for row in names), in_code=True)],
            "command": f"mcp-bindgen impact src --from {report.old.name} --to {report.new.name}",
            "tables": [("Methods", [*methods_table(old, new)]), ("Capabilities", [*capabilities_table(old, new)])],
            "topics": [self._topic(topic, found) for topic, found in by_topic(told)],
            "programs": [
                (role, new.revision, program.format(folder=folder))
                for role, program in _PROGRAMS.items()
                if are_released
            ],
        }

    def _elsewhere(self, new: str) -> str:
        """Say where the other changes of a released revision are listed."""
        page = f"https://modelcontextprotocol.io/specification/{new}/changelog"
        return f" For everything else, read the [changes of {new}]({page})." if new in released() else ""

    def _by_advice(
        self, rows: Iterable[tuple[Finding, _Row]], *, in_code: bool = False
    ) -> Iterator[tuple[Rule, str, list[_Row]]]:
        """Group findings and what belongs to them by rule, in their order, and by the advice that replaces its own."""
        groups: dict[tuple[Rule, str], list[_Row]] = {}
        for finding, row in rows:
            groups.setdefault((finding.rule, self._own_advice(finding, in_code=in_code)), []).append(row)
        yield from ((rule, own, group) for (rule, own), group in groups.items())

    def _own_advice(self, finding: Finding, *, in_code: bool) -> str:
        """Return the advice for what the runtime handles or a bridge knows a successor of, or an empty text."""
        value = finding.old if finding.new == NOTHING else finding.new
        subject = finding.after
        if (finding.is_about_method and value in RUNTIME_REQUESTS) or self._is_of_frames(finding):
            return _BY_RUNTIME
        if finding.rule is RESULT_ALTERNATIVE_ADDED and not in_code and self._is_hidden(finding):
            return _BY_RUNTIME
        if finding.rule is REQUEST_METHOD_ADDED:
            return _BY_HANDLER
        row = next((row for row in ROWS if row.kind == ERA and row.fits(finding.rule.id, finding.place, value)), None)
        frames = (row for row in FRAMING if row.place == finding.place and finding.rule.id in row.rules)
        frame = next(frames, None)
        if finding.rule in _NOW_REQUIRED and subject is not None:
            known = row or frame or subject.member == "_meta"
            default = f"{subject.definition}.{subject.member}" in self._sides[1].defaults
            return _BY_RUNTIME if known or default else ""
        is_named = finding.is_about_method or "." not in finding.place
        use = replacements().get(value if is_named else finding.place, "") if finding.new == NOTHING else ""
        framed = frame.says.capitalize() + "." if frame else ""
        why = row.reason if row else framed
        told = " ".join([*([f"Use `{use}` instead."] if use else []), *([why] if why else [])])
        return told or (_WITHOUT_SUCCESSOR if finding.is_about_method and finding.new == NOTHING else "")

    def _is_of_frames(self, finding: Finding) -> bool:
        """Whether a change in messages is about JSON-RPC frames, or the ids in them."""
        if finding.rule.view is not View.WIRE or finding.is_about_method:
            return False
        subject = finding.after or finding.before
        struct = None if subject is None else self._sides[finding.after is not None].definitions.get(subject.definition)
        field = struct.field(subject.member) if subject and isinstance(struct, Struct) else None
        is_id = field is not None and field.type in self._id_types
        return is_id or not self._frames.isdisjoint(place.partition(".")[0] for place in finding.places)

    def _is_hidden(self, finding: Finding) -> bool:
        """Whether no stub returns a new kind of result, since the client answers it."""
        stubs = (function for owner in self._marks.new.callers for function in self._marks.new.stubs[owner].values())
        created = {function.created for function in stubs if function.method in finding.methods}
        return self._marks.new.class_of(finding.new) not in created

    def _role(self, pair: Pair, ours: str, theirs: str) -> dict[str, object]:
        """Return what a role has to do."""
        broken = [(judged.finding, judged) for judged in self._report.findings if pair in judged.broken]
        unproven = [judged for judged in self._report.findings if pair in judged.finding.unproven]
        breaks = [
            {
                "mark": _mark(own),
                "rule": rule,
                "advice": own or prose(_advice(rule, found, pair)),
                "subjects": _subjects(causes(found)),
            }
            for rule, own, found in self._by_advice(broken)
        ]
        return {"ours": ours, "theirs": theirs, "breaks": breaks, "unproven": _subjects(causes(unproven))}

    def _use(self, rule: Rule, own: str, found: list[tuple[Finding, PythonName]]) -> dict[str, object]:
        """Return what a rule finds in code that uses the bindings."""
        members = groupby((name for _, name in found if name.member), key=lambda name: name.owner)
        return {
            "mark": _mark(own),
            "rule": rule,
            "advice": own or prose(_advice_for_code(rule)),
            "number": words.counted(len({name for _, name in found}), "name"),
            "names": ", ".join(dict.fromkeys(_plain(finding, name) for finding, name in found if not name.member)),
            "members": [
                (owner, ", ".join(dict.fromkeys(code(_member(rule, name)) for name in group)))
                for owner, group in members
            ],
        }

    def _topic(self, topic: str, judged: Sequence[Judged]) -> dict[str, object]:
        """Return the changes of a topic in messages: breaks first, then other changes."""
        deprecated = sorted(j.finding.place for j in judged if j.rule is DEPRECATED_ADDED)
        told = ((j.finding, j) for j in judged if j.rule is not DEPRECATED_ADDED)
        return {
            "title": topic,
            "changes": [
                self._change(rule, own, list(group), broken)
                for rule, own, found in self._by_advice(told)
                for broken, group in groupby(causes(found), key=lambda cause: cause.first.broken)
            ],
            "deprecated": ", ".join(map(code, deprecated)),
            "notes": [note.text for note in NOTES if note.applies(self._report.findings, topic)],
        }

    def _change(self, rule: Rule, own: str, found: list[Cause], broken: tuple[Pair, ...]) -> dict[str, object]:
        judged = [each for cause in found for each in cause.findings]
        shown = found[:MAX_EXAMPLES] if own is not _BY_RUNTIME else []
        return {
            "rule": rule,
            "advice": own or prose(rule.advice),
            "roles": [
                (ours, " ".join(_whys(judged, pair, ours, theirs)), own or prose(_advice(rule, judged, pair)))
                for pair, ours, theirs in _ROLES
                if pair in broken
            ],
            "causes": [(_cause(cause), self._messages(cause, broken) if cause in shown else []) for cause in found],
        }

    def _messages(self, cause: Cause, broken: tuple[Pair, ...]) -> list[tuple[str, str]]:
        """Return a message of each revision for the first pair of peers that a cause breaks."""
        shown = (self._examples.pair(judged.finding, pair) for pair in broken[:1] for judged in cause.findings)
        both = next((both for both in shown if both != (None, None)), ())
        labels = self._report.old.label, self._report.new.label
        sides = zip(labels, both, strict=False)
        return [(plain(side), _json(message)) for side, message in sides if message is not None]


def _mark(own: str) -> str:
    return "x" if own is _BY_RUNTIME else " "


def _advice(rule: Rule, found: Sequence[Judged], pair: Pair) -> str:
    """Return what a role has to do; some advice is for the sender, and has a counterpart for the receiver."""
    to_them = Travel.TO_SERVER if pair is Pair.OLD_CLIENT else Travel.TO_CLIENT
    receives = to_them not in _travels(found, pair)
    return rule.to_receivers or rule.advice if receives else rule.advice


def _advice_for_code(rule: Rule) -> str:
    """Return what to do in code that uses the bindings, which never has to distinguish peers: bridges do that."""
    reads = TOUCHES[rule] & {UseKind.READ, UseKind.DELEGATE}
    return rule.to_receivers or rule.advice if reads else rule.advice


def _whys(found: Sequence[Judged], pair: Pair, ours: str, theirs: str) -> Iterator[str]:
    """Explain which messages are refused: those that we send, or those that we receive."""
    travels = _travels(found, pair)
    to_them = Travel.TO_SERVER if ours == "client" else Travel.TO_CLIENT
    if to_them in travels:
        yield f"A new {theirs} refuses what your {ours} sends."
    if travels - {to_them}:
        yield f"Your {ours} refuses what a new {theirs} may send."


def _cause(cause: Cause) -> str:
    methods = ", ".join(code(name) for name in words.method_names(cause))
    gates = words.gates(cause.findings)
    parts = [code(words.what(cause, most=None)), *([f"in {methods}"] if methods else [])]
    return "; ".join([*parts, *([f"only after {code(gates)} was declared or sent"] if gates else [])])


def _names(cause: Cause) -> list[str]:
    """Name the subject of a cause briefly: methods, a property of several definitions, a place."""
    finding = cause.first.finding
    owner, dot, member = finding.place.rpartition(".")
    if not dot:
        return sorted({j.finding.new if j.finding.old == NOTHING else j.finding.old for j in cause.findings})
    return [f"{owner}.{member}" if len(cause.findings) == 1 else member]


def _subjects(found: Sequence[Cause]) -> str:
    """List the subjects of some causes."""
    names = dict.fromkeys(name for cause in found for name in _names(cause))
    return ", ".join(map(code, names))


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
    return plain(words.short(json.dumps(message, ensure_ascii=False), MAX_MESSAGE))


def migration_guide(old: str, new: str, diagnostics: Diagnostics) -> str:
    """Return the guide from one side of a comparison to the other, in Markdown.

    Raises:
        InputError: a side cannot be read.
    """
    with refuse_endless_chains(f"{public_name(old)} and {public_name(new)}"):
        before, after = load_side(old, diagnostics), load_side(new, diagnostics)
        findings = compare(before, after)
    found = report_on((old, new), (before, after), findings, Options(), Baseline())
    return Guide(found, before, after, Examples(before, after), marks_of(findings, before, after)).render()
