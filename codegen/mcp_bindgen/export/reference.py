"""The reference: a page of all revisions, with an entry for each method and each type, readable without scripts.

What is the same in several revisions is on the page once. All text goes through the templates' autoescape. The page's
Content-Security-Policy admits only its own style sheet and script, by their digests.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import NOTHING, Rule
from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python.render import Page, Templates, inlined
from mcp_bindgen.emit.swap import write_trees
from mcp_bindgen.emit.tree import Extent, Tree
from mcp_bindgen.emit.tree import compare as compare_tree
from mcp_bindgen.export.facts import Facts, MethodFacts, PropertyFacts, TypeFacts
from mcp_bindgen.ir.history import History
from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.nodes import Constant, Direction, Method, Protocol, Ref
from mcp_bindgen.load.protocol import replacements
from mcp_bindgen.values.builder import Builder


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One message; `type` is the definition of the `value` in it, ``params`` or ``result``, empty without any."""

    title: str
    message: dict[str, Any]
    type: str = ""
    value: Any = None

    @property
    def text(self) -> str:
        """The message as indented JSON."""
        return json.dumps(self.message, indent=1, ensure_ascii=False)


class Examples:
    """Makes the examples of one revision."""

    def __init__(self, protocol: Protocol) -> None:
        self._builder = Builder(protocol, ())

    def of(self, method: Method) -> Iterator[Example]:
        """Iterate over the messages of a method: what is sent, and each result."""
        kind = "request" if method.is_request else "notification"
        frame: dict[str, Any] = {"jsonrpc": "2.0", **({"id": 1} if method.is_request else {}), "method": method.name}
        if method.direction is Direction.EMBEDDED:
            frame = {"method": method.name}
        if method.params is None or not method.params_required:
            yield Example(title=f"Smallest {kind}", message=frame)
        if method.params is not None:
            for size, value in self._values(method.params):
                if size == "Full" or method.params_required:
                    message = {**frame, "params": value}
                    yield Example(title=f"{size} {kind}", message=message, type=method.params, value=value)
        for name in (method.result, *method.alternatives):
            for size, value in self._values(name) if name else ():
                title = f"{size} result" if name == method.result else f"{size} result: {name}"
                message = {"jsonrpc": "2.0", "id": 1, "result": value}
                is_embedded = method.direction is Direction.EMBEDDED
                yield Example(title=title, message=value if is_embedded else message, type=name or "", value=value)

    def _values(self, name: str) -> Iterator[tuple[str, Any]]:
        smallest, full = self._builder.smallest(Ref(name=name)), self._builder.full(Ref(name=name))
        yield "Smallest", smallest
        if full != smallest:
            yield "Full", full


