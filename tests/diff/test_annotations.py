"""Annotations in schemas: descriptions, deprecations, constants, the file itself and its date."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules import CATALOGUE, annotations, rules_of
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released
from support.findings import definitions_between, messages_between
from support.official import official_schema, seed_typescript
from support.samples import HANDSHAKE, OLDEST_IS_QUICK, REVISIONS, load
from support.source_view import Case, check, found, read

DRAFT_07 = "http://json-schema.org/draft-07/schema"
DIALECT_2020 = "https://json-schema.org/draft/2020-12/schema"
OTHER = "/** Another type. */ export interface Other { y: string; }"


def described(doc: str) -> str:
    """A type with a property that has this description; another description makes sure that the file has some."""
    return OTHER + f"export interface Extra {{ {f'/** {doc} */' if doc else ''} x: string; }}"


def wording(rule: str, was: str, is_: str, old: str, new: str) -> Case:
    """A case in which the description of a property changes."""
    return Case(old=described(was), new=described(is_), found=((rule, "Extra.x", old, new),))


def schema_file(dialect: str = DIALECT_2020, container: str = "$defs") -> dict[str, Any]:
    """A schema.json with its definitions under that keyword."""
    text = json.dumps(HANDSHAKE).replace("#/$defs/", f"#/{container}/")
    return {"$schema": dialect, container: json.loads(text)}


DEPRECATED = Case(
    old="export interface Extra { x: string; }",
    new="export interface Extra { /** @deprecated */ x: string; }",
    found=(("deprecated-added", "Extra.x", "-", "deprecated"),),
)
DESCRIBED = wording("description-added", "", "A name.", "-", "A name.")
CONSTANT = Case(old="", new="export const LIMIT = 5;", found=(("constant-added", "LIMIT", "-", "5"),))
EXTRA = "export interface Extra { x: string; }"
EMPTY_SHA256, EXTRA_SHA256 = (f"schema.ts {read(text).sources[0].sha256[:16]}" for text in ("", EXTRA))


def with_default(value: str) -> dict[str, Any]:
    """A schema.json with a property that has a default."""
    extra = {"type": "object", "properties": {"x": {"type": "string", "default": value}}}
    return {"$defs": {**HANDSHAKE, "Extra": extra}}


CASES: dict[str, Case] = {
    "deprecated-added": DEPRECATED,
    "deprecated-removed": DEPRECATED.back(),
    "description-added": DESCRIBED,
    "description-removed": DESCRIBED.back(),
    "description-changed": wording("description-changed", "A name.", "A label.", "A name.", "A label."),
    "description-requirements-changed": wording(
        "description-requirements-changed",
        "It SHOULD be short, and MUST NOT be empty.",
        "It MUST be short, and MUST NOT be empty.",
        "MUST NOT 1, SHOULD 1",
        "MUST 1, MUST NOT 1",
    ),
    "description-links-changed": wording(
        "description-links-changed",
        "See https://example.org/specification/2025-06-18/basic.",
        "See https://example.org/specification/2025-11-25/basic.",
        "...https://example.org/specification/2025-06-18/basic.",
        "...https://example.org/specification/2025-11-25/basic.",
    ),
    "default-changed": Case(
        old=with_default("a"), new=with_default("b"), found=(("default-changed", "Extra.x", '"a"', '"b"'),)
    ),
    "constant-added": CONSTANT,
    "constant-removed": CONSTANT.back(),
    "constant-changed": Case(
        old='export const NAME = "a";',
        new='export const NAME = "b";',
        found=(("constant-changed", "NAME", '"a"', '"b"'),),
    ),
    "dialect-changed": Case(
        old=schema_file(DRAFT_07),
        new=schema_file(),
        found=(("dialect-changed", "$schema", DRAFT_07, DIALECT_2020),),
    ),
    "definitions-container-renamed": Case(
        old=schema_file(container="definitions"),
        new=schema_file(),
        found=(("definitions-container-renamed", "$defs", "definitions", "$defs"),),
    ),
    "protocol-version-changed": Case(
        old="",
        new="",
        found=(("protocol-version-changed", "revision", "2099-01-01", "2099-01-02"),),
        revisions=("2099-01-01", "2099-01-02"),
    ),
    "same-revision-changed": Case(
        old="",
        new=EXTRA,
        found=(
            ("definition-added", "Extra", "-", "Extra"),
            ("same-revision-changed", "revision", EMPTY_SHA256, EXTRA_SHA256),
        ),
        revisions=("2099-01-01", "2099-01-01"),
    ),
}


class TestRules:
    def test_every_rule_has_a_case(self) -> None:
        assert CASES.keys() == {rule.id for rule in rules_of(annotations)}

    @pytest.mark.parametrize("rule", CASES)
    def test_it_finds_its_change(self, rule: str) -> None:
        check(rule, CASES[rule])

    @pytest.mark.parametrize("rule", [rule for rule in CASES if not rule.endswith(("-added", "-removed"))])
    def test_the_reverse_change_is_found(self, rule: str) -> None:
        old, new = CASES[rule].sides
        assert rule in {f.rule.id for f in compare_definitions(new, old)}

    def test_every_rule_of_the_source_view_says_whether_code_breaks(self) -> None:
        """Nothing breaks a peer here, and changes that break code are warnings, with one exception."""
        rules = [rule for rule in CATALOGUE if rule.view is View.SOURCE]
        assert not any(rule.change for rule in rules)
        quiet = {rule.id for rule in rules if rule.breaks_source and rule.severity is Severity.INFO}
        assert quiet == {"ref-retargeted"}, "both types are the same, so code that reads them still works"


class TestDescriptions:
    def test_a_link_to_another_revision_has_its_own_rule(self) -> None:
        """So does a link from a draft; a date in the text is part of the description."""
        texts = ("See /specification/draft/basic.", "See /specification/2025-11-25/basic.")
        assert [f.rule.id for f in compare_definitions(*map(read, map(described, texts)))] == [
            "description-links-changed"
        ]
        texts = ("Since 2025-06-18.", "Since 2025-11-25.")
        assert [f.rule.id for f in compare_definitions(*map(read, map(described, texts)))] == ["description-changed"]

    def test_line_breaks_are_not_a_change(self) -> None:
        assert found(compare_definitions(read(described("A name.")), read(described("A\n * name.")))) == []

    def test_requirement_words_in_lower_case_do_not_count(self) -> None:
        old, new = read(described("It must be short.")), read(described("It should be short."))
        assert [f.rule.id for f in compare_definitions(old, new)] == ["description-changed"]

    def test_a_new_requirement_is_not_only_a_new_description(self) -> None:
        old, new = read(described("")), read(described("It MUST be short."))
        assert found(compare_definitions(old, new)) == [
            ("description-requirements-changed", "Extra.x", "-", "MUST 1"),
        ]

    def test_a_base_is_described_once(self) -> None:
        texts = (f"{described(doc)} export interface More extends Extra {{ z: string; }}" for doc in ("One.", "Two."))
        old, new = map(read, texts)
        assert [f.place for f in compare_definitions(old, new)] == ["Extra.x"]

    def test_an_inline_object_has_the_description_of_its_property(self) -> None:
        """So a definition that is created from it is not newly described."""
        old = read(OTHER + "export interface Holder { /** A thing. */ x: { a: string; }; }")
        new = read(
            OTHER + "export interface Holder { /** A thing. */ x: HolderX; }"
            " /** A thing. */ export interface HolderX { a: string; }"
        )
        assert [f.rule.id for f in compare_definitions(old, new)] == ["type-named"]

    def test_our_own_descriptions_are_not_compared(self) -> None:
        """The shipped structure is described in docs.toml, partly by revision; the official files by their authors."""
        for older, newer in pairwise(REVISIONS):
            findings = definitions_between(older, newer)
            assert not [f for f in findings if f.rule.id.startswith("description-")]

    def test_descriptions_of_the_official_files_are_compared(self) -> None:
        """Descriptions are compared: between two revisions some requirements change, and some links only move."""
        older, newer = (load(read_source(str(official_schema(r))), revision=r)[0] for r in ("2025-06-18", "2025-11-25"))
        rules = Counter(f.rule.id for f in compare_definitions(older, newer))
        assert rules["description-changed"] and rules["description-requirements-changed"]

    def test_the_first_published_file_differs_in_one_comment(self) -> None:
        """Two files of the same date: the only difference is a misspelled method in a comment."""
        revision = REVISIONS[0]
        seed, _ = load(read_source(str(seed_typescript())), revision=revision)
        official, _ = load(read_source(str(official_schema(revision))), revision=revision)
        findings = compare_definitions(seed, official)
        assert [(f.rule.id, f.place) for f in findings] == [
            ("description-changed", "SetLevelRequestParams.level"),
            ("same-revision-changed", "revision"),
        ]


class TestDeprecations:
    def test_a_definition_may_be_deprecated(self) -> None:
        text = "export interface Extra { x: string; }"
        assert found(compare_definitions(read(text), read(f"/** @deprecated */ {text}"))) == [
            ("deprecated-added", "Extra", "-", "deprecated")
        ]

    def test_a_tag_missing_from_a_schema_json_is_not_a_change(self) -> None:
        """The official converter drops the tag, so its absence does not contradict a schema.ts."""
        text = "export interface Extra { /** @deprecated */ x: string; }"
        extra = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
        schema = {**schema_file(), "$defs": {**HANDSHAKE, "Extra": extra}}
        assert not [f for f in compare_definitions(read(text), read(schema)) if f.rule.id.startswith("deprecated-")]

    def test_the_keyword_in_a_schema_json_counts(self) -> None:
        extras = [
            {"type": "object", "properties": {"x": {"type": "string", **keyword}}}
            for keyword in ({}, {"deprecated": True})
        ]
        old, new = (read({**schema_file(), "$defs": {**HANDSHAKE, "Extra": extra}}) for extra in extras)
        assert found(compare_definitions(old, new)) == [("deprecated-added", "Extra.x", "-", "deprecated")]

    def test_the_deprecations_of_2026_07_28_are_found(self) -> None:
        findings = definitions_between("2025-11-25", "2026-07-28")
        places = {f.place for f in findings if f.rule.id == "deprecated-added"}
        assert {"ClientCapabilities.roots", "ServerCapabilities.logging", "CreateMessageRequest"} <= places
        assert "RequestMetaObject.io.modelcontextprotocol/logLevel" in places, "new and deprecated at once"
        assert len(places) == 21


class TestConstants:
    """Only schema.ts has them."""

    def test_error_codes_and_the_revision_have_their_own_rules(self) -> None:
        """Error codes are sent, so the wire view has them; the constant of the revision is the revision itself."""
        for older, newer in pairwise(REVISIONS):
            findings = definitions_between(older, newer)
            assert not [f.place for f in findings if f.rule.id.startswith("constant-")]
            assert [(f.old, f.new) for f in findings if f.rule.id == "protocol-version-changed"] == [(older, newer)]
        codes = messages_between("2025-06-18", "2025-11-25")
        assert {f.rule.id for f in codes if f.place == "URL_ELICITATION_REQUIRED"} == {"error-code-added"}

    def test_constants_missing_from_a_schema_json_are_not_removed(self) -> None:
        findings = compare_definitions(read("export const LIMIT = 5;"), read(schema_file()))
        assert not [f.place for f in findings if f.rule.id.startswith("constant-")]


def alone(tree: Any, revision: str = UNNAMED) -> Protocol:
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load(source, revision=revision)[0]


def shipped_json(revision: str) -> Any:
    return json.loads(shipped_source(revision, SourceKind.JSON_SCHEMA).data)


def other_dialect(tree: Any) -> Any:
    """Return the same definitions under the other keyword, in the other dialect."""
    old, new = ("$defs", "definitions") if "$defs" in tree else ("definitions", "$defs")
    text = json.dumps({new: tree[old]}).replace(f"#/{old}/", f"#/{new}/")
    return {"$schema": DRAFT_07 if new == "definitions" else DIALECT_2020, **json.loads(text)}


def backwards(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with its properties in reverse order."""
    return dict(reversed(members))


