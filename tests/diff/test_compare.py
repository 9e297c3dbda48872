"""Findings between the released revisions where a naive comparison finds too much or too little."""

import json
from collections.abc import Callable
from functools import cache

import pytest

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.frames import MOVED_CODES
from mcp_bindgen.diff.wire.witness import Witnesses
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released
from support.samples import HANDSHAKE, REVISIONS, json_source, load, typescript_source

OLD_CLIENT, NEW_CLIENT = {Pair.OLD_CLIENT}, {Pair.NEW_CLIENT}
BOTH = OLD_CLIENT | NEW_CLIENT
MARCH = ("2024-11-05", "2025-03-26")
JUNE = ("2025-03-26", "2025-06-18")
NOVEMBER = ("2025-06-18", "2025-11-25")
MODERN = ("2025-11-25", "2026-07-28")
PAIRS = (MARCH, JUNE, NOVEMBER, MODERN)


@cache
def between(pair: tuple[str, str]) -> tuple[Finding, ...]:
    return compare_messages(load_released(pair[0]), load_released(pair[1]))


def only(pair: tuple[str, str], rule: str) -> dict[tuple[str, str, str], set[Pair]]:
    """Return what a rule finds, and the pairs that break."""
    return {(f.place, f.old, f.new): set(f.breaks) for f in between(pair) if f.rule.id == rule}


def about(pair: tuple[str, str], *names: str) -> list[str]:
    """Return the findings on the wire whose place names one of these definitions on either side."""
    return [
        f"{f.rule.id} {f.now}: {f.old} -> {f.new}"
        for f in wire(pair)
        if {place.split(".")[0].strip("[]{}") for place in (f.place, f.now)} & {*names}
    ]


def wire(pair: tuple[str, str]) -> list[Finding]:
    """Return the findings that are visible in messages."""
    return [f for f in between(pair) if f.rule.view is View.WIRE]


def broken(pair: tuple[str, str], holds: Callable[[Finding], bool]) -> list[str]:
    """Return the findings that match a condition and break a pair."""
    return [f"{f.rule.id} {f.place}: {f.old} -> {f.new}" for f in between(pair) if holds(f) and f.breaks]


# Too much: differences between the files that change no message


@pytest.mark.parametrize("pair", PAIRS)
def test_a_changed_dialect_does_not_change_messages(pair: tuple[str, str]) -> None:
    """2025-11-25 went from draft-07 and `definitions` to 2020-12 and `$defs`."""
    assert len(wire(pair)) < 110
    assert not [f for f in between(pair) if "definitions" in f.place or "$defs" in f.place]


@pytest.mark.parametrize(
    ("pair", "names"),
    [
        (NOVEMBER, "ListRootsRequestParams SetLevelRequestParams SubscribeRequestParams InitializeRequestParams"),
        (NOVEMBER, "PaginatedRequestParams CompleteRequestParams GetPromptRequestParams NotificationParams"),
        (MARCH, "Annotations TextContent ImageContent EmbeddedResource"),
        (MODERN, "MetaObject JSONObject JSONValue JSONArray"),
    ],
)
def test_naming_a_type_is_not_a_change(pair: tuple[str, str], names: str) -> None:
    assert about(pair, *names.split()) == []


def test_changes_inside_a_named_type_are_found() -> None:
    """`_meta` became RequestMetaObject: only its new properties are found."""
    found = [f for f in between(MODERN) if f.now.startswith("RequestMetaObject")]
    assert {f.rule.id for f in found} == {"property-added-optional", "property-added-required"}


def test_declaring_the_envelope_is_not_a_change() -> None:
    """2025-11-25 declares `jsonrpc` and `id` in each message; before, they were in an envelope."""
    assert not [f for f in wire(NOVEMBER) if f.place.endswith((".jsonrpc", ".id")) and "Request" in f.place]
    assert not [f for pair in PAIRS for f in wire(pair) if f.place.endswith(".jsonrpc")]
    declared = [f for f in between(NOVEMBER) if f.rule.id == "envelope-member-declared"]
    assert len(declared) == 41
    assert not [f for f in declared if f.breaks or f.severity is Severity.ERROR]


