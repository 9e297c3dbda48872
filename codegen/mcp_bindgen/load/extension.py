"""Load an extension: its schema.ts and its table in, the revision that it extends plus what it adds out."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from mcp_bindgen.ingest.extensions import ExtensionTable, shipped_extensions, shipped_structure
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.places import by_path, typescript_places
from mcp_bindgen.ingest.revisions import read_docs, shipped_source
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.sources import SourceKind, SourceText, decode, read_source
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import document_from_facts
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.capabilities import add_defaults
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Level, Location, refuse_endless_chains
from mcp_bindgen.ir.document import DocBook, document
from mcp_bindgen.ir.extensions import Extension
from mcp_bindgen.ir.facts import params_structs, result_tag, tag_of
from mcp_bindgen.ir.methods import Senders, derive_methods
from mcp_bindgen.ir.names import method_constant
from mcp_bindgen.ir.nodes import Definition, Direction, Method, Protocol, Source
from mcp_bindgen.load.protocol import (
    constants_of,
    default_rows,
    doc_book,
    load_released,
    read_halves,
    warn_of_missing_docs,
    warn_of_opaque_facts,
)
from mcp_bindgen.merge.build import build
from mcp_bindgen.merge.compare import Comparison
from mcp_bindgen.merge.lower import lower
from mcp_bindgen.merge.prose import add_base_meta


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """The revision that an extension extends: its IR, its schema.ts, and the declarations of both."""

    protocol: Protocol
    typescript: TypeScriptDocument
    declarations: Mapping[str, Declaration]


@cache
def load_extension(id: str) -> Extension:
    """Load a shipped extension.

    Raises:
        InputError: there is no such extension, or the shipped files are damaged.
    """
    table = shipped_extensions().get(id)
    if table is None:
        known = ", ".join(shipped_extensions())
        message = f"no such extension; the shipped ones are {known}; give your own as ID=FILE"
        raise InputError.at(Location(source=id), message)
    return extend(table, table.revision, shipped_structure(table), Diagnostics())


def extend_with(table: ExtensionTable, revision: str) -> Extension:
    """Load the extension that a table describes, from its schema.ts or the shipped structure; raises like `extend`."""
    source = read_source(table.schema) if table.schema else shipped_structure(table)
    return extend(table, revision, source, Diagnostics())


def extend(
    table: ExtensionTable,
    revision: str,
    source: SourceText,
    diagnostics: Diagnostics,
    *,
    is_current: bool = True,
) -> Extension:
    """Load an extension of a released revision.

    Args:
        table: what its schema.ts does not say.
        revision: the revision that it extends.
        source: its schema.ts, or the structure of that as typescript.json.
        diagnostics: receives warnings and notes.
        is_current: whether the table describes this state of the schema.ts; otherwise rows that do not apply are notes.

    Raises:
        InputError: it cannot be used: it changes what the revision has, or a row of its table applies to nothing.
    """
    if table.revision and table.revision != revision:
        message = f"{table.id} extends {table.revision}, not {revision}"
        raise InputError.at(table.row("revision"), message)
    if source.kind is not SourceKind.TYPESCRIPT:
        raise InputError.at(
            Location(source=source.name), "a schema.json does not say what is imported; give a schema.ts"
        )
    with refuse_endless_chains(source.name):
        return _Extending(table, _base(revision), source, diagnostics, is_current).extension()


@cache
def _base(revision: str) -> _Base:
    protocol = load_released(revision)
    halves = read_halves([shipped_source(revision, kind) for kind in SourceKind], Diagnostics())
    assert halves.schema is not None and halves.typescript is not None, "both halves are shipped"
    declarations = lower(halves.typescript, halves.schema.declarations)
    return _Base(protocol=protocol, typescript=halves.typescript, declarations=declarations)


def read_extension(source: SourceText, revision: str, diagnostics: Diagnostics) -> TypeScriptDocument:
    """Read the schema.ts of an extension, or its structure; errors go to `diagnostics`."""
    base = _base(revision).declarations
    if source.name.endswith(".json"):
        return document_from_facts(json.loads(source.data), source.name, diagnostics, base)
    return read_typescript(decode(source), source.name, diagnostics, base)


def lower_extension(typescript: TypeScriptDocument, revision: str, *, whole: bool = False) -> dict[str, Declaration]:
    """Return the declarations of an extension; if `whole`, together with those of the revision."""
    base = _base(revision)
    return {**(base.declarations if whole else {}), **lower(typescript, {}, base.typescript)}


class _Extending:
    def __init__(
        self, table: ExtensionTable, base: _Base, source: SourceText, diagnostics: Diagnostics, is_current: bool
    ) -> None:
        self._report = diagnostics.error if is_current else diagnostics.note
        self._table = table
        self._base = base
        self._source = source
        self._diagnostics = diagnostics
        self._definitions: dict[str, Definition] = {}
        self._own: frozenset[str] = frozenset()

    def extension(self) -> Extension:
        revision = self._base.protocol.revision
        typescript = read_extension(self._source, revision, self._diagnostics)
        self._diagnostics.raise_errors()
        self._define(lower_extension(typescript, revision))
        protocol = replace(
            self._base.protocol,
            definitions=self._definitions,
            constants=constants_of(typescript),
            sources=(Source(name=self._source.name, sha256=self._source.sha256, kind=self._source.kind.value),),
            errata=(),
            schema={},  # That of the base says nothing about the extension.
            places=cache(lambda: {**self._base.protocol.places(), **by_path(typescript_places(typescript))}),
        )
        methods = self._methods()
        protocol = add_defaults(replace(protocol, methods=(*protocol.methods, *methods)), default_rows())
        results = self._results(protocol)
        protocol = replace(protocol, methods=tuple(_with_results(m, results) for m in protocol.methods))
        self._check_rows(protocol, methods)
        self._diagnostics.raise_errors()
        own = replace(protocol, definitions={name: self._definitions[name] for name in self._own})
        warn_of_opaque_facts(own, self._diagnostics)
        protocol, missing = document(protocol, self._docs())
        warn_of_missing_docs(missing, self._source.name, self._diagnostics)
        return Extension(
            id=self._table.id,
            module=self._table.module,
            protocol=protocol,
            own=self._own,
            methods=tuple(m for m in protocol.methods if m.message in self._own),
            results=results,
            filters=self._table.filters,
            headers=self._table.headers,
            settings=self._table.settings,
            link=self._table.link,
        )

    def _define(self, declarations: Mapping[str, Declaration]) -> None:
        """Build the definitions of the revision and the extension together; the extension may not change any."""
        comparison = Comparison(declarations, self._base.declarations)
        there = self._base.protocol.definitions
        for name, declaration in declarations.items():
            if name not in there:
                continue
            same = self._base.declarations.get(name)
            changes = same is None or any(
                d.contradiction for d in comparison.types(declaration.type, same.type, f"/{name}")
            )
            where = declaration.where or self._where(name)
            if changes:
                self._diagnostics.error(where, f"{name} is a type of {self._base.protocol.revision}; rename it")
            else:
                self._diagnostics.note(where, f"{name} is that of {self._base.protocol.revision}, which is used")
        self._diagnostics.raise_errors()
        added = {name: each for name, each in declarations.items() if name not in there}
        built = build({**self._base.declarations, **added}, self._source.name, self._diagnostics)
        self._diagnostics.raise_errors()
        self._own = frozenset(built.keys() - there.keys())
        self._definitions = {**there, **{name: built[name] for name in built if name in self._own}}
        if not self._table.types_only:
            self._definitions = add_base_meta(self._definitions, self._own)

    def _methods(self) -> tuple[Method, ...]:
        """Derive the methods of the extension; each needs a row that says who sends it."""
        if self._table.types_only:
            if not any(method_constant(self._definitions[name]) for name in self._own):
                self._stale("types_only", "the extension has no messages")
            return ()
        rows = {method: self._direction(method, row["direction"]) for method, row in self._table.directions.items()}
        found = Diagnostics()
        senders = Senders(rows=rows, elsewhere=lambda _: Direction.BOTH)
        methods = derive_methods(self._definitions, self._source.name, senders, found)
        there = {method.name: method.message for method in self._base.protocol.methods}
        for definition in sorted(self._own):
            name = method_constant(self._definitions[definition])
            if name in there:
                message = f"{name} is a method of {self._base.protocol.revision} ({there[name]}); rename it"
                self._diagnostics.error(self._where(definition), message)
        for diagnostic in found:
            if diagnostic.level is not Level.NOTE and diagnostic.where.pointer.strip("/") in self._own:
                self._diagnostics.add(diagnostic)
        own = tuple(method for method in methods if method.message in self._own)
        for method in own:
            if not method.is_directed:
                row = f'{method.name!r} = {{ direction = "client_to_server", reason = "..." }}'
                message = f"nothing says who sends it; add the row {row} (or another direction)"
                self._report(self._table.row("directions", method.name), message)
        return own

    def _direction(self, method: str, text: str) -> Direction:
        try:
            return Direction(text)
        except ValueError:
            known = ", ".join(Direction)
            self._report(self._table.row("directions", method), f"{text!r} is none of {known}")
            return Direction.BOTH

    def _results(self, protocol: Protocol) -> dict[str, dict[str, str]]:
        """Return the additional results of requests by their tag, by method."""
        tag = result_tag(protocol)
        found: dict[str, dict[str, str]] = {}
        for name, result in self._table.results.items():
            row = self._table.row("results", name)
            method = next((m for m in protocol.methods if m.name == name and m.is_request), None)
            value = tag_of(protocol, result, tag) if tag and result in self._own else ""
            if method is None:
                self._report(row, f"{protocol.revision} has no request of that name")
            elif result not in self._own:
                self._report(row, f"the extension has no type {result}")
            elif not value:
                self._report(row, f"{result} has no constant {tag or 'resultType'}")
            elif value in [
                tag_of(protocol, other, tag) for other in (method.result or "", *method.alternatives) if other
            ]:
                self._report(row, f"another result of {name} has the {tag} {value!r} as well")
            else:
                found[name] = {value: result}
        return found

    def _check_rows(self, protocol: Protocol, methods: tuple[Method, ...]) -> None:
        """Report every row of the table that applies to nothing."""
        own = {method.name: method for method in methods}
        if self._table.settings and self._table.settings not in self._own:
            self._stale("settings", f"the extension has no type {self._table.settings}")
        for method in self._table.directions.keys() - own.keys():
            self._stale("directions", "the extension has no message of that method", method)
        for method, name in self._table.filters.items():
            if all(known.name != method for known in protocol.methods):
                self._stale("filters", f"{protocol.revision} has no method of that name", method)
            elif name not in self._own:
                self._stale("filters", f"the extension has no type {name}", method)
        for method, name in self._table.headers.items():
            forms = params_structs(protocol, own[method]) if method in own else ()
            if not forms:
                self._stale("headers", "the extension has no message of that method with params", method)
            elif any(form.field(name) is None for form in forms):
                self._stale("headers", f"its params have no property {name!r}", method)

    def _stale(self, key: str, message: str, *keys: str) -> None:
        self._report(self._table.row(key, *keys), message)

    def _where(self, name: str) -> Location:
        return Location(source=self._source.name, pointer=f"/{name}")

    def _docs(self) -> DocBook:
        """Return the lines on the extension's definitions, and those on the revision's, which do not describe them."""
        path = shipped("schema") / "extensions" / self._table.module / "docs.toml"
        own = read_docs(path.read_text("utf-8")) if self._table.id in shipped_extensions() and path.is_file() else {}
        return DocBook({**dict(_foreign(doc_book(), self._own)), **own})


def _foreign(book: DocBook, own: frozenset[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Iterate over the lines of a book that do not describe a definition of the extension."""
    for key, line in book.lines.items():
        owner = key[-2] if "properties" in key[:-2] else key[-1]
        if "constants" not in key and owner not in (*own, "*"):
            yield key, line


def _with_results(method: Method, results: Mapping[str, Mapping[str, str]]) -> Method:
    added = tuple(results.get(method.name, {}).values())
    return replace(method, alternatives=(*method.alternatives, *added)) if added else method
