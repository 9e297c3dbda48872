"""Small schemas built into definitions of the IR, and helpers to inspect them."""

from collections.abc import Mapping
from typing import Any

from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Alias, Definition, Struct, TypeRef
from mcp_bindgen.merge.build import build
from mcp_bindgen.merge.lower import lower
from support.samples import lines, read_json, typescript_document


def built(text: str) -> tuple[Mapping[str, Definition], list[str]]:
    """Build the definitions of a schema.ts, without its JSON."""
    diagnostics = Diagnostics()
    definitions = build(lower(typescript_document(text), {}), "schema.ts", diagnostics)
    return definitions, lines(diagnostics)


def good(text: str) -> Mapping[str, Definition]:
    definitions, found = built(text)
    assert found == []
    return definitions


def errors(text: str) -> list[str]:
    _, found = built(text)
    assert found
    assert all(line.startswith("error") for line in found)
    return found


def build_json(definitions: Mapping[str, Any]) -> tuple[Mapping[str, Definition], list[str]]:
    declarations, found = read_json(definitions)
    assert found == []
    diagnostics = Diagnostics()
    return build(declarations, "schema.json", diagnostics), lines(diagnostics)


def struct(definitions: Mapping[str, Definition], name: str) -> Struct:
    found = definitions[name]
    assert isinstance(found, Struct)
    return found


def alias(definitions: Mapping[str, Definition], name: str) -> TypeRef:
    found = definitions[name]
    assert isinstance(found, Alias)
    return found.type


def shape(found: Struct) -> dict[str, tuple[TypeRef, bool]]:
    return {field.wire_name: (field.type, field.required) for field in found.fields}
