"""`mcp-bindgen list`: the released revisions.

The JSON output is a list, oldest revision first, of objects with ``revision``, ``era``, ``definitions``, ``requests``,
``notifications``, and the sha256 of the official files as ``schema_json_sha256`` and ``schema_ts_sha256``.
"""

from dataclasses import asdict

from mcp_bindgen.cli.options import FormatOption, QuietOption, load
from mcp_bindgen.cli.output import answer_as, progress, table
from mcp_bindgen.ingest.revisions import released


def list_revisions(quiet: QuietOption = False, format_: FormatOption = "text") -> None:
    """List the released revisions: era, definitions, methods, and the sha256 of the official files."""
    found: list[dict[str, object]] = []
    with progress(len(released()), quiet=quiet) as step:
        for revision, official in released().items():
            step(revision)
            protocol = load(revision)
            requests = sum(method.is_request for method in protocol.methods)
            found.append(
                {
                    "revision": revision,
                    "era": protocol.era.value,
                    "definitions": len(protocol.definitions),
                    "requests": requests,
                    "notifications": len(protocol.methods) - requests,
                    **{name: value for name, value in asdict(official).items() if name != "revision"},
                }
            )
    headings = ("revision", "era", "definitions", "methods", "official file", "sha256")
    answer_as(format_, lambda: found, lambda: table(headings, _rows(found)), quiet=quiet)


def _rows(found: list[dict[str, object]]) -> list[list[str]]:
    rows: list[list[str]] = []
    for row in found:
        methods = f"{row['requests']} + {row['notifications']}"
        start = [str(row[name]) for name in ("revision", "era", "definitions")]
        rows.append([*start, methods, "schema.ts", str(row["schema_ts_sha256"])])
        rows.append(["", "", "", "", "schema.json", str(row["schema_json_sha256"])])
    return rows
