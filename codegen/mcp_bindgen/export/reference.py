"""The reference: a page of all revisions, with an entry for each method and each type, readable without scripts.

What is the same in several revisions is on the page once. All text goes through the templates' autoescape. The page's
Content-Security-Policy admits only its own style sheet and script, by their digests.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from markupsafe import Markup

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import NOTHING, Rule
from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.export.examples import Example, Examples
from mcp_bindgen.export.facts import Facts, MethodFacts, PropertyFacts, TypeFacts
from mcp_bindgen.ir.facts import leaves
from mcp_bindgen.ir.history import History
from mcp_bindgen.ir.nodes import Protocol, Ref, Struct
from mcp_bindgen.load import replacements

SHELF = "reference"
"""The folder of the templates, below ``templates``."""
MAX_USERS = 12
"""How many messages that contain a type are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a spelled type, and the address of the definition that it names; may be empty."""

    text: str
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One property; `notes` are its bounds, gate, history and deprecation."""

    name: str
    type: tuple[Part, ...]
    required: bool
    doc: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The properties of a definition: of a part of a message."""

    type: tuple[Part, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What some revisions say of a method or type; `ids` are its addresses, `facts` pairs of a label and a text."""

    revisions: tuple[str, ...]
    ids: tuple[str, ...]
    doc: str
    is_deprecated: bool
    facts: tuple[tuple[str, str], ...]
    type: tuple[Part, ...]
    tables: tuple[Table, ...]
    examples: tuple[Example, ...]
    users: tuple[Part, ...] = ()

    @property
    def home(self) -> str:
        """The revision that links from the variant lead to."""
        return self.revisions[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something changed, and the readings of both revisions."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a rule of the diff finds in an entry, from the revision before to `new`."""

    new: str
    rule: str
    purpose: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A method or a type; `history` says since when it exists, and until when."""

    name: str
    kind: str
    home: str
    history: str
    variants: tuple[Variant, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """An error code, and the revisions that have it."""

    name: str
    value: str
    doc: str
    revisions: tuple[str, ...]


Differences = Mapping[tuple[str, str], Sequence[Finding]]
"""The findings of the diff between adjacent revisions."""


def reference(
    protocols: Sequence[Protocol], differences: Differences, templates: Templates, command: str, rules: str = ""
) -> str:
    """Return the page.

    Args:
        protocols: the revisions, oldest first.
        differences: what changed from each revision to the next.
        templates: those of the reference.
        command: the command that writes the page.
        rules: the address of the page on the rules of the diff; without one, rules are not linked.
    """
    pages = [Page(path=name, template=name, context={}) for name in ("style.css", "search.js")]
    style, script = templates.render(pages, ()).values()
    history = History(protocols, replacements())
    makers = [_Revision(protocol, history) for protocol in protocols]
    context = {
        "revisions": tuple(protocol.revision for protocol in reversed(protocols)),
        "methods": tuple(_entries([maker.methods() for maker in makers], differences)),
        "types": tuple(_entries([maker.types() for maker in makers], differences)),
        "codes": tuple(_codes(protocols)),
        "policy": f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        "style": Markup(style),
        "script": Markup(script),
        "rules": rules,
    }
    page = Page(path="reference.html", template="page.html.j2", context=context)
    return templates.render([page], header(command))[page.path]


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A variant of one revision, and what it takes to join those of others."""

    facts: MethodFacts | TypeFacts
    kind: str
    owners: frozenset[str]
    variant: Variant


class _Revision:
    """Makes the variants of one revision."""

    def __init__(self, protocol: Protocol, history: History) -> None:
        self._protocol = protocol
        self._facts = Facts(protocol, history)
        self._examples = Examples(protocol)
        self._methods = {method.name for method in protocol.methods}
        names = sorted(protocol.definitions, key=len, reverse=True)
        self._names = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names) or "(?!)")

    def methods(self) -> Iterator[_Made]:
        for method, facts in zip(self._protocol.methods, self._facts.methods(), strict=True):
            results = [name for name in (facts.result, *facts.alternatives) if name]
            tables = [table for name in (facts.params, *results) if name for table in self._tables(name)]
            variant = Variant(
                revisions=(self._protocol.revision,),
                ids=(self._id(facts.name),),
                doc=facts.doc,
                is_deprecated=facts.deprecated,
                facts=tuple(_facts(facts)),
                type=(),
                tables=tuple(tables),
                examples=tuple(self._examples.of(method)),
            )
            kind = "request" if method.is_request else "notification"
            owners = frozenset((facts.message, *results, *([facts.params] if facts.params else ())))
            yield _Made(facts=facts, kind=kind, owners=owners, variant=variant)

    def types(self) -> Iterator[_Made]:
        for facts in self._facts.types():
            ids = () if facts.name in self._methods else (self._id(facts.name),)
            users = [Part(text=f"{part} of {name}", address=_segment(name)) for part, name in facts.users]
            more = [Part(text=f"{len(users) - MAX_USERS} more")] if len(users) > MAX_USERS else []
            rows = tuple(self._row(each, facts.since) for each in facts.properties)
            variant = Variant(
                revisions=(self._protocol.revision,),
                ids=ids,
                doc=facts.doc,
                is_deprecated=facts.deprecated,
                facts=(("bounds", facts.bounds),) if facts.bounds else (),
                type=self._parts(facts.type or " & ".join(facts.bases)),
                tables=(Table(type=(), rows=rows),) if rows else (),
                examples=(),
                users=(*users[:MAX_USERS], *more),
            )
            yield _Made(facts=facts, kind="type", owners=frozenset((facts.name,)), variant=variant)

    def _tables(self, name: str) -> Iterator[Table]:
        """Iterate over the tables of a part of a message: several if it may have several forms."""
        for struct in leaves(self._protocol, [Ref(name=name)]):
            if isinstance(struct, Struct):
                facts = self._facts.type(struct)
                rows = tuple(self._row(each, facts.since) for each in facts.properties)
                yield Table(type=self._parts(struct.name), rows=rows)

    def _row(self, facts: PropertyFacts, since: str) -> Row:
        notes = (
            facts.bounds,
            f"needs {facts.capability}" if facts.capability else "",
            f"since {facts.since}" if facts.since > since else "",
            _removed(facts) if facts.removed else "",
            "deprecated" if facts.deprecated else "",
        )
        return Row(
            name=facts.name,
            type=self._parts(facts.type),
            required=facts.required,
            doc=facts.doc,
            notes=tuple(note for note in notes if note),
        )

    def _parts(self, text: str) -> tuple[Part, ...]:
        """Split a spelled type into the names of definitions, which are links, and the rest."""
        parts: list[Part] = []
        end = 0
        for found in self._names.finditer(text):
            parts += [Part(text=text[end : found.start()])] if found.start() > end else []
            parts.append(Part(text=found[0], address=_segment(found[0])))
            end = found.end()
        return (*parts, Part(text=text[end:])) if end < len(text) else tuple(parts)

    def _id(self, name: str) -> str:
        return f"{self._protocol.revision}/{_segment(name)}"


