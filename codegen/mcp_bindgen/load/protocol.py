"""Load one revision of the protocol: source files in, IR out.

The two halves of a schema are merged if both are available. For a released revision, a half that was not given is taken
from the shipped structure, provided that the two agree.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from mcp_bindgen.ingest.json_schema import SchemaDocument, read_schema
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.places import by_path, schema_places, typescript_places
from mcp_bindgen.ingest.revisions import read_docs, read_rows, released, shipped_places, shipped_source
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.sources import SourceKind, SourceText, decode, parse_json
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import document_from_facts
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.capabilities import CapabilityBook, add_capabilities, add_defaults
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, clip, refuse_endless_chains
from mcp_bindgen.ir.document import DocBook, document
from mcp_bindgen.ir.history import History
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.methods import Senders, derive_methods
from mcp_bindgen.ir.nodes import (
    Alias,
    Constant,
    Difference,
    Direction,
    Era,
    Kind,
    Method,
    Primitive,
    Protocol,
    Scalar,
    Source,
)
from mcp_bindgen.ir.scalars import Numbers
from mcp_bindgen.ir.spell import opaque_facts
from mcp_bindgen.merge.build import build
from mcp_bindgen.merge.lower import lower
from mcp_bindgen.merge.prose import add_meta, admit_booleans
from mcp_bindgen.merge.reconcile import RULES, Reconciled, reconcile

REVISION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_ALIKE = 4
"""The number of places reported for each kind of difference between schema.ts and schema.json."""
MAX_TEXT = 120
"""The number of characters of a type that a warning quotes."""
MAX_MISSING = 5
"""The number of undocumented names that a warning lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The names of the runtime that the root of the bindings passes on, beside those of the newest revision.

    Attributes:
        names: the names.
        kept: those that are the revision's all the same, each with the reason.
    """

    names: tuple[str, ...]
    kept: Mapping[str, str]

    def beside(self, exports: Collection[str], revision: str) -> tuple[str, ...]:
        """Return the names to pass on beside what a revision exports.

        Raises:
            InputError: both have a name, and no row says which of the two is meant; or a row is about another name.
        """
        if unsettled := {name for name in self.names if name in exports} ^ self.kept.keys():
            message = f"names of both the runtime and {revision} need a row in [revision], others none"
            raise InputError.at("schema/door.toml", message, lines=sorted(unsettled))
        return tuple(name for name in self.names if name not in self.kept)


_UNSURE = "a `number`, which may be an integer or not, becomes a float (`@TJS-type integer` makes it an integer)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The input of one revision: its schema.json, its schema.ts, or both, and their files."""

    schema: SchemaDocument | None
    typescript: TypeScriptDocument | None
    sources: tuple[SourceText, ...]

    @property
    def where(self) -> str:
        """The name of the file that diagnostics about the merged structure refer to."""
        return self.schema.source if self.schema else self.sources[0].name


@cache
def load_released(revision: str) -> Protocol:
    """Load a released revision from the shipped structure.

    Raises:
        InputError: there is no such revision, or the shipped files are damaged.
    """
    if revision not in released():
        known = ", ".join(released())
        raise InputError.at(revision, f"no such revision; the released ones are {known}")
    diagnostics = Diagnostics()
    halves = read_halves([shipped_source(revision, kind) for kind in SourceKind], diagnostics)
    return _protocol(revision, halves, _merge(halves, diagnostics), _senders(shipped_structure=True), diagnostics)


def load_sources(sources: Sequence[SourceText], revision: str | None, diagnostics: Diagnostics) -> Protocol:
    """Load a revision from a schema.json, a schema.ts, or both; `revision` overrides the one in schema.ts.

    Raises:
        InputError: the sources cannot be used; warnings and notes about usable ones go to `diagnostics`.
    """
    with refuse_endless_chains(sources[0].name):
        return _load_sources(sources, revision, diagnostics)


