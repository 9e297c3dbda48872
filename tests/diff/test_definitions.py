"""Definitions that were added, removed or renamed, reused names, and the classes generated from them."""

import json
import random
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rules import definitions, rules_of
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ingest.revisions import shipped_source
from mcp_bindgen.ingest.sources import SourceKind, read_source
from mcp_bindgen.ir.names import inline_name
from mcp_bindgen.load.protocol import load_released
from support.findings import definitions_between, messages_between
from support.official import official_schema
from support.samples import OLDEST_IS_QUICK, REVISIONS, load
from support.source_view import Case, check, found, read

CONTENT = 'export interface Content { type: "text" | "image"; size: number; text?: string; data?: string; }'
CONTENTS = """
export interface TextContent { type: "text"; size: number; text?: string; }
export interface ImageContent { type: "image"; size: number; data?: string; }
"""
FLAT = "export interface Base { a: string; } export interface Extra { a: string; b: string; }"
EXTENDED = "export interface Base { a: string; } export interface Extra extends Base { b: string; }"
INLINE = "export interface Holder { x: { a: string; }; }"
NAMED = "export interface Holder { x: HolderX; } export interface HolderX { a: string; }"
CLASS = "export interface A { a?: string; }"


def member(rule: str, was: str, is_: str, old: str, new: str) -> Case:
    """A case in which one property changes, of an object that no message carries."""
    texts = (f"export interface Extra {{ y: string; {text} }}" for text in (was, is_))
    return Case(old=next(texts), new=next(texts), found=((rule, "Extra.x", old, new),))


def asking(params: str) -> str:
    """A schema with a request of the server whose params have these properties."""
    return (
        'export interface DoRequest { method: "do"; params: DoRequestParams; } export interface DoResult { }'
        f" export type ServerRequest = DoRequest; export interface DoRequestParams {{ {params} }}"
    )


def both_ways(there: str, back: str, case: Case) -> dict[str, Case]:
    """A case and its reverse."""
    return {there: case, back: case.back()}


CASES: dict[str, Case] = {
    **both_ways(
        "definition-added",
        "definition-removed",
        Case(
            old="",
            new=INLINE.replace("{ a: string; }", "string"),
            found=(("definition-added", "Holder", "-", "Holder"),),
        ),
    ),
    "definition-renamed": Case(
        old='export interface TextRef { type: "ref"; uri: string; }',
        new='export interface TextReference { type: "ref"; uri: string; }',
        found=(("definition-renamed", "TextReference", "TextRef", "TextReference"),),
    ),
    **both_ways(
        "definition-split",
        "definition-merged",
        Case(
            old=CONTENT,
            new=CONTENTS,
            found=(("definition-split", "Content", "Content", "TextContent | ImageContent"),),
        ),
    ),
    "definition-name-reused": Case(
        old="export interface Answer { a: string; b: string; }",
        new="export type Answer = string;",
        found=(("definition-name-reused", "Answer", "{ a, b }", "string"),),
    ),
    **both_ways(
        "base-added", "base-removed", Case(old=FLAT, new=EXTENDED, found=(("base-added", "Extra", "-", "Base"),))
    ),
    **both_ways(
        "type-named",
        "type-inlined",
        Case(old=INLINE, new=NAMED, found=(("type-named", "Holder.x", "inline object", "HolderX"),)),
    ),
    "ref-retargeted": Case(
        old="export interface A { a: string; } export interface B { a: string; } export interface Holder { x: A; }",
        new="export interface A { a: string; } export interface B { a: string; } export interface Holder { x: B; }",
        found=(("ref-retargeted", "Holder.x", "A", "B"),),
    ),
    **both_ways(
        "object-declared",
        "object-undeclared",
        Case(
            old=CLASS + "export interface Holder { x: { [key: string]: unknown }; }",
            new=CLASS + "export interface Holder { x: A; }",
            found=(("object-declared", "Holder.x", "{ [key: string]: any }", "A"),),
        ),
    ),
    **both_ways(
        "member-added-optional",
        "member-removed-optional",
        member("member-added-optional", "", "x?: string;", "-", "string"),
    ),
    **both_ways(
        "member-added-required",
        "member-removed-required",
        member("member-added-required", "", "x: string;", "-", "string"),
    ),
    **both_ways(
        "member-now-required",
        "member-now-optional",
        member("member-now-required", "x?: string;", "x: string;", "optional", "required"),
    ),
    "member-type-changed": member("member-type-changed", "x: string;", "x: string[];", "string", "string[]"),
    "params-reordered": Case(
        old=asking("a: string; b: string;"),
        new=asking("b: string; a: string;"),
        found=(("params-reordered", "DoRequestParams", "a, b", "b, a"),),
    ),
    "alias-changed": Case(
        old="export type Key = string;",
        new="export type Key = string | number[];",
        found=(("alias-changed", "Key", "-", "number[]"),),
    ),
}


