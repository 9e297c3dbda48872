"""The structure of a schema.ts without its prose, as kept in schema/REVISION/typescript.json.

Facts are read by writing them back as TypeScript, so there is one reader and no second grammar. They come from an
untrusted file: the parsed result must produce the same facts again, so nothing can hide in a type's text.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.ingest.typescript import read_placed
from mcp_bindgen.ingest.typescript_source import MAX_ERRORS, one_line
from mcp_bindgen.ingest.typescript_tags import FACT_TAGS, FLAG_TAGS, fact_tags, parse_doc
from mcp_bindgen.ingest.typescript_types import Span, Tags, TsDeclaration, TsMember, TsObject, TypeScriptDocument
from mcp_bindgen.json_values import is_list, is_object

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")


def facts_from_document(document: TypeScriptDocument, text: str) -> dict[str, object]:
    """Return the facts of a document; `text` is what it was read from, and types keep its spelling."""
    data = text.encode()
    return {
        "revision": document.revision,
        "constants": dict(document.constants),
        "declarations": [_declaration_facts(declaration, data) for declaration in document.declarations],
        **({"imports": dict(document.imports)} if document.imports else {}),
    }


def _declaration_facts(declaration: TsDeclaration, data: bytes) -> dict[str, object]:
    facts: dict[str, object] = {"name": declaration.name, "kind": declaration.kind}
    if declaration.parameters_span is not None:
        facts["parameters"] = _spelling(declaration.parameters_span, data)
    if declaration.kind == "interface" and isinstance(declaration.body, TsObject):
        facts["extends"] = [_spelling(base.span, data) for base in declaration.extends]
        facts["members"] = _member_facts(declaration.body, data)
    else:
        facts["value"] = _spelling(declaration.span, data)
    return facts | _tag_facts(declaration.tags)


def _member_facts(body: TsObject, data: bytes) -> list[dict[str, object]]:
    """Return the members in source order, the index signature where it was written."""
    entries = [(member.span, _one_member(member, data)) for member in body.members]
    if body.index_span is not None:
        entries.append((body.index_span, {"index": _spelling(body.index_span, data)}))
    return [facts for _, facts in sorted(entries, key=lambda entry: entry[0])]


def _one_member(member: TsMember, data: bytes) -> dict[str, object]:
    facts: dict[str, object] = {"name": member.name, "optional": member.optional}
    return facts | {"type": _spelling(member.span, data)} | _tag_facts(member.tags)


def _tag_facts(tags: Tags) -> dict[str, object]:
    kept = fact_tags(tags)
    return {"tags": kept} if kept else {}


def _spelling(span: Span, data: bytes) -> str:
    """Return the text of a span on one line, without comments, but for the tags of inline members."""
    return one_line(data[slice(*span)].decode(), _inline_tags)


def _inline_tags(comment: re.Match[str]) -> str:
    """Return a comment that has only the tags of another one that state structure; a blank without any."""
    before, after = comment.string[: comment.start()], comment.string[comment.end() :]
    is_trailing = bool(before.rpartition("\n")[2].strip()) and after.lstrip(" \t\r").startswith("\n")
    if is_trailing or not comment[0].startswith("/**"):
        return " "
    tags = fact_tags(parse_doc(comment[0]).tags)
    stated = " ".join(f"@{name}" if value is True else f"@{name} {value}".rstrip() for name, value in tags.items())
    return f" /** {stated} */ " if stated and "\n" not in stated else " "


def render_typescript(facts: object) -> str:
    """Write facts as TypeScript; malformed parts are skipped (`document_from_facts` reports them)."""
    return _Renderer("", Diagnostics()).render(facts)


def document_from_facts(
    facts: object, source: str, diagnostics: Diagnostics, base: Collection[str] | None = None
) -> TypeScriptDocument:
    """Read the parsed content of a typescript.json; locations carry a JSON pointer in place of a line.

    `base` are the types that an extension may import; None for a revision.
    """
    problems = Diagnostics()
    renderer = _Renderer(source, problems)
    text = renderer.render(facts)
    document = TypeScriptDocument(source=source)
    if not problems.errors:
        read = read_placed(text, source, renderer.place, problems, base)
        if not problems.errors:
            _compare(facts_from_document(read, text), facts, Location(source=source), problems)
        document = document if problems.errors else read
    diagnostics.extend(problems)
    return document


def _compare(read: Mapping[str, object], facts: object, where: Location, diagnostics: Diagnostics) -> None:
    """Report every part of the facts that does not survive the round trip."""
    given = facts if is_object(facts) else {}
    if read["revision"] != given["revision"]:
        diagnostics.error(where.child("revision"), "not the value of the constant LATEST_PROTOCOL_VERSION")
    if read["constants"] != given["constants"]:
        diagnostics.error(where.child("constants"), "not the constants that can be read from it")
    ours_all, theirs_all = read["declarations"], given["declarations"]
    pairs = zip_longest(ours_all, theirs_all) if is_list(ours_all) and is_list(theirs_all) else ()
    for position, (ours, theirs) in enumerate(pairs):
        if ours != theirs:
            place = where.child("declarations", position)
            diagnostics.error(place, "not normal: types are TypeScript in one line without comments, one per entry")
            return  # what follows may only be shifted


class _Renderer:
    """Writes facts as lines of TypeScript and remembers which part of the facts each line comes from."""

    def __init__(self, source: str, diagnostics: Diagnostics) -> None:
        self._root = Location(source=source)
        self._diagnostics = diagnostics
        self._lines: list[str] = []
        self._places: list[Location] = []
        self._errors_left = MAX_ERRORS

    def place(self, line: int, column: int | None) -> Location:
        """Return the part of the facts that a line comes from; a column means nothing there."""
        del column
        return self._places[min(line, len(self._places)) - 1] if line and self._places else self._root

    def render(self, facts: object) -> str:
        """Write the whole file."""
        root = self._object(facts, self._root, ("revision", "constants", "declarations"), "imports")
        if root is not None:
            if not isinstance(root["revision"], str | None):
                self._error(self._root.child("revision"), "must be a string or null")
            self._imports(root.get("imports", {}), self._root.child("imports"))
            self._constants(root["constants"], self._root.child("constants"))
            for position, declaration in self._list(root["declarations"], self._root.child("declarations")):
                self._declaration(declaration, position)
        return "".join(f"{line}\n" for line in self._lines)

    def _imports(self, imports: object, where: Location) -> None:
        for local, name in imports.items() if is_object(imports) else ():
            if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name) or not _IDENTIFIER.fullmatch(local):
                self._error(where.child(local), "must be the name of a type of the base revision, under an identifier")
            else:
                self._line(f'import type {{ {name} as {local} }} from "base";', where.child(local))

    def _constants(self, constants: object, where: Location) -> None:
        if not is_object(constants):
            self._error(where, "must be an object")
            return
        for name, value in constants.items():
            place = where.child(name)
            if not _IDENTIFIER.fullmatch(name):
                self._error(place, "the name of a constant must be an identifier")
            elif not isinstance(value, str | int | float) or (isinstance(value, int) and abs(value) >= 2**53):
                self._error(place, "a constant must be a string, a number that is exact in JSON, or a boolean")
            else:
                self._line(f"export const {name} = {json.dumps(value)};", place)

    def _declaration(self, declaration: object, where: Location) -> None:
        kind = declaration.get("kind") if is_object(declaration) else None
        if kind not in ("interface", "type", "enum"):
            self._error(where, "must be an object whose 'kind' is 'interface', 'type' or 'enum'")
            return
        keys = ("name", "kind", "extends", "members") if kind == "interface" else ("name", "kind", "value")
        facts = self._object(declaration, where, keys, "tags", "parameters")
        if facts is None:
            return
        name = facts["name"]
        if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
            self._error(where.child("name"), "must be an identifier")
            return
        self._tags(facts, where, "")
        parameters = self._text(facts.get("parameters", ""), where.child("parameters"))
        if kind != "interface":
            self._line(f"export type {name}{parameters} =" if kind == "type" else f"export enum {name}", where)
            end = ";" if kind == "type" else ""
            self._line(f"  {self._text(facts['value'], where.child('value'))}{end}", where.child("value"))
            return
        self._line(f"export interface {name}{parameters}", where)
        for number, (position, base) in enumerate(self._list(facts["extends"], where.child("extends"))):
            self._line(f"  {', ' if number else 'extends '}{self._text(base, position)}", position)
        self._line("{", where)
        for position, member in self._list(facts["members"], where.child("members")):
            self._member(member, position)
        self._line("}", where)

    def _member(self, member: object, where: Location) -> None:
        if is_object(member) and "index" in member:
            if self._object(member, where, ("index",)) is not None:
                self._line(f"  {self._text(member['index'], where.child('index'))};", where)
            return
        facts = self._object(member, where, ("name", "optional", "type"), "tags")
        if facts is None:
            return
        name, optional = facts["name"], facts["optional"]
        if not isinstance(name, str) or not isinstance(optional, bool):
            self._error(where, "'name' must be a string and 'optional' a boolean")
            return
        self._tags(facts, where, "  ")
        mark = "?" if optional else ""
        self._line(f"  {json.dumps(name)}{mark}: {self._text(facts['type'], where.child('type'))};", where)

    def _tags(self, facts: Mapping[str, object], where: Location, indent: str) -> None:
        tags = facts.get("tags", {})
        where = where.child("tags")
        if not is_object(tags) or (not tags and "tags" in facts):
            self._error(where, "must be an object with at least one tag")
            return
        lines = [f"{indent} * @{name}{self._tag_value(name, value, where.child(name))}" for name, value in tags.items()]
        for line in [f"{indent}/**", *lines, f"{indent} */"] if lines else ():
            self._line(line, where)

    def _tag_value(self, name: str, value: object, where: Location) -> str:
        if name in FLAG_TAGS and value is True:
            return ""
        if name not in FACT_TAGS - FLAG_TAGS:
            self._error(where, "not a tag that facts keep, or not the value 'true' of a tag that is a flag")
            return ""
        text = self._text(value, where)
        if "*/" in text:
            self._error(where, "the text of a tag cannot contain '*/'")
        return f" {text}"

    def _object(
        self, value: object, where: Location, required: tuple[str, ...], *optional: str
    ) -> dict[str, object] | None:
        if not is_object(value):
            self._error(where, "must be an object")
            return None
        missing = [key for key in required if key not in value]
        for key in missing:
            self._error(where, f"'{key}' is missing")
        for key in sorted(value.keys() - {*required, *optional}):
            self._error(where.child(key), "is not part of the format")
        return None if missing else value

    def _list(self, value: object, where: Location) -> Iterator[tuple[Location, object]]:
        if not is_list(value):
            self._error(where, "must be an array")
            return iter(())
        return ((where.child(position), item) for position, item in enumerate(value))

    def _text(self, value: object, where: Location) -> str:
        """Return a text that stays in its line."""
        if isinstance(value, str) and not re.search("[\n\r\u2028\u2029\ud800-\udfff]", value):
            return value
        self._error(where, "must be a string of one line, without lone surrogates")
        return ""

    def _line(self, line: str, where: Location) -> None:
        self._lines.append(line)
        self._places.append(where)

    def _error(self, where: Location, message: str) -> None:
        if self._errors_left > 0:
            self._diagnostics.error(where, message)
        elif self._errors_left == 0:
            self._diagnostics.error(self._root, f"more than {MAX_ERRORS} errors; the others are not listed")
        self._errors_left -= 1
