"""Which changes break callers of a tool, proven by arguments or results; which do not; and which are undecided."""

from dataclasses import replace
from typing import Any

import pytest

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.tool_clients.comparing.compare import compare
from tools.talking import contract, objects, tool, validator

S: dict[str, Any] = {"type": "string"}
I: dict[str, Any] = {"type": "integer"}  # noqa: E741
NODE = {"$defs": {"N": objects({"v": I, "n": {"$ref": "#/$defs/N"}}, "v")}}
NODE_OF_TEXT = {"$defs": {"N": objects({"v": S, "n": {"$ref": "#/$defs/N"}}, "v")}}

NARROWER: dict[str, tuple[Any, Any]] = {
    "required": (objects({"a": S}), objects({"a": S}, "a")),
    "new and required": (objects({}), objects({"a": S}, "a")),
    "another type": (objects({"a": S}), objects({"a": I})),
    "number to integer": (objects({"a": {"type": "number"}}), objects({"a": I})),
    "no null": (objects({"a": {"type": ["string", "null"]}}), objects({"a": S})),
    "value gone": (objects({"a": {"enum": ["x", "y"]}}), objects({"a": {"enum": ["x"]}})),
    "true is not one": (objects({"a": {"const": True}}), objects({"a": {"const": 1}})),
    "alternative gone": (objects({"a": {"anyOf": [S, I]}}), objects({"a": S})),
    "maximum": (objects({"a": I}), objects({"a": {**I, "maximum": 5}})),
    "lower maximum": (objects({"a": {**I, "maximum": 9}}), objects({"a": {**I, "maximum": 5}})),
    "longer": (objects({"a": S}), objects({"a": {**S, "minLength": 3}})),
    "pattern": (objects({"a": S}), objects({"a": {**S, "pattern": "^[0-9]+$"}})),
    "unique": (
        objects({"a": {"type": "array", "items": S}}),
        objects({"a": {"type": "array", "items": S, "uniqueItems": True}}),
    ),
    "items": (objects({"a": {"type": "array", "items": S}}), objects({"a": {"type": "array", "items": I}})),
    "inner member": (objects({"a": objects({"b": S})}, "a"), objects({"a": objects({"b": I})}, "a")),
    "closed, and less": (objects({"a": S, "b": S}), objects({"a": S}, additionalProperties=False)),
    "map": (
        {"type": "object", "additionalProperties": S},
        {"type": "object", "additionalProperties": I},
    ),
    "by reference": (
        {**objects({"a": {"$ref": "#/$defs/N"}}), **NODE},
        {**objects({"a": {"$ref": "#/$defs/N"}}), **NODE_OF_TEXT},
    ),
    "step": (objects({"a": I}), objects({"a": {**I, "multipleOf": 5}})),
    "nothing valid": (objects({"a": S}), False),
    "required, and never valid": (objects({"a": False}), objects({"a": False}, "a")),
    "the same, by an enum": (objects({"a": {**I, "enum": ["x"]}}), objects({"a": {**I, "enum": ["x"]}}, "a")),
    "one of equals": (objects({"a": {"anyOf": [S, S]}}), objects({"a": {"oneOf": [S, {**S, "title": "x"}]}})),
    "one of which both admit null": (
        objects({"a": {"anyOf": [{"type": ["string", "null"]}, {"type": "null"}]}}),
        objects({"a": {"oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}}),
    ),
    "only true": (objects({"a": {"type": "boolean"}}), objects({"a": {"const": True}})),
}
SAFE: dict[str, tuple[Any, Any]] = {
    "the same": (objects({"a": S}), objects({"a": S})),
    "other words": (objects({"a": S}, title="x"), objects({"a": {**S, "description": "y"}})),
    "members named like keywords": (objects({"type": S, "enum": S}), objects({"type": S, "enum": S, "anyOf": S})),
    "optional member": (objects({"a": S}), objects({"a": S, "b": I})),
    "member gone": (objects({"a": S, "b": S}), objects({"a": S})),
    "no longer required": (objects({"a": S}, "a"), objects({"a": S})),
    "closed": (objects({"a": S}), objects({"a": S}, additionalProperties=False)),
    "opened": (objects({"a": S}, additionalProperties=False), objects({"a": S})),
    "integer to number": (objects({"a": I}), objects({"a": {"type": "number"}})),
    "null too": (objects({"a": S}), objects({"a": {"type": ["string", "null"]}})),
    "value more": (objects({"a": {"enum": ["x"]}}), objects({"a": {"enum": ["x", "y"]}})),
    "enum to type": (objects({"a": {"enum": ["x"]}}), objects({"a": S})),
    "alternatives": (objects({"a": S}), objects({"a": {"anyOf": [I, S]}})),
    "one of a union and a type apart": (
        objects({"a": {"anyOf": [S, I, {"type": "null"}]}}),
        objects({"a": {"oneOf": [{"anyOf": [S, I]}, {"type": "null"}]}}),
    ),
    "one of two": (objects({"a": S}), objects({"a": {"oneOf": [I, S]}})),
    "wider": (objects({"a": {**I, "minimum": 2, "maximum": 5}}), objects({"a": {**I, "minimum": 1, "maximum": 9}})),
    "extension": (objects({"a": S}), objects({"a": {**S, "x-order": 1}})),
    "anything": (objects({"a": S}), objects({"a": {}})),
    "no constraint": (objects({"a": {**S, "pattern": "x"}}), objects({"a": S})),
    "by reference": (
        {**objects({"a": {"$ref": "#/$defs/N"}}), **NODE},
        {**objects({"a": {"$ref": "#/$defs/N"}}), **NODE, "title": "x"},
    ),
    "dialect": (objects({"a": S}, **{"$schema": "http://json-schema.org/draft-07/schema#"}), objects({"a": S})),
}
UNKNOWN: dict[str, tuple[Any, Any]] = {
    "pattern of another kind": (objects({"a": {**S, "pattern": "^a"}}), objects({"a": {**S, "pattern": "^(?=a)"}})),
    "format": (objects({"a": S}), objects({"a": {**S, "format": "email"}})),
    "reference that leads out": (objects({"a": S}), objects({"a": {"$ref": "http://x/y"}})),
    "keyword that is not known": (objects({"a": S}), objects({"a": {**S, "newKeyword": "z"}})),
}


def findings(old: list[Any], new: list[Any]) -> list[Finding]:
    return list(compare(contract(old), contract(new)))


class TestArguments:
    @pytest.mark.parametrize("case", NARROWER)
    def test_narrowed_arguments_break_callers(self, case: str) -> None:
        old, new = NARROWER[case]
        (found,) = findings([tool("t", old)], [tool("t", new)])
        assert (found.rule.id, found.severity) == ("tool-input-narrowed", Severity.ERROR)
        assert found.breaks == {Pair.OLD_CLIENT}
        message = found.witnesses[Pair.OLD_CLIENT]
        assert message["method"] == "tools/call" and message["params"]["name"] == "t"
        assert validator(old).is_valid(message["params"]["arguments"])
        assert not validator(new).is_valid(message["params"]["arguments"])

    @pytest.mark.parametrize("case", SAFE)
    def test_other_changes_of_arguments_do_not_break_callers(self, case: str) -> None:
        old, new = SAFE[case]
        found = findings([tool("t", old)], [tool("t", new)])
        assert {finding.rule.id for finding in found} <= {"tool-changed"}
        assert all(finding.severity is Severity.INFO for finding in found)

    @pytest.mark.parametrize("case", UNKNOWN)
    def test_undecidable_changes_are_warnings(self, case: str) -> None:
        old, new = UNKNOWN[case]
        (found,) = findings([tool("t", old)], [tool("t", new)])
        assert (found.rule.id, found.severity) == ("tool-input-narrowed", Severity.WARNING)
        assert found.why_unproven[Pair.OLD_CLIENT]

    def test_each_change_is_its_own_finding(self) -> None:
        old, new = objects({"a": I, "b": S}), objects({"a": {**I, "maximum": 5}, "b": S}, "b")
        found = findings([tool("t", old)], [tool("t", new)])
        assert [finding.place for finding in found] == ["t.arguments.a", "t.arguments.b"]
        assert found[0].witnesses[Pair.OLD_CLIENT]["params"]["arguments"]["a"] > 5
        assert found[1].witnesses[Pair.OLD_CLIENT]["params"]["arguments"].get("b") is None
        assert [(finding.old, finding.new) for finding in found] == [
            ("-", "maximum 5 (constraint-added)"),
            ("optional", "required"),
        ]
        assert len({finding.fingerprint for finding in found}) == 2


class TestAnswers:
    @pytest.mark.parametrize("case", [case for case in NARROWER if case != "nothing valid"])
    def test_widened_results_break_callers(self, case: str) -> None:
        new, old = NARROWER[case]
        found = findings([tool("t", {"type": "object"}, old)], [tool("t", {"type": "object"}, new)])
        assert [(f.rule.id, f.severity) for f in found] == [("tool-output-widened", Severity.ERROR)]
        answer = found[0].witnesses[Pair.OLD_CLIENT]["result"]["structuredContent"]
        assert validator(new).is_valid(answer) and not validator(old).is_valid(answer)

    @pytest.mark.parametrize("case", SAFE)
    def test_narrowed_results_do_not_break_callers(self, case: str) -> None:
        new, old = SAFE[case]
        found = findings([tool("t", {"type": "object"}, old)], [tool("t", {"type": "object"}, new)])
        rules = {finding.rule.id: finding.severity for finding in found if finding.rule.id != "tool-changed"}
        is_removed = case in ("members named like keywords", "optional member")
        assert rules == ({"tool-output-property-removed": Severity.WARNING} if is_removed else {})

    def test_a_schema_that_is_gone_breaks_callers(self) -> None:
        found = findings([tool("t", {"type": "object"}, objects({"a": S}))], [tool("t", {"type": "object"})])
        assert [(f.rule.id, f.severity) for f in found] == [("tool-output-widened", Severity.ERROR)]
        assert findings([tool("t", {"type": "object"})], [tool("t", {"type": "object"}, objects({"a": S}))])[
            0
        ].rule.id == ("tool-changed")


class TestTools:
    @pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "never locked")])
    def test_a_listed_tool_that_is_not_valid_is_not_removed(self, names: tuple[str, ...]) -> None:
        old = contract([tool(name, {"type": "object"}) for name in "abc"])
        kept = [tool(name, {"type": "object"}) for name in "abc" if name not in names]
        new = replace(contract(kept), invalid=dict.fromkeys(names, "/inputSchema: is not an object"))
        found = [(f.rule.id, f.place, f.new) for f in compare(old, new)]
        assert found == [("tool-invalid", name, "/inputSchema: is not an object") for name in names if name in "abc"]

    def test_added_and_removed_tools_are_found(self) -> None:
        found = findings([tool("a", objects({"x": S}, "x"))], [tool("b", {"type": "object"})])
        assert [(f.rule.id, f.severity) for f in found] == [
            ("tool-removed", Severity.ERROR),
            ("tool-added", Severity.INFO),
        ]
        assert found[0].witnesses[Pair.OLD_CLIENT]["params"] == {"name": "a", "arguments": {"x": "x"}}

    @pytest.mark.parametrize(
        ("before", "after", "rule"),
        [
            ({"readOnlyHint": True}, {}, "tool-less-safe"),
            ({"destructiveHint": False}, {}, "tool-less-safe"),
            ({"openWorldHint": False}, {"openWorldHint": True}, "tool-less-safe"),
            ({}, {"readOnlyHint": True}, "tool-changed"),
        ],
    )
    def test_changed_hints_are_found(self, before: Any, after: Any, rule: str) -> None:
        old, new = (tool("t", {"type": "object"}, annotations=hints) for hints in (before, after))
        assert [f.rule.id for f in findings([old], [new])] == [rule]

    def test_a_changed_description_is_found(self) -> None:
        old, new = (tool("t", {"type": "object"}, description=text) for text in ("One.", "Two."))
        assert [f.rule.id for f in findings([old], [new])] == ["tool-description-changed"]