def test_the_notation_of_open_objects_does_not_matter() -> None:
    """`ClientCapabilities.sampling` declares properties since 2025-11-25 and is as open as before."""
    assert broken(NOVEMBER, lambda f: f.place.startswith("ClientCapabilities")) == []
    rules = {f.rule.id for pair in PAIRS for f in between(pair)}
    assert not rules & {"additional-properties-closed", "additional-properties-opened"}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_new_optional_property_breaks_no_peer(pair: tuple[str, str]) -> None:
    found = [f for f in between(pair) if f.rule.id == "property-added-optional"]
    assert found
    assert {f.severity for f in found} == {Severity.INFO}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_description_next_to_a_reference_is_not_a_change(pair: tuple[str, str]) -> None:
    assert only(pair, "type-changed") == {}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_order_and_notation_of_sets_do_not_matter(pair: tuple[str, str]) -> None:
    rules = {f.rule.id for f in between(pair)}
    assert not rules & {"enum-value-added", "enum-value-removed", "enum-opened", "enum-closed", "const-changed"}


def test_inlined_aliases_are_not_a_change() -> None:
    """2026-07-28 has a copy of CancelledNotification for ClientNotification, and JSONValue with JSONArray in it."""
    assert about(MODERN, "CancelledNotification", "ClientNotification", "EnumSchema") == []
    assert {f.rule.id for f in wire(MODERN) if f.place == "ClientResult"} == {"result-type-removed"}
    removed = only(MODERN, "notification-method-removed")
    assert not [place for place, _, _ in removed if place == "CancelledNotification"]


def test_intersections_are_not_a_change() -> None:
    """GetTaskResult and CancelTaskResult are `Result & Task`."""
    assert about(NOVEMBER, "GetTaskResult", "CancelTaskResult", "Result") == []


def test_an_enum_schema_got_alternatives_and_lost_nothing() -> None:
    """EnumSchema continues as LegacyTitledEnumSchema; ElicitRequest.params as ElicitRequestFormParams."""
    assert only(NOVEMBER, "union-member-removed") == {}
    place = "ElicitRequestParamsRequestedSchema.properties{}"
    kinds = ("TitledMultiSelect", "TitledSingleSelect", "UntitledMultiSelect", "UntitledSingleSelect")
    added = only(NOVEMBER, "union-member-added")
    forms = {key: pairs for key, pairs in added.items() if key[0].startswith("ElicitRequest")}
    assert forms == {
        # To a peer without support for titles, a single-select enum is a string.
        **{(place, "-", f"{kind}EnumSchema"): OLD_CLIENT if "Multi" in kind else frozenset() for kind in kinds},
        ("ElicitRequestParams", "-", "ElicitRequestURLParams"): OLD_CLIENT,
    }
    assert about(NOVEMBER, "LegacyTitledEnumSchema", "EnumSchema", "ElicitRequestFormParams") == [
        'property-added-optional ElicitRequestFormParams.mode: - -> "form"',
        "property-added-optional ElicitRequestFormParams.task: - -> TaskMetadata",
        "property-added-optional LegacyTitledEnumSchema.default: - -> string",
    ]


def test_a_changed_description_does_not_change_messages() -> None:
    """Links in descriptions move with the revision that they point to."""
    text = '"description": "See https://example.org/{}/schema.", "type": "string"'
    before, after = (_described(text.format(date)) for date in ("2025-06-18", "2025-11-25"))
    assert compare_messages(before, after) == ()


def _described(member: str) -> Protocol:
    definitions = json.loads(json.dumps(HANDSHAKE))
    definitions["InitializeRequestParams"]["properties"]["x"] = json.loads("{" + member + "}")
    return load(json_source(definitions))[0]