def _load_sources(sources: Sequence[SourceText], revision: str | None, diagnostics: Diagnostics) -> Protocol:
    for kind in SourceKind:
        if sum(source.kind is kind for source in sources) > 1:
            raise InputError.at(sources[-1].name, f"one {kind.value} is enough; two were given")
    halves = read_halves(sources, diagnostics)
    diagnostics.raise_errors()
    revision = _revision(halves, revision)
    if revision in released() and len(sources) == 1:
        return _with_shipped_half(revision, halves, diagnostics)
    merged = _merge(halves, diagnostics)
    _warn_of_differences(merged.unexpected, halves.where, diagnostics)
    return _protocol(revision, halves, merged, _senders(), diagnostics)


def _warn_of_differences(differences: Sequence[Difference], source: str, diagnostics: Diagnostics) -> None:
    """Report differences that no rule expects: the first places of each kind."""
    counts = Counter(difference.rule for difference in differences)
    told: Counter[str] = Counter()
    for difference in differences:
        told[difference.rule] += 1
        left = counts[difference.rule] - told[difference.rule]
        if told[difference.rule] > MAX_ALIKE:
            continue
        more = f"; the same at {left} more places" if told[difference.rule] == MAX_ALIKE and left else ""
        diagnostics.warning(
            Location(source=source, pointer=difference.pointer),
            f"schema.ts says {_cut(difference.left)}, schema.json {_cut(difference.right)}"
            f" ({difference.rule}); schema.ts is followed{more}",
        )


def _cut(text: str) -> str:
    return repr(clip(text, MAX_TEXT))


def read_halves(sources: Sequence[SourceText], diagnostics: Diagnostics) -> Halves:
    """Read each source in its format, without merging them."""
    schema: SchemaDocument | None = None
    typescript: TypeScriptDocument | None = None
    for source in sources:
        if source.kind is SourceKind.JSON_SCHEMA:
            schema = read_schema(parse_json(source.data, source.name, diagnostics), source.name, diagnostics)
        elif source.name.endswith(".json"):
            typescript = document_from_facts(json.loads(source.data), source.name, diagnostics)
        else:
            typescript = read_typescript(decode(source), source.name, diagnostics)
    return Halves(schema=schema, typescript=typescript, sources=tuple(sources))


def _revision(halves: Halves, stated: str | None) -> str:
    found = halves.typescript.revision if halves.typescript else None
    revision = stated or found
    where = Location(source=halves.where)
    if revision is None:
        raise InputError.at(
            where, "the revision of this schema is unknown: name it before --schema, or give its schema.ts"
        )
    if not REVISION_NAME.fullmatch(revision):
        raise InputError.at(where, f"{revision!r} cannot name a revision: use letters, digits, dots and dashes")
    return revision


def _with_shipped_half(revision: str, halves: Halves, diagnostics: Diagnostics) -> Protocol:
    other = SourceKind.TYPESCRIPT if halves.schema else SourceKind.JSON_SCHEMA
    whole = read_halves([*halves.sources, shipped_source(revision, other)], diagnostics)
    merged = _merge(whole, diagnostics, official=True)
    # What a given schema.json loses, the shipped one must lose too.
    known = {(e.rule, e.pointer, e.right) for e in load_released(revision).errata} if halves.schema else None
    unexpected = [
        erratum
        for erratum in merged.errata
        if erratum.rule not in RULES
        or (known is not None and erratum.contradiction and (erratum.rule, erratum.pointer, erratum.right) not in known)
    ]
    if not unexpected:
        return _protocol(revision, whole, merged, _senders(), diagnostics)
    first = unexpected[0]
    where = Location(source=halves.sources[0].name, pointer=first.pointer if halves.schema else "")
    more = f" and at {len(unexpected) - 1} more places" if len(unexpected) > 1 else ""
    diagnostics.warning(
        where,
        f"differs from the shipped {other.value} of {revision} at {first.pointer}{more}"
        f" ({first.left!r} in schema.ts, {first.right!r} in schema.json); this file is used alone",
    )
    return _protocol(revision, halves, _merge(halves, diagnostics), _senders(), diagnostics)


