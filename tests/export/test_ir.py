"""The representation as JSON: complete, as its schema says, and enough for a generator in another language.

UPDATE_GOLDEN=1 writes the tables of docs/ir.md.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.export.ir import FORMAT, ir, schema_path
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.ir.nodes import Protocol, Struct
from mcp_bindgen.load.protocol import load_released, load_sources
from support.command import Cli
from support.documents import ROOT
from support.official import official_schema, official_typescript
from support.samples import REVISIONS

PAGE = ROOT / "docs" / "ir.md"
SCHEMA: dict[str, Any] = json.loads(schema_path().read_bytes())
VALIDATOR: Any = Draft202012Validator(SCHEMA)

EVERYTHING = """
export const LATEST_PROTOCOL_VERSION = "2031-01-01";
/** A page of things. */
export interface Page<T> { things: T[]; }
export interface ListThingsRequest {
  method: "things/list";
  params?: {
    /** @format uri */
    near?: string;
    kind?: "a" | "b" | string;
  };
}
export interface ListThingsResult extends Omit<Base, "gone"> {
  /** @deprecated */
  page: Page<Thing>;
  /** @minimum 0 */
  left?: number;
  rest?: { [key: string]: string };
  either: Thing | null;
  odd?: `a${string}`;
}
export interface Base { gone: true; kept: 1 | "one" | false }
/** @internal */
export type Thing = { /** Its name. */ name: string; cost?: never };
"""


def read(text: str, name: str = "schema.ts", revision: str = "2031-01-01") -> Protocol:
    """Read a schema."""
    kind = SourceKind.TYPESCRIPT if name.endswith(".ts") else SourceKind.JSON_SCHEMA
    return load_sources([SourceText(name=name, kind=kind, data=text.encode())], revision, Diagnostics())


def checked(protocol: Protocol) -> dict[str, Any]:
    """Return the document of a revision, which must be as its schema says."""
    document: dict[str, Any] = json.loads(json.dumps(ir(protocol)))
    assert [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)] == []
    return document


def lines(document: dict[str, Any]) -> dict[tuple[str, str], int | None]:
    """Return the line of each definition and of each property, by the names of both."""
    found: dict[tuple[str, str], int | None] = {}
    for definition in document["definitions"]:
        found[definition["name"], ""] = definition["where"].get("line")
        for property_ in definition.get("properties", ()):
            found[definition["name"], property_["name"]] = property_["where"].get("line")
    return found


def values(node: Any) -> Iterator[Any]:
    """Iterate over a JSON value and all that it contains."""
    yield node
    for child in node.values() if is_object(node) else node if is_list(node) else ():
        yield from values(child)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_released_revision_is_complete(revision: str) -> None:
    protocol = load_released(revision)
    document = checked(protocol)
    assert document["format"] == FORMAT
    assert [each["name"] for each in document["definitions"]] == list(protocol.definitions)
    assert [each["name"] for each in document["methods"]] == [method.name for method in protocol.methods]
    for shown, definition in zip(document["definitions"], protocol.definitions.values(), strict=True):
        if isinstance(definition, Struct):
            assert [each["name"] for each in shown["properties"]] == [field.wire_name for field in definition.fields]
            assert {each["name"] for each in shown["properties"] if "inherited" not in each} == definition.own
            assert [each["doc"] for each in shown["properties"]] == [field.doc for field in definition.fields]
    named = {each["name"] for each in document["definitions"]}
    assert {each["name"] for each in values(document) if is_object(each) and each.get("kind") == "ref"} <= named
    assert document == json.loads(json.dumps(ir(protocol)))


@pytest.mark.parametrize("revision", REVISIONS)
def test_each_property_of_a_released_revision_has_its_line_in_the_official_file(revision: str) -> None:
    official = official_typescript(revision).read_text("utf-8").splitlines()
    for (owner, name), line in lines(checked(load_released(revision))).items():
        assert line is not None
        text = official[line - 1]
        is_added = name == "_meta" and "params" in text  # by the erratum `params-meta`
        assert name in text or is_added, (owner, name)


def test_lines_are_those_of_the_files_that_were_given() -> None:
    text = EVERYTHING.splitlines()
    places = lines(checked(read(EVERYTHING)))
    for (owner, name), words in {
        ("PageThing", ""): "interface Page",
        ("PageThing", "things"): "interface Page",
        ("ListThingsRequestParams", "near"): "near?",
        ("ListThingsResult", "kept"): "interface Base",
        ("ListThingsResult", "rest"): "rest?",
        ("Thing", "name"): "type Thing",
    }.items():
        assert words in text[(places[owner, name] or 0) - 1], (owner, name)
    given = official_schema("2025-06-18")
    written = given.read_text("utf-8").splitlines()
    document = checked(load_sources([read_source(str(given))], "2031-01-01", Diagnostics()))
    for (_, name), line in lines(document).items():
        assert line is not None
        assert not name or f'"{name}": ' in written[line - 1]


def test_everything_that_types_can_say() -> None:
    document = checked(read(EVERYTHING))
    found = {each["name"]: each for each in document["definitions"]}
    properties = {each["name"]: each for each in found["ListThingsResult"]["properties"]}
    params = {each["name"]: each["type"] for each in found["ListThingsRequestParams"]["properties"]}
    assert found["ListThingsResult"]["extends"] == [{"name": "Base", "omits": ["gone"]}]
    assert found["ListThingsRequestParams"]["inline"] == "ListThingsRequest.params"
    assert found["Thing"]["internal"] is True
    assert params == {
        "near": {"kind": "string", "format": "uri"},
        "kind": {"kind": "string", "known": ["a", "b"]},
    }
    assert properties["kept"]["inherited"] is True
    assert properties["kept"]["type"] == {"kind": "literal", "values": [1, "one", False]}
    assert properties["page"]["deprecated"] is True
    assert properties["left"]["type"]["bounds"] == {"minimum": 0}
    assert properties["rest"]["type"] == {"kind": "map", "values": {"kind": "string"}}
    assert properties["either"]["type"]["members"] == [{"kind": "ref", "name": "Thing"}, {"kind": "null"}]
    assert properties["odd"]["type"]["opaque"]["text"] == "`a${string}`"
    assert {each["name"]: each["type"] for each in found["Thing"]["properties"]}["cost"]["kind"] == "never"


def test_what_a_schema_json_says() -> None:
    either = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}]}
    request = {
        "type": "object",
        "properties": {"method": {"const": "a/b"}, "params": {"type": "object", "properties": {"x": either}}},
        "required": ["method"],
        "additionalProperties": False,
    }
    document = checked(read(json.dumps({"$defs": {"ARequest": request, "AResult": {"type": "object"}}}), "schema.json"))
    found = {each["name"]: each for each in document["definitions"]}
    assert found["ARequest"]["additional"] is False
    (x,) = found["ARequestParams"]["properties"]
    assert x["type"]["members"][1]["bounds"] == {"uniqueItems": True}
    assert x["where"] == {
        "source": "schema.json",
        "line": 1,
        "pointer": "/$defs/ARequest/properties/params/properties/x",
    }


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    given = tmp_path / "schema.ts"
    given.write_text(EVERYTHING, "utf-8")
    assert cli("export", "ir", "2025-11-25").json == ir(load_released("2025-11-25"))
    assert cli("export", "ir", "--schema", given, "--quiet").json["sources"][0]["name"] == str(given)
    assert cli("export", "ir", "--json-schema").json == SCHEMA
    assert cli("export", "ir", "2031-01-01", expect=2).err.startswith("error: 2031-01-01: no such revision")


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS)
def test_types_that_a_generator_in_another_language_makes_mean_the_same(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "ir.json"
    path.write_text(json.dumps(ir(load_released(revision))), "utf-8")
    command = ["node", str(ROOT / "examples" / "ir_typescript.mjs"), str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    findings = compare(load_released(revision), read(text, revision=revision))
    assert {finding.rule.id for finding in findings} <= {"definition-added", "type-named", "same-revision-changed"}


def format_tables() -> Iterator[str]:
    """Iterate over the lines that document the format, from its schema."""
    for name, schema in SCHEMA["$defs"].items():
        yield from (f"### {name}", "", schema["description"], "")
        if "oneOf" in schema:
            yield from (f"One of {', '.join(_type(each) for each in schema['oneOf'])}.", "")
            continue
        yield from ("| key | type | holds |", "|---|---|---|")
        for key, value in schema["properties"].items():
            shown = f"**`{key}`**" if key in schema.get("required", ()) else f"`{key}`"
            yield f"| {shown} | {_type(value)} | {value['description']} |"
        yield ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "oneOf" in schema:
        return " or ".join(map(_type, schema["oneOf"]))
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    kinds = schema.get("type", "string" if "enum" in schema else "any")
    return kinds if isinstance(kinds, str) else ", ".join(kinds[:-1]) + f" or {kinds[-1]}"


def test_the_page_documents_the_format() -> None:
    text = PAGE.read_text("utf-8")
    pattern = re.compile(r"(<!-- format: [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
    body = "\n".join(format_tables()).strip()
    expected = pattern.sub(lambda found: f"{found[1]}\n{body}\n\n{found[3]}", text)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(expected, "utf-8")
    assert text.count("<!-- format: ") == 1
    assert PAGE.read_text("utf-8") == expected, "UPDATE_GOLDEN=1 pytest tests/export/test_ir.py"
    assert f"## Format {FORMAT}\n" in text
    assert SCHEMA["$defs"]["Document"]["properties"]["format"]["const"] == FORMAT
    example = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    assert example in [each for each in values(ir(load_released("2025-11-25"))) if is_object(each)]