@pytest.mark.parametrize("pair", PAIRS)
def test_definitions_outside_messages_do_not_matter(pair: tuple[str, str]) -> None:
    """The wrappers of results, the errors as definitions, and the abstract messages are in no message."""
    unreached = ("Request", "Notification", "PaginatedRequest", "ParseError", "InternalError", "InvalidParamsError")
    assert about(pair, *unreached) == []
    assert [f for f in wire(pair) if "ResultResponse" in f.place and not f.place.startswith("JSONRPC")] == []


# Too little: changes that a comparison of definitions by name misses


def test_removed_requests_are_found_in_both_directions() -> None:
    """ServerRequest was removed in 2026-07-28, along with its eight requests."""
    removed = only(MODERN, "request-method-removed")
    tasks = ("CancelTaskRequest", "GetTaskPayloadRequest", "GetTaskRequest", "ListTasksRequest", "PingRequest")
    from_server = ("CreateMessageRequest", "ElicitRequest", "ListRootsRequest")
    from_client = ("InitializeRequest", "SetLevelRequest", "SubscribeRequest", "UnsubscribeRequest")
    assert {place: pairs for (place, _, _), pairs in removed.items()} == {
        **dict.fromkeys(tasks, BOTH),
        **dict.fromkeys(from_server, NEW_CLIENT),
        **dict.fromkeys(from_client, OLD_CLIENT),
    }


def test_new_alternative_results_are_found() -> None:
    required = "InputRequiredResult"
    assert only(MODERN, "result-alternative-added") == {
        ("CallToolResult", "-", required): OLD_CLIENT,
        ("GetPromptResult", "-", required): OLD_CLIENT,
        ("ReadResourceResult", "-", required): OLD_CLIENT,
    }
    assert only(NOVEMBER, "result-alternative-added") == {
        ("CallToolResult", "-", "CreateTaskResult"): OLD_CLIENT,
        ("CreateMessageResult", "-", "CreateTaskResult"): NEW_CLIENT,
        ("ElicitResult", "-", "CreateTaskResult"): NEW_CLIENT,
    }


def test_a_frame_whose_name_was_reused_is_compared_with_its_successor() -> None:
    """JSONRPCResponse is a union since 2025-11-25; its old content is JSONRPCResultResponse, unchanged."""
    assert about(NOVEMBER, "JSONRPCResponse", "JSONRPCResultResponse") == []
    assert about(NOVEMBER, "JSONRPCError") == ["property-now-optional JSONRPCErrorResponse.id: required -> optional"]


def test_new_union_members_inside_maps_and_beside_scalars_are_found() -> None:
    added = only(NOVEMBER, "union-member-added")
    assert added["ElicitResult.content{}", "-", "string[]"] == NEW_CLIENT
    assert added["SamplingMessage.content", "-", "SamplingMessageContentBlock[]"] == OLD_CLIENT
    assert added["CreateMessageResult.content", "-", "SamplingMessageContentBlock[]"] == NEW_CLIENT


def test_the_direction_decides_which_pair_breaks() -> None:
    """The results of tools go to the client; an older server ignores those in the answer to a sampling request."""
    assert only(MODERN, "type-widened") == {
        ("CallToolResult.structuredContent", "{ [key: string]: any }", "any"): OLD_CLIENT,
        ("ToolResultContent.structuredContent", "{ [key: string]: any }", "any"): OLD_CLIENT,
    }
    audio = {
        place: pairs for (place, _, new), pairs in only(MARCH, "union-member-added").items() if new == "AudioContent"
    }
    assert audio == {
        "CallToolResult.content[]": OLD_CLIENT,
        "PromptMessage.content": OLD_CLIENT,
        "SamplingMessage.content": OLD_CLIENT,
        "CreateMessageResult.content": NEW_CLIENT,
    }


