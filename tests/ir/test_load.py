"""Loading a revision: which files are merged, which diagnostics there are, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.nodes import Era, Kind, Primitive, Protocol, Struct
from mcp_bindgen.load.protocol import doc_book, load_released, load_sources
from support.official import official_schema, seed_typescript
from support.samples import (
    HANDSHAKE,
    HANDSHAKE_TS,
    REVISIONS,
    json_source,
    lines,
    load,
    refusal,
    typescript_source,
)

MALFORMED = Path(__file__).resolve().parents[1] / "golden" / "malformed"
OPAQUE = Path(__file__).resolve().parents[1] / "golden" / "opaque"


def official(revision: str) -> SourceText:
    return SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=official_schema(revision).read_bytes())


def edited(revision: str, *path: str, value: object) -> SourceText:
    """Return the official file with one value replaced."""
    document: Any = json.loads(official_schema(revision).read_bytes())
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(document).encode())


def structure(protocol: Protocol) -> object:
    """Return a protocol without its descriptions and sources."""
    bare = re.sub(
        r"doc=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", "doc=''", repr((protocol.definitions, protocol.methods))
    )
    return bare, [(c.name, c.value) for c in protocol.constants], protocol.era, protocol.errata


class TestReleased:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_era_sources_and_words(self, revision: str) -> None:
        protocol = load_released(revision)
        assert protocol.revision == revision
        assert protocol.era is (Era.MODERN if revision >= "2026" else Era.LEGACY)
        assert [source.name for source in protocol.sources] == [
            f"schema/{revision}/schema.json",
            f"schema/{revision}/typescript.json",
        ]
        assert all(re.fullmatch("[0-9a-f]{64}", source.sha256) for source in protocol.sources)

    def test_an_unknown_revision(self) -> None:
        with pytest.raises(InputError, match="error: 1999-01-01: no such revision; the released ones are 2024-11-05, "):
            load_released("1999-01-01")


class TestOfficialFile:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_it_is_joined_with_the_shipped_typescript(self, revision: str) -> None:
        protocol, found = load(official(revision), revision=revision)
        assert found == []
        assert [source.name for source in protocol.sources] == ["schema.json", f"schema/{revision}/typescript.json"]
        assert structure(protocol) == structure(load_released(revision))

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_its_descriptions_take_precedence(self, revision: str) -> None:
        definitions = json.loads(official(revision).data)
        definitions = definitions.get("$defs") or definitions["definitions"]
        protocol, _ = load(official(revision), revision=revision)
        shipped = load_released(revision)
        described = 0
        for name, schema in definitions.items():
            words = schema.get("description", "")
            assert protocol.definitions[name].doc == (words or shipped.definitions[name].doc)
            described += words != ""
            struct = protocol.definitions[name]
            for field in struct.fields if isinstance(struct, Struct) else ():
                stated = schema.get("properties", {}).get(field.wire_name, {}).get("description", "")
                assert not stated or field.doc == stated
        assert described > 50

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_under_another_name_it_is_used_alone(self, revision: str) -> None:
        protocol, found = load(official(revision), revision="2031-01-01")
        assert found == []
        assert (protocol.revision, len(protocol.sources), protocol.constants) == ("2031-01-01", 1, ())
        assert protocol.era is load_released(revision).era
        assert len(protocol.methods) == len(load_released(revision).methods)

    def test_an_edited_file_is_used_alone_with_a_warning(self) -> None:
        source = edited("2025-06-18", "definitions", "Tool", "properties", "extra", value={"type": "string"})
        protocol, found = load(source, revision="2025-06-18")
        assert found == [
            "warning: #/definitions/Tool/properties/extra: differs from the shipped schema.ts of 2025-06-18 at"
            " /definitions/Tool/properties/extra ('-' in schema.ts, 'string' in schema.json); this file is used alone"
        ]
        assert [source.name for source in protocol.sources] == ["schema.json"]
        tool = protocol.definitions["Tool"]
        assert isinstance(tool, Struct)
        assert tool.field("extra")
        assert protocol.errata == ()

    def test_an_edited_description_is_not_a_difference(self) -> None:
        source = edited("2025-06-18", "definitions", "Tool", "description", value="My words.")
        protocol, found = load(source, revision="2025-06-18")
        assert found == []
        assert protocol.definitions["Tool"].doc == "My words."
        assert len(protocol.sources) == 2

    def test_several_differences_are_counted(self) -> None:
        document = json.loads(official("2025-06-18").data)
        document["definitions"]["Tool"]["required"] = []
        source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(document).encode())
        _, found = load(source, revision="2025-06-18")
        assert len(found) == 1
        assert "and at 1 more places" in found[0]


class TestTypeScript:
    def test_a_released_one_states_its_revision(self) -> None:
        diagnostics = Diagnostics()
        protocol = load_sources([read_source(str(seed_typescript()))], None, diagnostics)
        assert (protocol.revision, protocol.era) == ("2024-11-05", Era.LEGACY)
        assert any("differs from the shipped schema.json of 2024-11-05" in str(d) for d in diagnostics)
        assert len(protocol.sources) == 1

    def test_a_new_one_needs_no_new_code(self) -> None:
        text = HANDSHAKE_TS + 'export const LATEST_PROTOCOL_VERSION = "2031-05-05";'
        protocol, found = load(typescript_source(text), revision=None)
        assert found == []
        assert (protocol.revision, protocol.constants[0].value) == ("2031-05-05", "2031-05-05")

    def test_both_files_are_merged(self) -> None:
        protocol, found = load(typescript_source(HANDSHAKE_TS), json_source(HANDSHAKE))
        assert [line for line in found if not line.startswith("warning")] == []
        assert len(protocol.sources) == 2

    def test_where_the_files_disagree_the_typescript_is_followed_with_a_warning(self) -> None:
        text = HANDSHAKE_TS.replace("protocolVersion: string; }", "protocolVersion: boolean; }", 1)
        protocol, found = load(json_source(HANDSHAKE), typescript_source(text))
        assert found == [
            "warning: #/$defs/InitializeRequestParams/properties/protocolVersion: schema.ts says 'boolean', schema.json"
            " 'string' (type); schema.ts is followed"
        ]
        (erratum,) = (e for e in protocol.errata if e.contradiction)
        assert (erratum.right, erratum.left) == ("string", "boolean")


class TestRevisionNames:
    def test_the_argument_takes_precedence_over_the_file(self) -> None:
        text = HANDSHAKE_TS + 'export const LATEST_PROTOCOL_VERSION = "DRAFT-2025-v3";'
        assert load(typescript_source(text), revision="mine")[0].revision == "mine"
        assert load(typescript_source(text), revision=None)[0].revision == "DRAFT-2025-v3"

    def test_a_schema_without_a_revision_is_refused(self) -> None:
        expected = ["error: : the revision of this schema is unknown: name it before --schema, or give its schema.ts"]
        assert refusal(json_source(HANDSHAKE), revision=None) == expected
        assert refusal(typescript_source(HANDSHAKE_TS), revision=None) == expected
        number = HANDSHAKE_TS + "const LATEST_PROTOCOL_VERSION = 5;"
        assert refusal(typescript_source(number), revision=None) == expected

    @pytest.mark.parametrize("name", ["../x", "a/b", "", " ", "-x", ".x", "a b", "é", "x" * 65, "a\n", "a'", "${x}"])
    def test_a_name_that_cannot_be_a_folder_is_refused(self, name: str) -> None:
        if name:
            assert "cannot name a revision" in refusal(json_source(HANDSHAKE), revision=name)[0]
        text = f"{HANDSHAKE_TS} const LATEST_PROTOCOL_VERSION = {json.dumps(name, ensure_ascii=False)};"
        assert refusal(typescript_source(text), revision=None)


class TestRefusals:
    def test_other_schemas_are_refused(self) -> None:
        expected = [
            "error: : not an MCP schema: no message was found in it (an object that requires a constant `method`"
            " and whose name, or that of a base, ends in Request or Notification); types without messages are"
            " generated with REVISION --extension ID=FILE"
        ]
        assert refusal(json_source({})) == expected
        assert refusal(typescript_source("")) == expected
        assert refusal(json_source({"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}})) == expected

    def test_one_file_of_each_kind(self) -> None:
        assert refusal(json_source(HANDSHAKE), json_source(HANDSHAKE)) == [
            "error: : one schema.json is enough; two were given"
        ]

    def test_errors_of_all_files_are_reported(self) -> None:
        found = refusal(json_source({"A": {"type": "strnig"}}), typescript_source("type A = Missing;"))
        assert len(found) == 2

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        [
            "".join(f"interface A{n} extends A{n + 1} {{}}\n" for n in range(3000)) + "interface A3000 {}",
            "".join(f"type A{n} = A{n + 1};\n" for n in range(3000)) + "type A3000 = string;",
            "".join(f"type A{n} = A{n + 1} | string;\n" for n in range(3000)) + "type A3000 = string;",
        ],
        ids=["extends", "alias", "union"],
    )
    def test_long_chains_give_a_protocol_or_a_diagnostic(self, text: str) -> None:
        try:
            load(typescript_source(HANDSHAKE_TS + text))
        except InputError as error:
            assert re.search("too long a chain|3001 types extend each other, over 64", str(error))


def words_of(found: Diagnostics) -> str:
    return "".join(f"{line}\n" for line in lines(found))


def sources_of(folder: Path) -> list[SourceText]:
    """Read the files of a case: a schema.json, a schema.ts or both; diagnostics.txt contains the diagnostics."""
    kinds = {kind.value: kind for kind in SourceKind} | {"typescript.json": SourceKind.TYPESCRIPT}
    paths = [path for path in sorted(folder.iterdir()) if path.name != "diagnostics.txt"]
    return [SourceText(name=path.name, kind=kinds[path.name], data=path.read_bytes()) for path in paths]


def stated_revision(sources: list[SourceText]) -> str | None:
    return None if any(b"LATEST_PROTOCOL_VERSION" in source.data for source in sources) else "draft"


@pytest.mark.parametrize("case", sorted(path.name for path in MALFORMED.iterdir()))
def test_malformed_input_is_refused_with_its_diagnostics(case: str) -> None:
    sources = sources_of(MALFORMED / case)
    with pytest.raises(InputError) as raised:
        load_sources(sources, stated_revision(sources), Diagnostics())
    stated = "".join(f"{diagnostic}\n" for diagnostic in raised.value.diagnostics)
    assert stated == (MALFORMED / case / "diagnostics.txt").read_text("utf-8")


@pytest.mark.parametrize("case", sorted(path.name for path in OPAQUE.iterdir()))
def test_what_no_type_expresses_is_accepted_with_a_warning(case: str) -> None:
    sources = sources_of(OPAQUE / case)
    diagnostics = Diagnostics()
    load_sources(sources, stated_revision(sources), diagnostics)
    assert "".join(f"{diagnostic}\n" for diagnostic in diagnostics) == (OPAQUE / case / "diagnostics.txt").read_text(
        "utf-8"
    )


class TestMissingDescriptions:
    def test_a_few_are_named_and_the_rest_counted(self) -> None:
        names = [f"Undescribed{n}" for n in range(9)]
        text = HANDSHAKE_TS + "".join(f"type {name} = string;" for name in names)
        diagnostics = Diagnostics()
        load_sources([typescript_source(text)], "2099-01-01", diagnostics)
        (line,) = lines(diagnostics)
        assert line.startswith("warning: : no description for ")
        assert re.search(r" and \d+ more$", line)

    def test_the_book_is_shipped(self) -> None:
        assert doc_book().lines


def test_the_shipped_halves_can_be_given_as_files() -> None:
    sources = [shipped_source("2025-11-25", kind) for kind in SourceKind]
    protocol, found = load(*sources, revision=None)
    assert found == []
    assert structure(protocol) == structure(load_released("2025-11-25"))


def test_a_number_of_a_typescript_alone_is_known_or_a_float_and_reported_once() -> None:
    more = """
export interface Box {
  ttlMs: number;
  id?: string | number;
  /** @TJS-type integer */
  count: number;
  sides: { weight: number }[];
}
export type Scale = number;
"""
    diagnostics = Diagnostics()
    protocol = load_sources([typescript_source(HANDSHAKE_TS + more)], "draft", diagnostics)
    box, sides = (protocol.definitions[name] for name in ("Box", "BoxSides"))
    assert isinstance(box, Struct) and isinstance(sides, Struct)
    kinds = [field.type.kind for field in box.fields if isinstance(field.type, Primitive)]
    assert kinds == [Kind.INTEGER, Kind.INTEGER]
    assert sides.fields[0].type == Primitive(kind=Kind.NUMBER)
    told = [str(found) for found in diagnostics if "may be an integer or not" in found.message]
    assert [text.partition(": a `number`")[0] for text in told] == [
        "warning: schema.ts:12: Box.sides.weight",
        "warning: schema.ts:14: Scale",
    ]
