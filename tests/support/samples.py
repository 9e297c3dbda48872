"""Small inputs for the tests of reading and merging, and helpers to read them."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from mcp_bindgen.ingest.json_schema import SchemaDocument, read_schema
from mcp_bindgen.ingest.revisions import legacy_revisions, released
from mcp_bindgen.ingest.shapes import Declaration
from mcp_bindgen.ingest.sources import SourceKind, SourceText, parse_json
from mcp_bindgen.ingest.typescript import read_typescript
from mcp_bindgen.ingest.typescript_types import TypeScriptDocument
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_sources

REVISIONS = tuple(released())
LEGACY = legacy_revisions()
TRANSCRIBED = tuple(revision for revision in REVISIONS if revision <= "2026-07-28")
"""The revisions for which tests have hand-written tables; later ones only have tests that apply to all revisions."""

OLDEST_IS_QUICK = [pytest.param(name, marks=[pytest.mark.slow] if name != REVISIONS[0] else []) for name in REVISIONS]
"""The revisions as parameters of tests: the quick ones take the oldest revision, which is the smallest."""

HANDSHAKE_TS = """
export interface InitializeRequest { method: "initialize"; params: InitializeRequestParams; }
export interface InitializeRequestParams { protocolVersion: string; }
export interface InitializeResult { protocolVersion: string; }
export type ClientRequest = InitializeRequest;
"""
"""The smallest schema.ts that counts as MCP."""

_STRING: Mapping[str, Any] = {"type": "string"}
_VERSIONED: Mapping[str, Any] = {
    "type": "object",
    "properties": {"protocolVersion": _STRING},
    "required": ["protocolVersion"],
}
HANDSHAKE: Mapping[str, Any] = {
    "InitializeRequest": {
        "type": "object",
        "properties": {"method": {"const": "initialize"}, "params": {"$ref": "#/$defs/InitializeRequestParams"}},
        "required": ["method", "params"],
    },
    "InitializeRequestParams": _VERSIONED,
    "InitializeResult": _VERSIONED,
    "ClientRequest": {"anyOf": [{"$ref": "#/$defs/InitializeRequest"}]},
}
"""The same in JSON Schema."""


def json_source(definitions: Mapping[str, Any], name: str = "schema.json") -> SourceText:
    """Make a schema.json from definitions."""
    return SourceText(name=name, kind=SourceKind.JSON_SCHEMA, data=json.dumps({"$defs": definitions}).encode())


def typescript_source(text: str, name: str = "schema.ts") -> SourceText:
    """Make a schema.ts from its text."""
    return SourceText(name=name, kind=SourceKind.TYPESCRIPT, data=text.encode())


def lines(diagnostics: Iterable[object]) -> list[str]:
    """Return the diagnostics, one line each, without the file name at the start."""
    return [re.sub(r"^(\w+: )schema\.(?:json|ts)", r"\1", str(d)) for d in diagnostics]


def read_json(definitions: Mapping[str, Any], container: str = "$defs") -> tuple[Mapping[str, Declaration], list[str]]:
    """Read definitions; return their declarations and the diagnostics."""
    diagnostics = Diagnostics()
    document = read_schema({container: dict(definitions)}, "schema.json", diagnostics)
    return document.declarations, lines(diagnostics)


def schema_document(definitions: Mapping[str, Any]) -> SchemaDocument:
    """Read definitions that have no errors."""
    diagnostics = Diagnostics()
    data = json.dumps({"$defs": definitions})
    document = read_schema(parse_json(data, "schema.json", diagnostics), "schema.json", diagnostics)
    assert not lines(diagnostics)
    return document


def typescript_document(text: str) -> TypeScriptDocument:
    """Read a schema.ts that has no errors."""
    diagnostics = Diagnostics()
    document = read_typescript(text, "schema.ts", diagnostics)
    assert not lines(diagnostics)
    return document


def load(*sources: SourceText, revision: str | None = "2099-01-01") -> tuple[Protocol, list[str]]:
    """Load sources; return the protocol, and the diagnostics without those on missing documentation."""
    diagnostics = Diagnostics()
    protocol = load_sources(sources, revision, diagnostics)
    return protocol, [line for line in lines(diagnostics) if "no description for" not in line]


def refusal(*sources: SourceText, revision: str | None = "2099-01-01") -> list[str]:
    """Load invalid sources; return the errors."""
    try:
        load_sources(sources, revision, Diagnostics())
    except InputError as error:
        return lines(error.diagnostics.errors)
    raise AssertionError("the input was not refused")