def _merge(halves: Halves, diagnostics: Diagnostics, *, official: bool = False) -> Reconciled:
    diagnostics.raise_errors()
    if halves.typescript and halves.schema:
        return reconcile(halves.typescript, halves.schema, official=official)
    declarations: Mapping[str, Declaration] = {}
    if halves.typescript:
        numbers = Numbers(known=_known_numbers())
        declarations = lower(halves.typescript, {}, numbers=numbers)
        for place, where in numbers.unsure.items():
            diagnostics.warning(where, f"{place}: {_UNSURE}")
    elif halves.schema:
        declarations = halves.schema.declarations
    return Reconciled(declarations=declarations, errata=(), unexpected=())


def _protocol(
    revision: str, halves: Halves, merged: Reconciled, senders: Senders, diagnostics: Diagnostics
) -> Protocol:
    definitions = build(merged.declarations, halves.where, diagnostics)
    diagnostics.raise_errors()
    methods = derive_methods(definitions, halves.where, senders, diagnostics)
    diagnostics.raise_errors()
    era = _era(methods, halves.where, diagnostics)
    errata: tuple[Difference, ...] = ()
    if era is Era.LEGACY and halves.typescript:
        definitions, errata = add_meta(definitions)
        definitions, admitted = admit_booleans(definitions)
        errata += admitted
    protocol = Protocol(
        revision=revision,
        era=era,
        definitions=definitions,
        methods=methods,
        constants=constants_of(halves.typescript),
        sources=tuple(Source(name=s.name, sha256=s.sha256, kind=s.kind.value) for s in halves.sources),
        errata=(*merged.errata, *errata),
        dialect=halves.schema.dialect if halves.schema else "",
        container=halves.schema.container if halves.schema else "",
        schema=halves.schema.root if halves.schema else {},
        places=cache(partial(_places, revision, halves, merged.declarations)),
    )
    warn_of_opaque_facts(protocol, diagnostics)
    protocol, missing = document(
        add_defaults(add_capabilities(protocol, capability_book()), default_rows()), doc_book()
    )
    warn_of_missing_docs(missing, halves.where, diagnostics)
    return protocol


def _places(revision: str, halves: Halves, declarations: Mapping[str, Declaration]) -> dict[str, Location]:
    """Return the places in the schema.ts, or in the schema.json without one; a shipped half has the official lines."""
    if any(source.kind is SourceKind.TYPESCRIPT and source.name.endswith(".json") for source in halves.sources):
        return shipped_places(revision)
    found = {name: each.where for name, each in declarations.items() if each.where is not None}
    typescript = halves.typescript
    return found | by_path(typescript_places(typescript) if typescript else schema_places(halves.sources[0]))


def warn_of_missing_docs(missing: Sequence[str], source: str, diagnostics: Diagnostics) -> None:
    """Name the first definitions and properties that nothing describes."""
    if missing:
        more = f" and {len(missing) - MAX_MISSING} more" if len(missing) > MAX_MISSING else ""
        names = ", ".join(missing[:MAX_MISSING])
        diagnostics.warning(Location(source=source), f"no description for {names}{more}")


def warn_of_opaque_facts(protocol: Protocol, diagnostics: Diagnostics) -> None:
    """Report what the schema says and no type can express; an error if `diagnostics` are strict."""
    for fact in opaque_facts(protocol):
        if fact.accepted != Kind.NEVER:
            message = f"{fact.name}: no type expresses {_cut(fact.opaque.text)}; {fact.accepted} is accepted"
            diagnostics.loose(fact.opaque.where, message)
    diagnostics.raise_errors()


def constants_of(typescript: TypeScriptDocument | None) -> tuple[Constant, ...]:
    """Return the constants of a schema.ts."""
    if typescript is None:
        return ()
    docs = typescript.constant_docs
    return tuple(Constant(name=n, value=v, doc=docs.get(n, "")) for n, v in typescript.constants.items())


