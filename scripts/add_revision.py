"""Add a released revision to schema/: the structure of its official schema.json and schema.ts, without their prose.

Run as ``.venv/bin/python scripts/add_revision.py REVISION schema.json schema.ts [FOLDER]``.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

from mcp_bindgen.diagnostics import Diagnostics, InputError
from mcp_bindgen.ingest.json_text import parse_json
from mcp_bindgen.ingest.prose import without_prose
from mcp_bindgen.ingest.sources import SourceText, decode, read_source
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_facts import dump_facts, facts_from_document

SCHEMA = Path(__file__).resolve().parents[1] / "schema"


def add(revision: str, schema_json: SourceText, schema_ts: SourceText, schema: Path) -> None:
    """Write the structure of one revision below a schema folder, and its row in the revisions.json there.

    Raises:
        InputError: one of the files cannot be read.
    """
    diagnostics = Diagnostics()
    official = parse_json(schema_json.data, schema_json.name, diagnostics)
    text = decode(schema_ts)
    facts = facts_from_document(read_typescript(text, schema_ts.name, diagnostics), text)
    diagnostics.raise_errors()
    structure = without_prose(cast(dict[str, Any], official))
    folder = schema / revision
    folder.mkdir(exist_ok=True)
    (folder / "schema.json").write_text(json.dumps(structure, indent=2, ensure_ascii=False) + "\n", "utf-8")
    (folder / "typescript.json").write_text(dump_facts(facts), "utf-8")
    index = schema / "revisions.json"
    rows: list[dict[str, str]] = json.loads(index.read_text("utf-8"))
    row = {
        "revision": revision,
        "schema_json_sha256": schema_json.sha256,
        "schema_ts_sha256": schema_ts.sha256,
    }
    rows = sorted([*(r for r in rows if r["revision"] != revision), row], key=lambda r: r["revision"])
    index.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    """Run the script; returns its exit status."""
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    revision, *files = arguments
    schema = Path(files[2]) if len(files) == 3 else SCHEMA
    try:
        add(revision, read_source(files[0]), read_source(files[1]), schema)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{schema / revision} is written; now run: make generate test")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
