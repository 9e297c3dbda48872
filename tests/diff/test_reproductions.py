"""Changes of the official files that were once misjudged, each with all wire findings."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.types.methods import settle
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.methods import Senders, derive_methods
from mcp_bindgen.ir.nodes import Direction, Protocol
from support.official import official_schema
from support.rule_cases import START
from support.samples import load, typescript_source

NOVEMBER = "2025-11-25"
OLD_CLIENT, NEW_CLIENT = Pair.OLD_CLIENT, Pair.NEW_CLIENT
Edit = Callable[[dict[str, Any]], None]
Found = list[tuple[str, str, str]]


def read(tree: Any) -> Protocol:
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load(source, revision=UNNAMED)[0]


@cache
def text(revision: str) -> str:
    return official_schema(revision).read_text("utf-8")


@cache
def untouched(revision: str) -> Protocol:
    return read(json.loads(text(revision)))


def changed(edit: Edit, revision: str = NOVEMBER, *, back: bool = False) -> tuple[Finding, ...]:
    """Compare an official schema.json with an edited copy."""
    other = json.loads(text(revision))
    edit(other["$defs"] if "$defs" in other else other["definitions"])
    sides = untouched(revision), read(other)
    return compare(*(reversed(sides) if back else sides))


def wire(findings: tuple[Finding, ...]) -> Found:
    return [(f.severity.value, f.rule.id, f.place) for f in findings if f.rule.view is View.WIRE]


def source(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    return {(f.rule.id, f.place) for f in findings if f.rule.view is View.SOURCE}


def unlisted(root: str, message: str) -> Edit:
    def edit(definitions: dict[str, Any]) -> None:
        members = definitions[root]["anyOf"]
        definitions[root]["anyOf"] = [m for m in members if not m["$ref"].endswith(f"/{message}")]

    return edit


def renamed(old: str, new: str, *, more: str = "") -> Edit:
    """Rename a definition and all references to it, and require another property of it."""

    def edit(definitions: dict[str, Any]) -> None:
        whole = json.loads(json.dumps(definitions).replace(f'/{old}"', f'/{new}"'))
        whole[new] = whole.pop(old)
        if more:
            whole[new]["properties"][more] = {"type": "string"}
            whole[new]["required"].append(more)
        definitions.clear()
        definitions.update(whole)

    return edit


def swapped(one: str, other: str) -> Edit:
    def edit(definitions: dict[str, Any]) -> None:
        definitions[one], definitions[other] = definitions[other], definitions[one]

    return edit


class TestDirections:
    @pytest.mark.parametrize("back", [False, pytest.param(True, marks=pytest.mark.slow)])
    def test_a_message_that_was_never_listed_does_not_count(self, back: bool) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            definitions["DanceRequest"] = {
                "type": "object",
                "properties": {"method": {"const": "dance/start"}},
                "required": ["method"],
            }

        assert wire(changed(edit, back=back)) == []

    @pytest.mark.parametrize("back", [False, pytest.param(True, marks=pytest.mark.slow)])
    def test_a_schema_without_root_unions_has_the_directions_of_the_other_side(self, back: bool) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            for root in ("ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification"):
                del definitions[root]

        assert wire(changed(edit, back=back)) == []

    def test_a_sender_that_neither_side_states_is_a_guess(self) -> None:
        """Without root unions, the sender of a message that only one side has is unknown: nothing is proven."""
        text = "interface DanceRequest { method: 'dance' } interface DanceResult {}"
        old, new = (load(typescript_source(START + more))[0] for more in ("", text))
        assert settle(old, new).guessed == {"dance"}
        (finding,) = [f for f in compare(old, new) if f.rule.view is View.WIRE]
        assert (finding.severity, finding.breaks) == (Severity.WARNING, finding.unproven)
        assert set(finding.why_unproven.values()) == {"no root union on either side says which side sends dance"}
        rows = Senders(rows=dict.fromkeys(("dance", "initialize"), Direction.BOTH), elsewhere=lambda _: None)
        directed = replace(new, methods=derive_methods(new.definitions, "schema.ts", rows, Diagnostics()))
        assert settle(old, directed).guessed == settle(directed, old).guessed == frozenset()

    def test_a_direction_that_is_gone_is_named(self) -> None:
        (finding,) = changed(unlisted("ClientNotification", "ProgressNotification"))
        assert finding.old == "notifications/progress (client to server)"
        assert finding.severity is Severity.WARNING


class TestNames:
    @pytest.mark.slow
    def test_a_result_under_a_new_name_answers_the_same_request(self) -> None:
        findings = changed(renamed("ListToolsResult", "ToolList"))
        assert {level for level, _, _ in wire(findings)} == {"info"}
        assert ("definition-renamed", "ToolList") in source(findings)

    @pytest.mark.slow
    def test_a_request_under_a_new_name_gets_the_same_result(self) -> None:
        assert wire(changed(renamed("CallToolRequest", "InvokeToolRequest"))) == []

    def test_a_change_in_a_renamed_result_is_found(self) -> None:
        findings = changed(renamed("ListToolsResult", "ToolList", more="extra"))
        assert ("error", "property-added-required", "ListToolsResult.extra") in wire(findings)

    @pytest.mark.parametrize(
        ("one", "other"), [("ImageContent", "AudioContent"), ("TextResourceContents", "BlobResourceContents")]
    )
    def test_definitions_that_swap_names_are_found(self, one: str, other: str) -> None:
        findings = changed(swapped(one, other))
        assert wire(findings) == []
        assert {
            *((rule, name) for rule in ("definition-renamed", "definition-name-reused") for name in (one, other))
        } <= source(findings)

    @pytest.mark.parametrize(("notification", "level"), [(True, "warning"), (False, "error")])
    def test_a_new_method_name_is_as_severe_as_a_removed_message(self, notification: bool, level: str) -> None:
        message = "ToolListChangedNotification" if notification else "ListToolsRequest"

        def edit(definitions: dict[str, Any]) -> None:
            definitions[message]["properties"]["method"]["const"] = "zzz/zzz"

        assert wire(changed(edit)) == [(level, "method-renamed", message)]


class TestFrames:
    @pytest.mark.parametrize("back", [False, pytest.param(True, marks=pytest.mark.slow)])
    def test_dropping_integer_ids_breaks_every_request(self, back: bool) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            definitions["RequestId"]["type"] = "string"

        rule = "union-member-added" if back else "union-member-removed"
        findings = changed(edit, back=back)
        places = ("CancelledNotificationParams.requestId", "JSONRPCErrorResponse.id", "JSONRPCRequest.id")
        assert wire(findings) == [("error", rule, place) for place in (*places, "JSONRPCResultResponse.id")]
        (request,) = [f for f in findings if f.place == "JSONRPCRequest.id"]
        assert request.witnesses[OLD_CLIENT] == {"jsonrpc": "2.0", "id": 0, "method": "ping"}

    def test_a_batch_contains_a_message(self) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            definitions["JSONRPCMessage"]["anyOf"].append(
                {"type": "array", "items": {"$ref": "#/$defs/JSONRPCRequest"}}
            )

        (finding,) = [f for f in changed(edit) if f.rule.view is View.WIRE]
        assert finding.witnesses[NEW_CLIENT] == [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]


class TestProperties:
    def test_new_and_deprecated_at_once(self) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            definitions["Tool"]["properties"]["extra"] = {"type": "string", "deprecated": True}

        findings = changed(edit)
        assert [(f.rule.id, f.place) for f in findings] == [
            ("property-added-optional", "Tool.extra"),
            ("deprecated-added", "Tool.extra"),
        ]

    @pytest.mark.parametrize(("maximum", "broken"), [(50, {NEW_CLIENT}), (200, {OLD_CLIENT})])
    def test_a_bound_that_moved_is_not_gone(self, maximum: int, broken: set[Pair]) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            definitions["CompleteResult"]["properties"]["completion"]["properties"]["values"]["maxItems"] = maximum

        (finding,) = changed(edit, "2026-07-28")
        assert (finding.rule.id, finding.old, finding.new) == (
            "constraint-changed",
            "max items 100",
            f"max items {maximum}",
        )
        assert finding.proven == broken

    def test_dropped_properties_are_found(self) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            del definitions["Tool"]["properties"]["inputSchema"]["properties"]["properties"]

        # Peers may still send the keyword: JSON Schema has it, whether or not MCP declares it.
        assert wire(changed(edit)) == [("error", "property-constraint-dropped", "ToolInputSchema.properties")]

    @pytest.mark.parametrize(("was", "is_"), [("-", "true"), ("true", "-")])
    def test_another_default_is_found(self, was: str, is_: str) -> None:
        def edit(definitions: dict[str, Any]) -> None:
            definitions["ToolAnnotations"]["properties"]["readOnlyHint"]["default"] = True

        (finding,) = changed(edit, back=is_ == "-")
        assert (finding.rule.id, finding.place) == ("default-changed", "ToolAnnotations.readOnlyHint")
        assert (finding.old, finding.new, finding.severity) == (was, is_, Severity.WARNING)