def test_newly_required_properties_of_results_are_found() -> None:
    cacheable = ("ListPrompts", "ListResourceTemplates", "ListResources", "ListTools", "ReadResource")
    answers = (*cacheable, "CallTool", "Complete", "GetPrompt")
    expected = {f"{name}Result.resultType" for name in answers}
    expected |= {f"{name}Result.{member}" for name in cacheable for member in ("ttlMs", "cacheScope")}
    added = {place: pairs for (place, _, _), pairs in only(MODERN, "property-added-required").items()}
    results = {place: pairs for place, pairs in added.items() if not place.startswith("RequestParamsMeta")}
    assert results == dict.fromkeys(expected, NEW_CLIENT)
    assert {place: pairs for place, pairs in added.items() if place not in results} == {
        "RequestParamsMeta.io.modelcontextprotocol/clientCapabilities": OLD_CLIENT,
        "RequestParamsMeta.io.modelcontextprotocol/protocolVersion": OLD_CLIENT,
    }


def test_metadata_that_a_base_requires_is_found() -> None:
    """The params of the list requests, required now themselves, share one definition; bases belong to no message."""
    named = ("CallTool", "Complete", "GetPrompt", "Paginated", "ReadResource")
    lists = ("ListPrompts", "ListResourceTemplates", "ListResources", "ListTools")
    required = {place: pairs for (place, _, _), pairs in only(MODERN, "property-now-required").items()}
    assert required == {
        **{f"{name}RequestParams._meta": OLD_CLIENT for name in named},
        **{f"{name}Request.params": OLD_CLIENT for name in lists},
        "CancelledNotificationParams.requestId": BOTH,
    }
    (paginated,) = [f for f in between(MODERN) if f.place == "PaginatedRequestParams._meta"]
    methods = ["prompts/list", "resources/list", "resources/templates/list", "tools/list"]
    assert sorted(carrier.method for carrier in paginated.carriers) == methods


def test_keywords_that_an_open_schema_no_longer_declares_are_found() -> None:
    """A schema of 2026-07-28 may say `properties: true`, which a client of 2025-11-25 refuses."""
    dropped = only(MODERN, "property-constraint-dropped")
    assert {place: pairs for (place, _, _), pairs in dropped.items()} == dict.fromkeys(
        [f"Tool{side}Schema.{keyword}" for side in ("Input", "Output") for keyword in ("properties", "required")],
        OLD_CLIENT,
    )
    testimony = Witnesses(load_released(MODERN[0]), load_released(MODERN[1]))
    found = [testimony.testify(f) for f in between(MODERN) if f.rule.id == "property-constraint-dropped"]
    assert all(f.proven == OLD_CLIENT for f in found)
    assert only(MODERN, "property-removed-required").keys() == {
        ("ElicitRequestURLParams.elicitationId", "string", "-"),
        ("ToolOutputSchema.type", '"object"', "-"),
    }


def test_constraints_of_nested_objects_are_found() -> None:
    assert only(MODERN, "constraint-added") == {
        ("CompleteResultCompletion.values", "-", "max items 100"): NEW_CLIENT,
    }
    assert only(NOVEMBER, "property-now-optional") == {
        ("CancelledNotificationParams.requestId", "required", "optional"): BOTH,
        ("JSONRPCError.id", "required", "optional"): BOTH,
    }


def test_changed_error_codes_are_found() -> None:
    """They are only in schema.ts."""
    codes = {
        (f.rule.id, f.place): (f.old, f.new) for pair in PAIRS for f in between(pair) if f.rule.id.startswith("error-")
    }
    assert codes == {
        ("error-code-added", "URL_ELICITATION_REQUIRED"): ("-", "-32042"),
        ("error-code-removed", "URL_ELICITATION_REQUIRED"): ("-32042", "-"),
        ("error-code-added", "HEADER_MISMATCH"): ("-", "-32020"),
        ("error-code-added", "MISSING_REQUIRED_CLIENT_CAPABILITY"): ("-", "-32021"),
        ("error-code-added", "UNSUPPORTED_PROTOCOL_VERSION"): ("-", "-32022"),
        # Not stated in any schema: see MOVED_CODES.
        ("error-code-renumbered", "RESOURCE_NOT_FOUND"): ("-32002", "-32602"),
    }


