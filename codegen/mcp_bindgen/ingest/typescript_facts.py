"""The structure of a schema.ts without its prose, as kept in schema/REVISION/typescript.json.

Facts are read by writing them back as TypeScript, so there is one reader and no second grammar. They are shipped, and
no input of a user: a test proves that what is read from each file produces the same facts again.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from mcp_bindgen.ingest.typescript import read_placed
from mcp_bindgen.ingest.typescript_source import one_line
from mcp_bindgen.ingest.typescript_tags import fact_tags, parse_doc
from mcp_bindgen.ingest.typescript_types import Body, Member, Span, Tags, TsDeclaration, TypeScriptDocument
from mcp_bindgen.ir.diagnostics import Diagnostics, Location


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
    if declaration.kind == "interface" and isinstance(declaration.body, Body):
        facts["extends"] = [_spelling(base.span, data) for base in declaration.extends]
        facts["members"] = _member_facts(declaration.body, data)
    else:
        facts["value"] = _spelling(declaration.span, data)
    return facts | _tag_facts(declaration.tags)


def _member_facts(body: Body, data: bytes) -> list[dict[str, object]]:
    """Return the members in source order, the index signature where it was written."""
    entries = [(member.span, _one_member(member, data)) for member in body.properties]
    if body.index_span is not None:
        entries.append((body.index_span, {"index": _spelling(body.index_span, data)}))
    return [facts for _, facts in sorted(entries, key=lambda entry: entry[0])]


def _one_member(member: Member, data: bytes) -> dict[str, object]:
    facts: dict[str, object] = {"name": member.wire_name, "optional": not member.required}
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


def render_typescript(facts: Mapping[str, Any]) -> str:
    """Write facts as TypeScript."""
    return _text(_lines(facts, Location(source="")))


def document_from_facts(
    facts: Mapping[str, Any], source: str, diagnostics: Diagnostics, base: Collection[str] | None = None
) -> TypeScriptDocument:
    """Read the parsed content of a typescript.json; locations carry a JSON pointer in place of a line.

    `base` are the types that an extension may import; None for a revision.
    """
    root = Location(source=source)
    lines = list(_lines(facts, root))

    def place(line: int, column: int | None) -> Location:
        del column  # it means nothing in JSON
        return lines[min(line, len(lines)) - 1][1] if line and lines else root

    return read_placed(_text(lines), source, place, diagnostics, base)


_Line: TypeAlias = tuple[str, Location]
"""A line of TypeScript, and the part of the facts that it comes from."""


def _text(lines: Iterable[_Line]) -> str:
    return "".join(f"{line}\n" for line, _ in lines)


def _lines(facts: Mapping[str, Any], root: Location) -> Iterator[_Line]:
    for local, name in facts.get("imports", {}).items():
        yield f'import type {{ {name} as {local} }} from "base";', root.child("imports", local)
    for name, value in facts["constants"].items():
        yield f"export const {name} = {json.dumps(value)};", root.child("constants", name)
    for position, declaration in enumerate(facts["declarations"]):
        yield from _declaration_lines(declaration, root.child("declarations", position))


def _declaration_lines(facts: Mapping[str, Any], where: Location) -> Iterator[_Line]:
    yield from _tag_lines(facts, where, "")
    kind, name = facts["kind"], facts["name"] + facts.get("parameters", "")
    if kind != "interface":
        yield f"export {kind} {name}{' =' if kind == 'type' else ''}", where
        yield f"  {facts['value']}{';' if kind == 'type' else ''}", where.child("value")
        return
    yield f"export interface {name}", where
    for number, base in enumerate(facts["extends"]):
        yield f"  {', ' if number else 'extends '}{base}", where.child("extends", number)
    yield "{", where
    for number, member in enumerate(facts["members"]):
        yield from _member_lines(member, where.child("members", number))
    yield "}", where


def _member_lines(facts: Mapping[str, Any], where: Location) -> Iterator[_Line]:
    if "index" in facts:
        yield f"  {facts['index']};", where
        return
    yield from _tag_lines(facts, where, "  ")
    yield f"  {json.dumps(facts['name'])}{'?' if facts['optional'] else ''}: {facts['type']};", where


def _tag_lines(facts: Mapping[str, Any], where: Location, indent: str) -> Iterator[_Line]:
    if tags := facts.get("tags"):
        yield f"{indent}/**", where
        for name, value in tags.items():
            yield f"{indent} * @{name}{'' if value is True else f' {value}'}", where.child("tags", name)
        yield f"{indent} */", where