class TestRules:
    def test_every_rule_has_a_case(self) -> None:
        assert CASES.keys() == {rule.id for rule in rules_of(definitions)}

    @pytest.mark.parametrize("rule", CASES)
    def test_it_finds_its_change(self, rule: str) -> None:
        check(rule, CASES[rule])

    @pytest.mark.parametrize(
        "rule", ["definition-renamed", "definition-name-reused", "ref-retargeted", "params-reordered"]
    )
    def test_rules_that_mirror_themselves(self, rule: str) -> None:
        old, new = CASES[rule].sides
        assert [f.rule.id for f in compare_definitions(new, old)] == [rule]


def released(old: str, new: str) -> tuple[Finding, ...]:
    return definitions_between(old, new)


def of(rule: str, findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    return {(f.old, f.new) for f in findings if f.rule.id == rule}


def places(rule: str, findings: tuple[Finding, ...]) -> list[str]:
    return [f.place for f in findings if f.rule.id == rule]


class TestReleased:
    """Facts about the real pairs of revisions, collected by hand from their files."""

    def test_annotations_get_a_name(self) -> None:
        findings = released("2024-11-05", "2025-03-26")
        assert of("definition-renamed", findings) == {("AnnotatedAnnotations", "Annotations")}
        assert of("definition-removed", findings) == {("Annotated", "-")}
        holders = ("EmbeddedResource", "ImageContent", "Resource", "ResourceTemplate", "TextContent")
        assert places("type-named", findings) == [f"{holder}.annotations" for holder in holders]
        assert {f.pointer for f in findings if f.place == "Resource.annotations"} == {
            "/definitions/Resource/properties/annotations"
        }

    def test_references_get_a_clearer_name(self) -> None:
        findings = released("2025-03-26", "2025-06-18")
        assert of("definition-renamed", findings) == {("ResourceReference", "ResourceTemplateReference")}
        assert places("type-named", findings) == ["CallToolResult.content", "PromptMessage.content"]
        assert of("definition-removed", findings) == {
            ("JSONRPCBatchRequest", "-"),
            ("JSONRPCBatchResponse", "-"),
        }

    def test_reused_names_are_found(self) -> None:
        findings = released("2025-06-18", "2025-11-25")
        assert places("definition-name-reused", findings) == ["ElicitRequestParams", "EnumSchema", "JSONRPCResponse"]
        assert of("definition-renamed", findings) == {
            ("JSONRPCResponse", "JSONRPCResultResponse"),
            ("JSONRPCError", "JSONRPCErrorResponse"),
            ("JSONRPCErrorError", "Error"),
            ("EnumSchema", "LegacyTitledEnumSchema"),
            ("ElicitRequestParams", "ElicitRequestFormParams"),
            ("ElicitRequestParamsRequestedSchema", "ElicitRequestFormParamsRequestedSchema"),
        }

    def test_inline_params_get_names(self) -> None:
        """The schema.json names 27 places: four are inherited, and the params of elicitation became two types."""
        findings = released("2025-06-18", "2025-11-25")
        named = places("type-named", findings)
        assert len(named) == 27 - 4 - 1
        assert [place for place in named if not place.endswith(".params")] == ["JSONRPCErrorResponse.error"]
        assert not {f.place for f in findings if f.rule.breaks_source} & {
            f"{name.removesuffix('.params')}Params" for name in named if name.endswith("Request.params")
        }

    def test_dicts_get_names(self) -> None:
        """The schema.json names 49 places, but several are one finding.

        One is a root union of one member. Ten results and five notifications inherit a dict that became a class. Seven
        requests share one place, and four more properties are inherited.
        """
        findings = released("2025-11-25", "2026-07-28")
        named = places("type-named", findings)
        assert len(named) == 49 - 1 - 10 - 5 - 6 - 4
        assert places("object-declared", findings) == ["NotificationParams._meta", "Result._meta"]
        assert places("type-inlined", findings) == ["ListRootsRequest.params"]

    def test_results_that_are_no_longer_results(self) -> None:
        findings = released("2025-11-25", "2026-07-28")
        lost = [f.place for f in findings if f.rule.id == "base-removed" and f.old == "Result"]
        assert lost == ["CreateMessageResult", "ElicitResult", "ListRootsResult"]

    @pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
    def test_definitions_alone_break_no_peer(self, old: str, new: str) -> None:
        findings = released(old, new)
        assert findings
        assert not any(f.breaks or f.carriers for f in findings)

    @pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
    def test_the_two_views_do_not_overlap(self, old: str, new: str) -> None:
        """Properties that messages carry, including JSON-RPC frames, belong to the wire view."""
        wire = {(f.before, f.after) for f in messages_between(old, new)}
        members = [f for f in released(old, new) if f.rule.id.startswith("member-") or f.rule.id == "alias-changed"]
        assert not [f.place for f in members if (f.before, f.after) in wire]

    @pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
    def test_the_reverse_comparison_finds_the_mirrors(self, old: str, new: str) -> None:
        """A place is named as on the new side, so findings are identified by their names on both sides."""
        there = {(f.rule.mirror, f.new, f.old, f.after, f.before) for f in released(old, new)}
        back = {(f.rule.id, f.old, f.new, f.before, f.after) for f in released(new, old)}
        assert back == there


Json: TypeAlias = Any


def tree_of(revision: str) -> Json:
    return json.loads(shipped_source(revision, SourceKind.JSON_SCHEMA).data)


def container(tree: Json) -> str:
    return "$defs" if "$defs" in tree else "definitions"


def objects(tree: Json) -> list[str]:
    """Return the objects other than messages: renaming a message is a different change."""
    every = tree[container(tree)].items()
    return [n for n, d in every if "properties" in d and not n.endswith(("Request", "Notification", "Result"))]


class TestLaws:
    @pytest.mark.parametrize("revision", OLDEST_IS_QUICK)
    def test_a_new_name_is_only_a_rename(self, revision: str) -> None:
        """A renamed definition is found under its new name, along with its inline objects, which are named after it."""
        tree = tree_of(revision)
        whole = read(tree)
        for name in random.Random(revision).sample(objects(tree), 6):
            ref = f'"#/{container(tree)}/%s"'
            renamed = json.loads(json.dumps(tree).replace(ref % name, ref % f"{name}Renamed"))
            renamed[container(tree)][f"{name}Renamed"] = renamed[container(tree)].pop(name)
            findings = compare_definitions(whole, read(renamed))
            assert (name, f"{name}Renamed") in of("definition-renamed", findings)
            assert all(f.new == f.old.replace(name, f"{name}Renamed", 1) for f in findings), found(findings)

    @pytest.mark.parametrize("revision", OLDEST_IS_QUICK)
    def test_naming_an_inline_object_does_not_change_messages(self, revision: str) -> None:
        """An inline object gets the name that its class already has; in reverse, it is inlined."""
        tree = tree_of(revision)
        inline = [
            (name, key)
            for name, definition in tree[container(tree)].items()
            for key, member in definition.get("properties", {}).items()
            if member.get("properties")
        ]
        whole = read(tree)
        for name, key in random.Random(revision).sample(inline, 4):
            lifted = tree_of(revision)
            members = lifted[container(tree)][name]["properties"]
            lifted[container(tree)][inline_name(name, key)] = members[key]
            members[key] = {"$ref": f"#/{container(tree)}/{inline_name(name, key)}"}
            named = read(lifted)
            there, back = compare_definitions(whole, named), compare_definitions(named, whole)
            assert [(f.rule.id, f.place) for f in there] == [("type-named", f"{name}.{key}")]
            assert [(f.rule.id, f.place) for f in back] == [("type-inlined", f"{name}.{key}")]
            assert compare_messages(whole, named) == ()

    @pytest.mark.parametrize(("old", "new"), list(pairwise(REVISIONS)))
    def test_pointers_resolve(self, old: str, new: str) -> None:
        """The pointers exist in the official file of the side that has the definition."""
        files = [json.loads(official_schema(revision).read_bytes()) for revision in (old, new)]
        for finding in released(old, new):
            node = files[1] if finding.after or not finding.before else files[0]
            for token in finding.pointer.split("/")[1:]:
                node = node[token.replace("~1", "/").replace("~0", "~")]

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_a_revision_does_not_differ_from_itself(self, revision: str) -> None:
        assert released(revision, revision) == ()

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_the_official_file_does_not_differ_from_the_shipped_one(self, revision: str) -> None:
        official, diagnostics = load(read_source(str(official_schema(revision))), revision=revision)
        assert not diagnostics
        shipped = load_released(revision)
        assert found(compare_definitions(official, shipped)) == []
        assert found(compare_definitions(shipped, official)) == []