def test_renumbered_codes_are_listed_only_if_no_schema_states_them() -> None:
    for row in MOVED_CODES:
        assert row.since in REVISIONS and row.reason
        for revision in REVISIONS:
            assert row.name not in {constant.name for constant in load_released(revision).constants}


def test_batches_are_found_when_added_and_when_removed() -> None:
    forms = ["(JSONRPCRequest | JSONRPCNotification)[]", "(JSONRPCResponse | JSONRPCError)[]"]
    assert only(MARCH, "jsonrpc-message-form-added") == {("JSONRPCMessage", "-", form): BOTH for form in forms}
    assert only(JUNE, "jsonrpc-message-form-removed") == {("JSONRPCMessage", form, "-"): BOTH for form in forms}


# What a comparison must withstand


@pytest.mark.parametrize("recursion", ["A | string", "A | null", "A[] | A", "(A | string)[]", "{ [key: string]: A }"])
def test_a_recursive_type_is_compared(recursion: str) -> None:
    def text(extra: str) -> str:
        return (
            'export interface InitializeRequest { method: "initialize"; params: A; }'
            " export type ClientRequest = InitializeRequest; export interface InitializeResult { }"
            f" export interface A {{ next?: {recursion}; {extra} }}"
        )

    old, new = load(typescript_source(text("")))[0], load(typescript_source(text("x: string;")))[0]
    assert compare_messages(old, old) == ()
    assert [(f.rule, f.place) for f in compare_messages(old, new)] == [(RULES["property-added-required"], "A.x")]


def test_an_alternative_that_stays_is_compared_too() -> None:
    def text(more: str) -> str:
        return (
            'export interface InitializeRequest { method: "initialize"; params: { x: string } }'
            " export type ClientRequest = InitializeRequest; export interface InitializeResult { }"
            " export interface InitializeResultResponse { result: InitializeResult | LaterResult; }"
            f" export interface LaterResult {{ at: string; {more} }}"
        )

    old, new = load(typescript_source(text("")))[0], load(typescript_source(text("state: string;")))[0]
    (finding,) = compare_messages(old, new)
    assert (finding.rule.id, finding.place) == ("property-added-required", "LaterResult.state")
    assert finding.breaks == NEW_CLIENT


def test_a_union_member_is_paired_with_the_most_similar_one() -> None:
    """B is removed and is similar to A, which remains: A still matches A."""

    def text(union: str) -> str:
        return (
            f'export interface InitializeRequest {{ method: "initialize"; params: {{ x: {union} }} }}'
            " export type ClientRequest = InitializeRequest; export interface InitializeResult { }"
            " export interface A { a: string; b: string; c: string; d?: string; }"
            " export interface B { a: string; b: string; c: string; e?: string; }"
            " export interface C { other: boolean; }"
        )

    old, new = load(typescript_source(text("B | A | C")))[0], load(typescript_source(text("A | C")))[0]
    (finding,) = compare_messages(old, new)
    assert (finding.rule.id, finding.old) == ("union-member-removed", "B")


def test_the_order_of_lists_in_a_union_does_not_matter() -> None:
    def text(union: str) -> str:
        return (
            f'export interface InitializeRequest {{ method: "initialize"; params: {{ x: {union} }} }}'
            " export type ClientRequest = InitializeRequest; export interface InitializeResult { }"
        )

    old, new = (load(typescript_source(text(u)))[0] for u in ("string[] | boolean[]", "boolean[] | string[]"))
    assert compare_messages(old, new) == ()