SHELF = "reference"
"""The folder of the templates, below ``templates``."""
MAX_USERS = 12
"""How many messages that contain a type are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a spelled type; `is_name` is true of the name of a definition."""

    text: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """The properties of a definition."""

    name: str
    since: str
    properties: tuple[PropertyFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What some revisions say of a method or type; `is_addressed` is false of a type with the name of a method."""

    revisions: tuple[str, ...] = field(compare=False)
    facts: MethodFacts | TypeFacts
    tables: tuple[Table, ...]
    examples: tuple[Example, ...] = ()
    is_addressed: bool = True

    @property
    def home(self) -> str:
        """The revision that links from the variant lead to."""
        return self.revisions[-1]

    @property
    def users(self) -> tuple[tuple[str, str], ...]:
        """The first messages that contain a type: the part and the method."""
        return self.facts.users[:MAX_USERS] if isinstance(self.facts, TypeFacts) else ()

    @property
    def more_users(self) -> int:
        """How many more messages contain it."""
        return len(self.facts.users) - len(self.users) if isinstance(self.facts, TypeFacts) else 0

    @property
    def owners(self) -> list[str]:
        """The definitions whose changes belong to it."""
        if isinstance(self.facts, TypeFacts):
            return [self.facts.name]
        names = {self.facts.message, self.facts.params, *self.facts.results}
        return sorted(name for name in names if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a rule finds in an entry, from the revision before to `new`: places, and the readings of both revisions."""

    new: str
    rule: Rule
    places: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A method or a type: what revisions say of it, the newest first."""

    name: str
    variants: tuple[Variant, ...]
    changes: tuple[Change, ...]


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
    history = History(protocols, replacements())
    makers = {protocol.revision: _Revision(protocol, history) for protocol in protocols}

    def parts(variant: Variant, text: str) -> Iterator[Part]:
        return makers[variant.home].parts(text)

    context: dict[str, object] = {
        "revisions": tuple(reversed(makers)),
        "methods": tuple(_entries([maker.methods() for maker in makers.values()], differences)),
        "types": tuple(_entries([maker.types() for maker in makers.values()], differences)),
        "codes": tuple(_codes(protocols)),
        "parts": parts,
        "address": partial(quote, safe="/"),
        "rules": rules,
        **inlined(templates, "style.css", "search.js"),
    }
    page = Page(path="reference.html", template="page.html.j2", context=context)
    return templates.render([page], header(command))[page.path]


class _Revision:
    """Makes the variants of one revision."""

    def __init__(self, protocol: Protocol, history: History) -> None:
        self._protocol = protocol
        self._revisions = (protocol.revision,)
        self._facts = Facts(protocol, history)
        self._examples = Examples(protocol)
        names = sorted(protocol.definitions, key=len, reverse=True)
        self._names = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names) or "(?!)")

    def methods(self) -> Iterator[Variant]:
        for method, facts in zip(self._protocol.methods, self._facts.methods(), strict=True):
            yield Variant(
                revisions=self._revisions,
                facts=facts,
                tables=tuple(self._tables(facts.params, *facts.results)),
                examples=tuple(self._examples.of(method)),
            )

    def types(self) -> Iterator[Variant]:
        taken = {method.name for method in self._protocol.methods}
        for facts in self._facts.types():
            tables = (_table(facts),) if facts.properties else ()
            yield Variant(revisions=self._revisions, facts=facts, tables=tables, is_addressed=facts.name not in taken)

    def _tables(self, *names: str | None) -> Iterator[Table]:
        """Iterate over the tables of all forms of the parts of a message."""
        for struct in (each for name in names if name for each in structs(Ref(name=name), self._protocol)):
            yield _table(self._facts.type(struct))

    def parts(self, text: str) -> Iterator[Part]:
        """Split a spelled type into the names of definitions, which are links, and the rest."""
        end = 0
        for found in self._names.finditer(text):
            yield Part(text=text[end : found.start()])
            yield Part(text=found[0], is_name=True)
            end = found.end()
        yield Part(text=text[end:])


def _table(facts: TypeFacts) -> Table:
    return Table(facts.name, facts.since, facts.properties)


def _entries(revisions: Iterable[Iterable[Variant]], differences: Differences) -> Iterator[Entry]:
    """Iterate over the entries by name; variants that say the same are joined."""
    found: dict[str, list[Variant]] = {}
    for variant in (variant for revision in revisions for variant in revision):
        found.setdefault(variant.facts.name, []).append(variant)
    changes = {pair: _by_owner(findings) for pair, findings in differences.items()}
    for name in sorted(found):
        joined: list[Variant] = []
        for variant in found[name]:
            alike = joined.pop().revisions if joined and joined[-1] == variant else ()
            joined.append(replace(variant, revisions=(*alike, *variant.revisions)))
        yield Entry(name=name, variants=tuple(reversed(joined)), changes=tuple(_changes(found[name], changes)))


def _by_owner(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        subject = finding.after or finding.before
        owner = subject.definition if subject else finding.place.partition(".")[0]
        found.setdefault(owner, []).append(finding)
    return found


def _changes(
    variants: Sequence[Variant], changes: Mapping[tuple[str, str], Mapping[str, Sequence[Finding]]]
) -> Iterator[Change]:
    """Iterate over what changed in the definitions of an entry, newest revision first."""
    for (old, new), by_owner in sorted(changes.items(), reverse=True):
        owners = {owner for variant in variants if variant.home in (old, new) for owner in variant.owners}
        rules: dict[Rule, dict[tuple[str, str, str], None]] = {}
        for finding in (finding for owner in sorted(owners) for finding in by_owner.get(owner, ())):
            if {finding.old, finding.new} != {NOTHING, finding.place}:  # otherwise the history says so
                rules.setdefault(finding.rule, {})[finding.place, finding.old, finding.new] = None
        for rule, places in rules.items():
            yield Change(new=new, rule=rule, places=tuple(places))


def _codes(protocols: Sequence[Protocol]) -> Iterator[tuple[Constant, list[str]]]:
    """Iterate over the error codes, each with the revisions that have it."""
    found: dict[tuple[int, str], tuple[Constant, list[str]]] = {}
    for protocol in protocols:
        for constant in protocol.constants:
            if isinstance(constant.value, int) and constant.value < 0:
                found.setdefault((-constant.value, constant.name), (constant, []))[1].append(protocol.revision)
    yield from (found[key] for key in sorted(found))


def write_reference(protocols: Sequence[Protocol], out: Path, templates: Templates, rules: str, *, check: bool) -> bool:
    """Write the page of some revisions, unless it is only to be checked; return whether the one on disk differs."""
    changes = {(old.revision, new.revision): compare(old, new, proven=False) for old, new in pairwise(protocols)}
    command = f"mcp-bindgen export reference --out {shlex.quote(out.name)}"
    text = reference(protocols, changes, templates, command, rules)
    tree = Tree(folder=out.resolve().parent, files={out.name: text}, extent=Extent.LISTED)
    is_stale = bool(compare_tree(tree).paths)
    if not check:
        write_trees([tree], tree.folder / out.name)
    return is_stale
