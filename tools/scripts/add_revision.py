"""Add a released revision to schema/: the structure of its official schema.json and schema.ts, without their prose.

Run as ``make add-revision REVISION=2027-01-31 SCHEMA=schema.json TYPESCRIPT=schema.ts``: writes the two files and the
row in revisions.json, and prints what remains to be added by hand. Without SCHEMA, the schema.json is made from the
schema.ts.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.emit.json_schema import dump, json_schema, reference
from mcp_bindgen.ingest.places import by_path, typescript_places
from mcp_bindgen.ingest.revisions import LINES, released
from mcp_bindgen.ingest.sources import SourceKind, SourceText, decode, parse_json, read_source
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import facts_from_document
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.document import document
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.ir.nodes import Protocol, Struct
from mcp_bindgen.load.protocol import capability_book, doc_book, load_released, load_sources

SCHEMA = Path(__file__).resolve().parents[2] / "schema"
PROSE = frozenset(("description", "title", "$comment", "examples"))
_NAMED = frozenset(("properties", "definitions", "$defs"))


def add(revision: str, schema_json: SourceText | None, schema_ts: SourceText, schema: Path) -> list[str]:
    """Write the structure of one revision below a schema folder, and its row in the revisions.json there.

    Without a schema.json, one is made from the schema.ts.

    Returns:
        what is left to do, one line each.

    Raises:
        InputError: one of the files cannot be read.
    """
    diagnostics = Diagnostics()
    schema_json = schema_json or _made(revision, schema_ts)
    official = parse_json(schema_json.data, schema_json.name, diagnostics)
    text = decode(schema_ts)
    read = read_typescript(text, schema_ts.name, diagnostics)
    facts = facts_from_document(read, text)
    diagnostics.raise_errors()
    halves = {
        "schema.json": json.dumps(without_prose(cast(dict[str, Any], official)), indent=2, ensure_ascii=False) + "\n",
        "typescript.json": json.dumps(facts, indent=1, ensure_ascii=False) + "\n",
    }
    notes = Diagnostics()
    protocol = load_sources([_shipped(name, text) for name, text in halves.items()], revision, notes)
    folder = schema / revision
    folder.mkdir(exist_ok=True)
    lines = {path: where.line for path, where in by_path(typescript_places(read)).items()}
    for name, content in {**halves, LINES: json.dumps(lines, indent=0) + "\n"}.items():
        (folder / name).write_text(content, "utf-8")
    index = schema / "revisions.json"
    rows: list[dict[str, str]] = json.loads(index.read_text("utf-8"))
    row = {
        "revision": revision,
        "era": protocol.era.value,
        "schema_json_sha256": schema_json.sha256,
        "schema_ts_sha256": schema_ts.sha256,
    }
    rows = sorted([*(r for r in rows if r["revision"] != revision), row], key=lambda r: r["revision"])
    index.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return [*_left(protocol), *(str(d) for d in notes if "no description for" not in d.message)]


def without_prose(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without its prose; a property that is called like a keyword of prose stays."""
    return {
        word: _named(value) if word in _NAMED else _plain(value) for word, value in schema.items() if word not in PROSE
    }


def _named(members: object) -> object:
    return {name: _plain(member) for name, member in members.items()} if is_object(members) else members


def _plain(value: object) -> object:
    if is_object(value):
        return without_prose(value)
    return [_plain(item) for item in value] if is_list(value) else value


def _made(revision: str, schema_ts: SourceText) -> SourceText:
    """Return the schema.json that says what a schema.ts says, with objects that it does not name in their places."""
    protocol = load_sources([schema_ts], revision, Diagnostics())
    document = json_schema(protocol)
    inline = {
        reference(name): document["$defs"][name]
        for name, definition in protocol.definitions.items()
        if isinstance(definition, Struct) and definition.holder
    }

    def hook(node: dict[str, Any]) -> Any:
        target = inline.get(node.get("$ref", ""))
        return node if target is None else json.loads(json.dumps(target), object_hook=hook)

    named = {name: each for name, each in document["$defs"].items() if reference(name) not in inline}
    whole = json.loads(json.dumps({**document, "$defs": named}), object_hook=hook)
    return _shipped("schema.json", dump(whole))


def _shipped(name: str, text: str) -> SourceText:
    kind = SourceKind.JSON_SCHEMA if name == "schema.json" else SourceKind.TYPESCRIPT
    return SourceText(name=name, kind=kind, data=text.encode())


def _left(protocol: Protocol) -> Iterator[str]:
    """Iterate over what remains to be added by hand: documentation, and the capabilities that messages need."""
    _, missing = document(protocol, doc_book())
    yield from (f"schema/docs.toml: nothing describes {name}" for name in missing)
    known = {method.name for revision in released() for method in load_released(revision).methods}
    for method in protocol.methods:
        if not method.capability and method.name not in {*known, *capability_book().methods}:
            yield f"schema/capabilities.toml: no row for {method.name}; it needs one unless every peer may use it"


def main(arguments: list[str]) -> int:
    """Run the script; return its exit status."""
    if len(arguments) not in (3, 4) or not arguments[0] or not arguments[2]:
        print(__doc__, file=sys.stderr)
        return 2
    revision, schema_json, schema_ts, *folder = arguments
    schema = Path(folder[0]) if folder else SCHEMA
    try:
        left = add(revision, read_source(schema_json) if schema_json else None, read_source(schema_ts), schema)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{schema / revision} is written", *left, "now run: make generate docs check", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