def _removed(facts: MethodFacts | TypeFacts | PropertyFacts) -> str:
    return f"removed in {facts.removed}{f': use {facts.use}' if facts.use else ''}"


def _segment(name: str) -> str:
    return quote(name, safe="/")


def _facts(facts: MethodFacts) -> Iterator[tuple[str, str]]:
    yield "sent by", facts.sender
    if facts.capability:
        declarer, _, path = facts.capability.partition(".")
        yield "needs", f"the capability {path}, declared by the {declarer}"
    if facts.result:
        yield "result", " or ".join([facts.result, *facts.alternatives])
    if facts.params is None or not facts.params_required:
        yield "params", "optional" if facts.params else "none of its own"
    if facts.flags:
        yield "also", ", ".join(flag.replace("_", " ") for flag in facts.flags)


def _entries(revisions: Iterable[Iterable[_Made]], differences: Differences) -> Iterator[Entry]:
    """Iterate over the entries by name; variants that say the same are joined."""
    found: dict[str, list[_Made]] = {}
    for made in (made for revision in revisions for made in revision):
        found.setdefault(made.facts.name, []).append(made)
    changes = {pair: _by_owner(findings) for pair, findings in differences.items()}
    for name in sorted(found):
        mades = found[name]
        joined: list[Variant] = []
        for variant in (made.variant for made in mades):
            last = joined[-1] if joined else None
            if last and replace(variant, revisions=last.revisions, ids=last.ids, users=last.users) == last:
                both = (*last.revisions, *variant.revisions)
                joined[-1] = replace(variant, revisions=both, ids=(*last.ids, *variant.ids))
            else:
                joined.append(variant)
        newest = mades[-1]
        until = f", {_removed(newest.facts)}" if newest.facts.removed else ""
        yield Entry(
            name=name,
            kind=newest.kind,
            home=f"{newest.variant.revisions[-1]}/{_segment(name)}",
            history=f"since {newest.facts.since}{until}",
            variants=tuple(reversed(joined)),
            changes=tuple(_changes(mades, changes)),
        )


def _by_owner(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        subject = finding.after or finding.before
        owner = subject.definition if subject else finding.place.partition(".")[0]
        found.setdefault(owner, []).append(finding)
    return found


def _changes(
    mades: Sequence[_Made], changes: Mapping[tuple[str, str], Mapping[str, Sequence[Finding]]]
) -> Iterator[Change]:
    """Iterate over what changed in the definitions of an entry, newest revision first."""
    for (old, new), by_owner in sorted(changes.items(), reverse=True):
        owners = {owner for made in mades if made.variant.revisions[0] in (old, new) for owner in made.owners}
        rules: dict[Rule, list[Place]] = {}
        for finding in (finding for owner in sorted(owners) for finding in by_owner.get(owner, ())):
            if {finding.old, finding.new} == {NOTHING, finding.place}:
                continue  # `history` says so
            place = Place(name=finding.place, before=finding.old, after=finding.new)
            rules.setdefault(finding.rule, []).append(place)
        for rule, places in rules.items():
            yield Change(new=new, rule=rule.id, purpose=rule.purpose, places=tuple(dict.fromkeys(places)))


def _codes(protocols: Sequence[Protocol]) -> Iterator[Code]:
    found: dict[tuple[str, int], Code] = {}
    for protocol in protocols:
        for constant in protocol.constants:
            if isinstance(constant.value, int) and constant.value < 0:
                known = found.get((constant.name, constant.value))
                revisions = (*(known.revisions if known else ()), protocol.revision)
                code = Code(name=constant.name, value=str(constant.value), doc=constant.doc, revisions=revisions)
                found[constant.name, constant.value] = code
    yield from (found[key] for key in sorted(found, key=lambda key: -key[1]))