def enums_of_one(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with constants as enums of one value; a property may also be named `const`."""
    return dict(("enum", [v]) if k == "const" and isinstance(v, str) else (k, v) for k, v in members)


Rewrite: TypeAlias = Callable[[list[tuple[str, Any]]], dict[str, Any]]


def rewritten(tree: Any, rewrite: Rewrite) -> Any:
    """Return a schema with every object in it rewritten."""
    return json.loads(json.dumps(tree), object_pairs_hook=rewrite)


class TestRewrites:
    """Equivalent notations: a plain text comparison finds hundreds of changes in each."""

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_another_dialect_is_one_change(self, revision: str) -> None:
        tree = shipped_json(revision)
        findings = compare_definitions(alone(tree), alone(other_dialect(tree)))
        assert [f.rule.id for f in findings] == ["definitions-container-renamed", "dialect-changed"]
        assert all(f.severity is Severity.INFO for f in findings)

    @pytest.mark.parametrize("rewrite", [backwards, enums_of_one])
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_equivalent_notation_is_not_a_change(self, revision: str, rewrite: Rewrite) -> None:
        tree = shipped_json(revision)
        assert found(compare_definitions(alone(tree), alone(rewritten(tree, rewrite)))) == []

    @pytest.mark.parametrize("revision", OLDEST_IS_QUICK)
    def test_the_official_schema_json_alone_is_equal(self, revision: str) -> None:
        """It inlines aliases, repeats what is inherited, and copies the only member of a root union."""
        tree = json.loads(official_schema(revision).read_bytes())
        assert found(compare_definitions(alone(tree), load_released(revision))) == []
        assert found(compare_definitions(load_released(revision), alone(tree))) == []

    def test_the_same_text_in_another_order_is_the_same_revision(self) -> None:
        tree = shipped_json("2025-11-25")
        sides = alone(tree, "2099-01-01"), alone(rewritten(tree, backwards), "2099-01-01")
        assert sides[0].sources != sides[1].sources
        assert found(compare_definitions(*sides)) == []

    def test_a_change_that_only_messages_show_changes_the_text_of_a_revision(self) -> None:
        tree = shipped_json("2025-11-25")
        tree["$defs"]["Tool"]["required"].append("description")
        sides = alone(shipped_json("2025-11-25"), "2099-01-01"), alone(tree, "2099-01-01")
        assert [f.rule.id for f in compare_definitions(*sides)] == ["same-revision-changed"]

    def test_definitions_outside_messages_do_not_change_messages(self) -> None:
        """Wrappers of results, kinds of errors and abstract bases are in no root union."""
        for name in ("CompleteResultResponse", "InternalError", "Notification"):
            tree = shipped_json("2026-07-28")
            tree["$defs"][name]["properties"]["x"] = {"type": "string"}
            tree["$defs"][name]["required"].append("x")
            sides = alone(shipped_json("2026-07-28")), alone(tree)
            assert compare_messages(*sides) == ()
            assert found(compare_definitions(*sides)) == [("member-added-required", f"{name}.x", "-", "string")]
