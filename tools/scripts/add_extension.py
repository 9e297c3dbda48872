"""Add an extension to schema/: the structure of its official schema.ts, without its prose.

Run as ``make add-extension EXTENSION=io.modelcontextprotocol/tasks TYPESCRIPT=schema.ts``, after its table is in
schema/extensions.toml: writes schema/extensions/NAME/typescript.json, and prints what remains to be added by hand.
"""

import json
import sys
from pathlib import Path

from mcp_bindgen.ingest.extensions import ExtensionTable, shipped_extensions
from mcp_bindgen.ingest.sources import SourceText, decode, read_source
from mcp_bindgen.ingest.typescript_facts import facts_from_document
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.load.extension import extend, read_extension

SCHEMA = Path(__file__).resolve().parents[2] / "schema"


def add(table: ExtensionTable, source: SourceText, schema: Path) -> list[str]:
    """Write the structure of one extension below a schema folder.

    Returns:
        what is left to do, one line each.

    Raises:
        InputError: the file cannot be used.
    """
    diagnostics = Diagnostics()
    extend(table, table.revision, source, Diagnostics())
    facts = facts_from_document(read_extension(source, table.revision, diagnostics), decode(source))
    diagnostics.raise_errors()
    folder = schema / "extensions" / table.module
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "typescript.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")
    pinned = table.sha256 == source.sha256
    return [] if pinned else [f'schema/extensions.toml: ["{table.id}"] sha256 = "{source.sha256}"']


def main(arguments: list[str]) -> int:
    """Run the script; return its exit status."""
    if len(arguments) != 2 or not all(arguments):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        table = shipped_extensions().get(arguments[0])
        if table is None:
            raise InputError.at(Location(source=arguments[0]), "it has no table in schema/extensions.toml")
        left = add(table, read_source(arguments[1]), SCHEMA)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"schema/extensions/{table.module} is written", *left, "now run: make generate check", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