@cache
def _known_numbers() -> Mapping[str, Kind]:
    """Return the properties and definitions whose numbers have the same kind wherever a released revision has them."""
    found: dict[str, set[Kind]] = {}
    for protocol in map(load_released, released()):
        fields = [(struct.name, field) for struct in protocol.structs() for field in struct.fields]
        named = [(name, each.type) for owner, each in fields for name in (each.wire_name, f"{owner}.{each.wire_name}")]
        named += [(each.name, each.type) for each in protocol.definitions.values() if isinstance(each, Alias)]
        for name, type_ in named:
            kinds = {leaf.kind for leaf in leaves(type_, protocol) if isinstance(leaf, Primitive)}
            found.setdefault(name, set()).update(kinds & {Kind.INTEGER, Kind.NUMBER})
    return {name: kind for name, kinds in found.items() if len(kinds) == 1 for kind in kinds}


def _era(methods: Sequence[Method], source: str, diagnostics: Diagnostics) -> Era:
    names = {method.name for method in methods}
    where = Location(source=source)
    if not methods:
        raise InputError.at(
            where,
            "not an MCP schema: no message was found in it (an object that "
            "requires a constant `method` and whose name, or that of a base, ends in Request or Notification); "
            "types without messages are generated with REVISION --extension ID=FILE",
        )
    if "server/discover" in names:
        return Era.MODERN
    if "initialize" not in names:
        diagnostics.warning(
            where, "neither `initialize` (legacy) nor `server/discover` (modern) is a method; it is treated as legacy"
        )
    return Era.LEGACY


def _senders(*, shipped_structure: bool = False) -> Senders:
    """Return the senders of messages in other revisions; none while loading shipped revisions, which would recurse."""
    others: list[str] = [] if shipped_structure else list(released())[::-1]

    def elsewhere(method: str) -> Direction | None:
        methods = (each for other in others for each in load_released(other).methods)
        return next((each.direction for each in methods if each.name == method), None)

    return Senders(rows=direction_rows(), elsewhere=elsewhere)


def history(*own: Protocol) -> History:
    """Return the history of all released revisions and a user's `own`, which replace released ones of their names."""
    every = {protocol.revision: protocol for protocol in (*map(load_released, released()), *own)}
    return History([every[revision] for revision in sorted(every)], replacements())


@cache
def replacements() -> Mapping[str, str]:
    """Return what replaces something that a revision removed, by name or place (schema/replacements.toml)."""
    rows = read_rows(_shipped_text("replacements.toml"), "of", "replacement")
    return {name: use for use, names in rows.items() for name in names}


@cache
def direction_rows() -> Mapping[str, Direction]:
    """Return the shipped rows on who sends messages that no root union names (schema/directions.toml)."""
    rows = read_rows(_shipped_text("directions.toml"), "direction", "direction")
    return {method: Direction(direction) for method, direction in rows.items()}


@cache
def door() -> Door:
    """Return the names that the root of the bindings passes on (schema/door.toml)."""
    table = tomllib.loads(_shipped_text("door.toml"))
    return Door(names=tuple(table["names"].split()), kept=table["revision"])


@cache
def doc_book() -> DocBook:
    """Return the shipped documentation lines (schema/docs.toml)."""
    return DocBook(read_docs(_shipped_text("docs.toml")))


@cache
def default_rows() -> Mapping[str, Scalar]:
    """Return the shipped defaults of required properties that are absent (schema/defaults.toml)."""
    return read_rows(_shipped_text("defaults.toml"), "value", "default")


@cache
def capability_book() -> CapabilityBook:
    """Return the shipped rows on required capabilities (schema/capabilities.toml)."""
    return CapabilityBook(**tomllib.loads(_shipped_text("capabilities.toml")))


def _shipped_text(name: str) -> str:
    return (shipped("schema") / name).read_text("utf-8")
