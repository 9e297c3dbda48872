"""Changes of shapes that are easy to misjudge: the exact findings, and the pairs that break."""

import re
from itertools import pairwise
from typing import Any

import pytest

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.witness import Witnesses
from support.rule_cases import OTHER_MESSAGES, asking, closed, found, read
from support.samples import HANDSHAKE

OLD_CLIENT, NEW_CLIENT = {Pair.OLD_CLIENT}, {Pair.NEW_CLIENT}
X = "DoRequestParams.x"


def changed(was: str, is_: str, more: str = "") -> tuple[Finding, ...]:
    """Compare two declarations of properties that a client sends."""
    return compare_messages(read(asking(was, more)), read(asking(is_, more)))


def brief(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return [(f.rule.id, f.old, f.new) for f in findings]


def schema(member: Any) -> dict[str, Any]:
    """Definitions in which the params of the handshake have a property x."""
    params = HANDSHAKE["InitializeRequestParams"]
    return {**HANDSHAKE, "InitializeRequestParams": {**params, "properties": {**params["properties"], "x": member}}}


def json_changed(was: Any, is_: Any) -> list[tuple[str, str, str]]:
    return brief(compare_messages(read(schema(was)), read(schema(is_))))


@pytest.mark.parametrize("keyword", ["contains", "propertyNames", "not"])
def test_what_a_text_refers_to_is_the_schema_by_its_hash(keyword: str) -> None:
    """The same words mean the same only in the same schema."""
    some = {keyword: {"$ref": "#/$defs/InitializeResult"}}
    rows = json_changed({"type": "string"}, {"type": "array", "items": {}, **some} if keyword == "contains" else some)
    (new,) = [new for rule, _, new in rows if rule == "opaque-changed"]
    assert re.fullmatch(r"\{.*\} in the schema [0-9a-f.]{8,15}", new)


def without_params(params: str) -> str:
    return (
        f'{OTHER_MESSAGES} export interface AskRequest {{ method: "ask"; {params} }}'
        " export interface AskRequestParams { why: string; } export type ServerRequest = AskRequest;"
    )


@pytest.mark.parametrize(("mark", "need", "broken"), [("?", "optional", set[Pair]()), ("", "required", NEW_CLIENT)])
def test_added_and_removed_params_are_found(mark: str, need: str, broken: set[Pair]) -> None:
    old, new = read(without_params("")), read(without_params(f"params{mark}: AskRequestParams;"))
    (finding,) = compare_messages(old, new)
    assert found([finding]) == [(f"property-added-{need}", "AskRequest.params", "-", "AskRequestParams")]
    assert finding.breaks == broken
    assert finding.before is None
    (finding,) = compare_messages(new, old)
    assert found([finding]) == [(f"property-removed-{need}", "AskRequest.params", "AskRequestParams", "-")]


def test_a_request_that_becomes_a_notification() -> None:
    """Its new receiver sends no response; receivers that do not know the notification ignore it."""
    request = 'export interface DoRequest { method: "do"; } export type ServerRequest = DoRequest;'
    notice = 'export interface DoNotification { method: "do"; } export type ServerNotification = DoNotification;'
    old, new = read(OTHER_MESSAGES + request), read(OTHER_MESSAGES + notice)
    testimony = Witnesses(old, new)
    findings = [testimony.testify(f) for f in compare_messages(old, new)]
    assert found(findings) == [
        ("notification-method-added", "DoNotification", "-", "do"),
        ("request-method-removed", "DoRequest", "do", "-"),
    ]
    assert findings[1].proven == NEW_CLIENT
    assert [f.rule.id for f in compare_messages(new, old)] == ["notification-method-removed", "request-method-added"]


@pytest.mark.parametrize(
    ("was", "is_", "expected"),
    [
        ({"maxProperties": 3}, {}, [("constraint-removed", "max properties 3", "-")]),
        ({}, {"minProperties": 1}, [("constraint-added", "-", "min properties 1")]),
        ({"minProperties": 0}, {}, []),
        ({"maxProperties": 3}, {"maxProperties": 2}, [("constraint-changed", "max properties 3", "max properties 2")]),
    ],
)
def test_changed_bounds_of_maps_are_found(
    was: dict[str, Any], is_: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    assert json_changed({"type": "object", **was}, {"type": "object", **is_}) == expected


@pytest.mark.parametrize(
    ("was", "is_"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"type": "integer", "maximum": 4}, {"type": "integer", "exclusiveMaximum": 5}),
        ({"type": "integer", "minimum": 0.5}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": 1}, {"type": "number", "exclusiveMinimum": 1}),
        ({"type": "number", "minimum": 1.0}, {"type": "number", "minimum": 1}),
        ({"type": "string", "minLength": 0}, {"type": "string"}),
        ({"type": "array", "minItems": 0, "uniqueItems": False}, {"type": "array"}),
        ({"type": "integer", "multipleOf": 1}, {"type": "integer"}),
        ({"type": ["boolean", "null"]}, {"enum": [True, False, None]}),
        ({"enum": ["a", "b"]}, {"anyOf": [{"const": "b"}, {"enum": ["a"]}]}),
        ({"type": "string"}, {"anyOf": [{"const": "b"}, {"type": "string"}]}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
    ],
)
def test_equivalent_types_are_not_a_change(was: Any, is_: Any) -> None:
    assert json_changed(was, is_) == []


@pytest.mark.parametrize(
    ("was", "is_", "rule"),
    [
        ({"type": "number", "minimum": 1}, {"type": "number", "exclusiveMinimum": 1}, "constraint-changed"),
        ({"type": "number", "exclusiveMaximum": 1}, {"type": "number", "maximum": 1}, "constraint-changed"),
        ({"type": "integer", "multipleOf": 2}, {"type": "integer"}, "constraint-removed"),
        ({"enum": ["a", "b"]}, {"type": "string", "pattern": "^[ab]$"}, "enum-opened"),
        ({"type": "string", "maxLength": 1}, {"enum": ["a", "b"]}, "enum-closed"),
        ({"enum": ["a", "b"]}, {"type": "string", "pattern": "^c"}, "type-changed"),
        ({"enum": ["a", "b"]}, {"type": "string", "minLength": 2}, "type-changed"),
        ({"const": 5}, {"type": "integer"}, "type-widened"),
        ({"type": "integer"}, {"const": 5}, "type-narrowed"),
        ({"const": True}, {"type": "boolean"}, "type-widened"),
        ({"const": 5}, {"type": "string"}, "type-changed"),
        ({"const": 1}, {"const": True}, "const-changed"),
        ({"type": ["integer", "null"]}, {"type": ["number", "null"]}, "integer-to-number"),
    ],
)
def test_one_change_of_a_scalar(was: Any, is_: Any, rule: str) -> None:
    assert [rule_ for rule_, _, _ in json_changed(was, is_)] == [rule]


@pytest.mark.parametrize(
    ("was", "is_", "expected"),
    [
        ("x: 5 | string[];", "x: number | string[];", [("type-widened", "5", "number")]),
        ('x: "a" | number;', "x: string | number;", [("enum-opened", '"a"', "string")]),
        ('x: "a" | string[];', 'x: "a" | "b" | string[];', [("enum-value-added", "-", '"b"')]),
        ("x: string[] | boolean;", "x: (string | null)[] | boolean;", [("nullable-added", "-", "null")]),
        ("x: string;", "x: number | boolean;", [("type-changed", "string", "number | boolean")]),
        (
            "x: { [key: string]: unknown } | string;",
            "x: { a?: string } | string;",
            [("property-added-optional", "-", "string")],
        ),
    ],
)
def test_members_of_unions_are_paired(was: str, is_: str, expected: list[tuple[str, str, str]]) -> None:
    assert brief(changed(was, is_)) == expected


TYPED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}


@pytest.mark.parametrize(
    ("declared", "rules"),
    [
        ({"type": "string"}, ["property-added-optional"]),
        ({"type": "integer"}, ["property-added-optional", "type-changed"]),
        ({}, ["property-added-optional", "type-widened"]),
        ({"enum": ["u", "v"]}, ["enum-closed", "property-added-optional"]),
    ],
)
def test_a_declared_property_had_the_type_of_undeclared_ones(declared: Any, rules: list[str]) -> None:
    other = {**TYPED, "properties": {"a": {"type": "string"}, "b": declared}}
    old, new = read(schema(TYPED)), read(schema(other))
    assert [(f.rule.id, f.place) for f in compare_messages(old, new)] == [
        (rule, "InitializeRequestParamsX.b") for rule in rules
    ]
    assert len(compare_messages(new, old)) == len(rules)


def test_a_new_property_of_a_closed_object_is_a_break() -> None:
    """The old receiver refuses the new property; if it is required, the new receiver also refuses its absence."""
    optional, required = closed(x={"type": "string"}), closed(x={"type": "string"})
    required["InitializeRequestParams"]["required"] = ["protocolVersion", "x"]
    (finding,) = compare_messages(read(closed()), read(optional))
    assert (finding.rule.id, {*finding.breaks}) == ("property-added-to-closed", NEW_CLIENT)
    findings = compare_messages(read(closed()), read(required))
    assert {f.rule.id: {*f.breaks} for f in findings} == {
        "property-added-to-closed": NEW_CLIENT,
        "property-added-required": OLD_CLIENT,
    }


@pytest.mark.parametrize("inside", ["{}", "x: {{ {} }}", "x: {{ {} }}[]"])
@pytest.mark.parametrize("was", ["", "y?: string;"])
def test_a_property_that_must_be_absent_is_rejected_alone(inside: str, was: str) -> None:
    """The object stays open, and the other properties are those of before."""
    old, new = (read(asking(inside.format(text))) for text in (was, "y?: never;"))
    (finding,) = compare_messages(old, new)
    assert (finding.rule.id, {*finding.breaks}) == ("property-forbidden", OLD_CLIENT)
    assert Witnesses(old, new).testify(finding).witnesses.keys() == OLD_CLIENT
    (back,) = compare_messages(new, old)
    assert (back.rule.id, {*back.breaks}) == ("property-allowed", NEW_CLIENT)


def test_a_required_property_that_must_be_absent_breaks_both_peers() -> None:
    findings = compare_messages(read(asking("y: string;")), read(asking("y?: never;")))
    assert {f.rule.id: {*f.breaks} for f in findings} == {
        "property-forbidden": OLD_CLIENT,
        "property-now-optional": NEW_CLIENT,
    }


def test_a_closed_object_rejects_the_property_anyway() -> None:
    assert compare_messages(read(closed()), read(closed(x=False))) == ()


def test_opening_an_object_covers_its_new_property() -> None:
    """The finding that undeclared properties are accepted covers the new one."""
    rules = [f.rule.id for f in compare_messages(read(closed()), read(schema({"type": "string"})))]
    assert rules == ["additional-properties-opened", "property-added-optional"]


def test_a_renamed_property_with_a_renamed_type_is_one_change() -> None:
    more = " export interface Choice { a: string; } export interface Selection { a: string; }"
    findings = changed("toolChoice: Choice;", "tool_choice: Selection;", more)
    assert brief(findings) == [("property-renamed", "toolChoice", "tool_choice")]
    (finding,) = findings
    assert (finding.place, finding.now) == ("DoRequestParams.toolChoice", "DoRequestParams.tool_choice")


def test_a_renamed_optional_property_is_not_proven_to_break() -> None:
    old, new = read(asking("toolChoice?: string;")), read(asking("tool_choice?: string;"))
    testimony = Witnesses(old, new)
    (finding,) = map(testimony.testify, compare_messages(old, new))
    assert finding.rule.id == "property-renamed"
    assert not finding.proven
    assert all("the receiver accepts" in why for why in finding.why_unproven.values())


def test_names_that_are_not_alike_are_two_changes() -> None:
    rules = [f.rule.id for f in changed("colour: string;", "weight: string;")]
    assert rules == ["property-added-required", "property-removed-required"]


def test_a_property_that_leaves_an_object_is_a_move() -> None:
    (finding,) = changed("box: { a: string; b: number };", "box: { a: string }; b: number;")
    assert (finding.rule.id, finding.old, finding.new) == ("property-moved", "box.b", "b")
    assert (finding.place, finding.now) == ("DoRequestParamsBox.b", "DoRequestParams.b")


def test_a_property_moves_into_one_object_and_is_new_in_another() -> None:
    old = "a: { x: string }; b: { y: string }; count: number;"
    findings = changed(old, "a: { x: string; count: number }; b: { y: string; count: number };")
    assert sorted((f.rule.id, f.place, f.now) for f in findings) == [
        ("property-added-required", "DoRequestParamsB.count", "DoRequestParamsB.count"),
        ("property-moved", "DoRequestParams.count", "DoRequestParamsA.count"),
    ]


def test_a_changed_alias_is_found_wherever_it_is_used() -> None:
    more = ' export interface Other {{ y: Level; }} export type Level = "low" | "high"{};'
    old, new = (read(asking("x: Level; z: Level[]; other: Other;", more.format(values))) for values in ("", ' | "top"'))
    places = [(f.place, f.pointer) for f in compare_messages(old, new)]
    assert places == [
        ("DoRequestParams.x", "/$defs/Level"),
        ("DoRequestParams.z[]", "/$defs/Level"),
        ("Other.y", "/$defs/Level"),
    ]


def test_a_keyword_of_an_open_object_is_not_a_constraint() -> None:
    """Open objects such as `_meta` take a new optional property without a break."""
    was = "x: { known?: string; [key: string]: unknown };"
    is_ = "x: { known?: string; more?: string; [key: string]: unknown };"
    assert brief(changed(was, is_)) == [("property-added-optional", "-", "string")]
    assert brief(changed(is_, was)) == [("property-removed-optional", "string", "-")]


def test_each_side_has_its_own_name_for_a_place() -> None:
    """The place and the fingerprint use the old side's name; the pointer refers to the new file."""
    old = read(asking("x: Before;", "export interface Before { a?: string; b: string; }"))
    new = read(asking("x: After;", "export interface After { a: string; b: string; }"))
    (finding,) = compare_messages(old, new)
    assert (finding.place, finding.now) == ("Before.a", "After.a")
    assert finding.before and finding.after
    assert (finding.before.definition, finding.after.definition) == ("Before", "After")
    assert finding.pointer == "/$defs/After/properties/a"
    (back,) = compare_messages(new, old)
    assert (back.place, back.now) == ("After.a", "Before.a")


def test_error_codes_in_definitions_are_compared() -> None:
    """A schema.json has no constants; what JSON-RPC itself defines is in every revision, stated or not."""

    def stating(**codes: int) -> dict[str, Any]:
        errors = {
            name: {"type": "object", "properties": {"code": {"const": code}}, "required": ["code"]}
            for name, code in codes.items()
        }
        return {**HANDSHAKE, **errors}

    old, new = read(stating(Slow=-32001)), read(stating(Slow=-32002, ParseError=-32700, Gone=404))
    assert found(compare_messages(old, new)) == [("error-code-renumbered", "Slow", "-32001", "-32002")]


@pytest.mark.slow
def test_long_chains_of_aliases_are_compared() -> None:
    """Each is the next, or a list of the next: a comparison of every path would take exponential time."""

    def chain(last: str) -> dict[str, Any]:
        names = [f"A{number}" for number in range(20)]
        refs = {name: {"$ref": f"#/$defs/{name}"} for name in names}
        parts = {a: {"anyOf": [refs[b], {"type": "array", "items": refs[b]}]} for a, b in pairwise(names)}
        return {**schema(refs["A0"]), **parts, names[-1]: {"type": last}}

    assert compare_messages(read(chain("string")), read(chain("string"))) == ()
    assert compare_messages(read(chain("string")), read(chain("boolean")))


@pytest.mark.parametrize(
    ("was", "is_", "broken"),
    [
        ({"maxLength": 9}, {"maxLength": 5}, OLD_CLIENT),
        ({"maxLength": 5}, {"maxLength": 9}, NEW_CLIENT),
        ({"pattern": "^a"}, {"pattern": "a$"}, OLD_CLIENT | NEW_CLIENT),
    ],
)
def test_a_moved_bound_breaks_the_peers_that_it_excludes(was: Any, is_: Any, broken: set[Pair]) -> None:
    string = {"type": "string"}
    (finding,) = compare_messages(read(schema({**string, **was})), read(schema({**string, **is_})))
    assert finding.rule.id == "constraint-changed"
    assert finding.breaks == broken
