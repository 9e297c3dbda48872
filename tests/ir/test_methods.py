"""The method tables of all revisions against tables transcribed by hand, and the rules that derive them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from mcp_bindgen.ingest.revisions import read_rows, shipped_source
from mcp_bindgen.ingest.sources import SourceKind, read_source
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.methods import PAIRINGS, RUNTIME_REQUESTS, Senders, derive_methods
from mcp_bindgen.ir.nodes import Alias, Direction, Method, Protocol, Struct, Union
from mcp_bindgen.load.protocol import direction_rows, load_released, load_sources
from support.official import seed_typescript
from support.samples import (
    HANDSHAKE,
    HANDSHAKE_TS,
    LEGACY,
    REVISIONS,
    TRANSCRIBED,
    json_source,
    lines,
    load,
    typescript_source,
)

# Transcribed from the specification: method, message, who sends it (in: embedded in a result), params (? may be left
# out, {} inline in the schema), result and its alternatives. ~ is a name that follows from that of the message.
_EARLY = """
ping                                     PingRequest                           both {RequestParams}? EmptyResult
completion/complete                      CompleteRequest                       c>s  {~}! ~
initialize                               InitializeRequest                     c>s  {~}! ~
logging/setLevel                         SetLevelRequest                       c>s  {~}! EmptyResult
prompts/get                              GetPromptRequest                      c>s  {~}! ~
prompts/list                             ListPromptsRequest                    c>s  {PaginatedRequestParams}? ~
resources/list                           ListResourcesRequest                  c>s  {PaginatedRequestParams}? ~
resources/read                           ReadResourceRequest                   c>s  {~}! ~
resources/subscribe                      SubscribeRequest                      c>s  {~}! EmptyResult
resources/templates/list                 ListResourceTemplatesRequest          c>s  {PaginatedRequestParams}? ~
resources/unsubscribe                    UnsubscribeRequest                    c>s  {~}! EmptyResult
tools/call                               CallToolRequest                       c>s  {~}! ~
tools/list                               ListToolsRequest                      c>s  {PaginatedRequestParams}? ~
roots/list                               ListRootsRequest                      s>c  {RequestParams}? ~
sampling/createMessage                   CreateMessageRequest                  s>c  {~}! ~
notifications/cancelled                  CancelledNotification                 both {~}! -
notifications/progress                   ProgressNotification                  both {~}! -
notifications/initialized                InitializedNotification               c>s  {NotificationParams}? -
notifications/roots/list_changed         RootsListChangedNotification          c>s  {NotificationParams}? -
notifications/message                    LoggingMessageNotification            s>c  {~}! -
notifications/prompts/list_changed       PromptListChangedNotification         s>c  {NotificationParams}? -
notifications/resources/list_changed     ResourceListChangedNotification       s>c  {NotificationParams}? -
notifications/resources/updated          ResourceUpdatedNotification           s>c  {~}! -
notifications/tools/list_changed         ToolListChangedNotification           s>c  {NotificationParams}? -
"""
_ELICITATION = """
elicitation/create                       ElicitRequest                         s>c  {~}! ~
"""
_TASKS = """
ping                                     PingRequest                           both RequestParams? EmptyResult
tasks/cancel                             CancelTaskRequest                     both {~}! ~
tasks/get                                GetTaskRequest                        both {~}! ~
tasks/list                               ListTasksRequest                      both PaginatedRequestParams? ~
tasks/result                             GetTaskPayloadRequest                 both {~}! ~
completion/complete                      CompleteRequest                       c>s  ~! ~
initialize                               InitializeRequest                     c>s  ~! ~
logging/setLevel                         SetLevelRequest                       c>s  ~! EmptyResult
prompts/get                              GetPromptRequest                      c>s  ~! ~
prompts/list                             ListPromptsRequest                    c>s  PaginatedRequestParams? ~
resources/list                           ListResourcesRequest                  c>s  PaginatedRequestParams? ~
resources/read                           ReadResourceRequest                   c>s  ~! ~
resources/subscribe                      SubscribeRequest                      c>s  ~! EmptyResult
resources/templates/list                 ListResourceTemplatesRequest          c>s  PaginatedRequestParams? ~
resources/unsubscribe                    UnsubscribeRequest                    c>s  ~! EmptyResult
tools/call                               CallToolRequest                       c>s  ~! ~|CreateTaskResult
tools/list                               ListToolsRequest                      c>s  PaginatedRequestParams? ~
elicitation/create                       ElicitRequest                         s>c  ~! ~|CreateTaskResult
roots/list                               ListRootsRequest                      s>c  RequestParams? ~
sampling/createMessage                   CreateMessageRequest                  s>c  ~! ~|CreateTaskResult
notifications/cancelled                  CancelledNotification                 both ~! -
notifications/progress                   ProgressNotification                  both ~! -
notifications/tasks/status               TaskStatusNotification                both ~! -
notifications/initialized                InitializedNotification               c>s  NotificationParams? -
notifications/roots/list_changed         RootsListChangedNotification          c>s  NotificationParams? -
notifications/elicitation/complete       ElicitationCompleteNotification       s>c  {~}! -
notifications/message                    LoggingMessageNotification            s>c  ~! -
notifications/prompts/list_changed       PromptListChangedNotification         s>c  NotificationParams? -
notifications/resources/list_changed     ResourceListChangedNotification       s>c  NotificationParams? -
notifications/resources/updated          ResourceUpdatedNotification           s>c  ~! -
notifications/tools/list_changed         ToolListChangedNotification           s>c  NotificationParams? -
"""
_MODERN = """
completion/complete                      CompleteRequest                       c>s  ~! ~
prompts/get                              GetPromptRequest                      c>s  ~! ~|InputRequiredResult
prompts/list                             ListPromptsRequest                    c>s  PaginatedRequestParams! ~
resources/list                           ListResourcesRequest                  c>s  PaginatedRequestParams! ~
resources/read                           ReadResourceRequest                   c>s  ~! ~|InputRequiredResult
resources/templates/list                 ListResourceTemplatesRequest          c>s  PaginatedRequestParams! ~
server/discover                          DiscoverRequest                       c>s  RequestParams! ~
subscriptions/listen                     SubscriptionsListenRequest            c>s  ~! ~
tools/call                               CallToolRequest                       c>s  ~! ~|InputRequiredResult
tools/list                               ListToolsRequest                      c>s  PaginatedRequestParams! ~
elicitation/create                       ElicitRequest                         in   ~! ~
roots/list                               ListRootsRequest                      in   {~}? ~
sampling/createMessage                   CreateMessageRequest                  in   ~! ~
notifications/cancelled                  CancelledNotification                 both ~! -
notifications/message                    LoggingMessageNotification            s>c  ~! -
notifications/progress                   ProgressNotification                  s>c  ~! -
notifications/prompts/list_changed       PromptListChangedNotification         s>c  NotificationParams? -
notifications/resources/list_changed     ResourceListChangedNotification       s>c  NotificationParams? -
notifications/resources/updated          ResourceUpdatedNotification           s>c  ~! -
notifications/subscriptions/acknowledged SubscriptionsAcknowledgedNotification s>c  ~! -
notifications/tools/list_changed         ToolListChangedNotification           s>c  NotificationParams? -
"""

_TABLES: Mapping[str, str] = {
    "2024-11-05": _EARLY,
    "2025-03-26": _EARLY,
    "2025-06-18": _EARLY + _ELICITATION,
    "2025-11-25": _TASKS,
    "2026-07-28": _MODERN,
}
_DIRECTIONS: Mapping[str, Direction] = {
    "c>s": Direction.CLIENT_TO_SERVER,
    "s>c": Direction.SERVER_TO_CLIENT,
    "both": Direction.BOTH,
    "in": Direction.EMBEDDED,
}
_LISTS = {"prompts/list", "resources/list", "resources/templates/list", "tools/list"}
_CALLS_WITH_TASK = {"tools/call", "sampling/createMessage", "elicitation/create"}
# Flag -> revision -> methods, from the specification; no other method has the flag.
_FLAGS: Mapping[str, Mapping[str, set[str]]] = {
    "paginated": {
        **dict.fromkeys(REVISIONS, _LISTS),
        "2025-11-25": _LISTS | {"tasks/list"},
    },
    "cacheable": {"2026-07-28": _LISTS | {"resources/read", "server/discover"}},
    "task_augmentable": {"2025-11-25": _CALLS_WITH_TASK},
    "multi_round_trip": {"2026-07-28": {"prompts/get", "resources/read", "tools/call"}},
    "payload": {"2025-11-25": {"tasks/result"}},
    "deprecated": {"2026-07-28": {"roots/list", "sampling/createMessage", "notifications/message"}},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    name: str
    message: str
    direction: Direction
    params: str
    inline: bool
    required: bool
    results: tuple[str, ...]


def rows(revision: str) -> Iterator[Row]:
    for line in _TABLES[revision].split("\n"):
        if not line:
            continue
        name, message, direction, params, results = line.split()
        own_result = message.removesuffix("Request") + "Result"
        yield Row(
            name=name,
            message=message,
            direction=_DIRECTIONS[direction],
            params=params[:-1].strip("{}").replace("~", f"{message}Params"),
            inline=params.startswith("{"),
            required=params.endswith("!"),
            results=() if results == "-" else tuple(results.replace("~", own_result).split("|")),
        )


@cache
def methods(revision: str) -> Mapping[str, Method]:
    return {method.name: method for method in load_released(revision).methods}


def only(protocol: Protocol, name: str) -> Method:
    (found,) = (method for method in protocol.methods if method.name == name)
    return found


def message(name: str, method: str, members: str = "") -> str:
    return f'interface {name} {{ method: "{method}"; {members} }}\n'


def needless(rows: Mapping[str, Direction]) -> list[str]:
    """Return the rows about methods whose direction every released revision states itself."""
    without = Senders(rows={}, elsewhere=lambda _: None)
    undirected = {
        method.name
        for revision in REVISIONS
        for method in derive_methods(load_released(revision).definitions, revision, without, Diagnostics())
        if not method.is_directed
    }
    return sorted(rows.keys() - undirected)


class TestReleased:
    @pytest.mark.parametrize("revision", TRANSCRIBED)
    def test_the_methods_are_those_of_the_table(self, revision: str) -> None:
        expected = {row.name for row in rows(revision)}
        assert methods(revision).keys() == expected
        assert len(load_released(revision).methods) == len(expected)

    @pytest.mark.parametrize(
        ("revision", "row"),
        [
            pytest.param(revision, row, id=f"{revision}-{row.name}")
            for revision in TRANSCRIBED
            for row in rows(revision)
        ],
    )
    def test_a_method_is_as_transcribed(self, revision: str, row: Row) -> None:
        method = methods(revision)[row.name]
        flags: dict[str, Any] = {flag: row.name in where.get(revision, ()) for flag, where in _FLAGS.items()}
        # Required capabilities are tested in tests/ir/test_capabilities.py.
        assert replace(method, capability="") == Method(
            name=row.name,
            message=row.message,
            direction=row.direction,
            params=row.params,
            params_required=row.required,
            result=row.results[0] if row.results else None,
            alternatives=row.results[1:],
            **flags,
        )
        assert method.is_request == row.message.endswith("Request")
        params = load_released(revision).definitions[row.params]
        holder = params.holder if isinstance(params, Struct) else ""
        assert bool(holder) == row.inline

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_requests_come_first_and_each_kind_is_sorted(self, revision: str) -> None:
        names = [(not method.is_request, method.name) for method in load_released(revision).methods]
        assert names == sorted(names)

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_four_legacy_methods_have_an_empty_result(self, revision: str) -> None:
        empty = {name for name, method in methods(revision).items() if method.result == "EmptyResult"}
        four = {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
        assert empty == (four if revision in LEGACY else set())

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_every_message_belongs_to_exactly_one_method(self, revision: str) -> None:
        """ClientNotification of 2026-07-28 is an inline copy of its one member in the JSON, and no second message."""
        messages = [method.message for method in methods(revision).values()]
        assert len(messages) == len(set(messages))
        assert not {"ClientNotification", "ServerNotification", "ClientRequest", "ServerRequest"} & set(messages)

    def test_the_schema_json_alone_gives_the_same_methods(self) -> None:
        """What schema.ts alone states is lost: deprecation, and that a result is that of another request."""
        for revision in REVISIONS:
            protocol, found = load(shipped_source(revision, SourceKind.JSON_SCHEMA))
            assert found == []
            for method in protocol.methods:
                full = methods(revision)[method.name]
                assert (method.direction, method.result, method.params_required, set(method.alternatives)) == (
                    full.direction,
                    full.result,
                    full.params_required,
                    set(full.alternatives),
                )
            assert len(protocol.methods) == len(methods(revision))

    @pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda pairing: pairing.result)
    def test_every_exception_applies_somewhere(self, pairing: object) -> None:
        """A row is stale if no released revision has its result any longer."""
        used = [
            revision
            for revision in REVISIONS
            for method in load_released(revision).methods
            if pairing in PAIRINGS and PAIRINGS[PAIRINGS.index(pairing)].result in method.alternatives
        ]
        assert used
        assert all(row.reason.strip() for row in PAIRINGS)

    def test_an_exception_states_what_no_schema_states(self) -> None:
        """Once a schema states the pairing itself, the row has to go."""
        protocol = load_released("2025-11-25")
        for struct in protocol.structs():
            for field in struct.fields:
                members = field.type.members if isinstance(field.type, Union) else (field.type,)
                assert not any(getattr(member, "name", "") == PAIRINGS[0].result for member in members)

    def test_embedded_requests(self) -> None:
        protocol = load_released("2026-07-28")
        union = protocol.definitions["InputRequest"]
        assert isinstance(union, Alias)
        assert isinstance(union.type, Union)
        embedded = {m.message for m in protocol.methods if m.direction is Direction.EMBEDDED}
        assert {getattr(member, "name", "") for member in union.type.members} == embedded
        assert not any(m.direction is Direction.EMBEDDED for r in LEGACY for m in load_released(r).methods)


class TestSeed:
    def test_a_message_that_the_unions_forget_is_kept(self) -> None:
        diagnostics = Diagnostics()
        protocol = load_sources([read_source(str(seed_typescript()))], None, diagnostics)
        assert protocol.revision == "2024-11-05"
        assert {m.name: m for m in protocol.methods} == methods("2024-11-05")
        (line,) = (line for line in lines(diagnostics) if "ListResourceTemplatesRequest" in line)
        assert line.startswith("note: ")
        assert line.endswith("resources/templates/list is client_to_server as in another revision")


class TestRules:
    def test_the_smallest_protocol_has_one_method(self) -> None:
        for source in (typescript_source(HANDSHAKE_TS), json_source(HANDSHAKE)):
            protocol, found = load(source)
            assert found == []
            assert protocol.methods == (
                Method(
                    name="initialize",
                    message="InitializeRequest",
                    direction=Direction.CLIENT_TO_SERVER,
                    params="InitializeRequestParams",
                    params_required=True,
                    result="InitializeResult",
                ),
            )

    def test_of_two_messages_of_one_method_the_one_in_a_root_union_counts(self) -> None:
        text = message("AgainRequest", "initialize") + "interface AgainResult {}" + HANDSHAKE_TS
        protocol, found = load(typescript_source(text))
        assert only(protocol, "initialize").message == "InitializeRequest"
        assert found == ["note: #/AgainRequest: initialize is also the method of InitializeRequest, which is used"]

    def test_a_base_says_what_kind_of_message_it_is(self) -> None:
        text = HANDSHAKE_TS.replace("ClientRequest =", "ClientRequest = Ask |")
        text += 'interface Request { method: string } interface Ask extends Request { method: "ask" } '
        text += "interface AskResult {}"
        protocol, found = load(typescript_source(text))
        assert found == []
        assert (only(protocol, "ask").message, only(protocol, "ask").result) == ("Ask", "AskResult")

    def test_a_message_of_unknown_kind_is_left_out_with_a_warning(self) -> None:
        protocol, found = load(typescript_source(HANDSHAKE_TS + message("Event", "events/one")))
        assert [method.name for method in protocol.methods] == ["initialize"]
        assert found == [
            "warning: #/Event: Event has the method 'events/one', but neither its name nor its bases say whether it is"
            " a request or a notification; it is not one of the messages"
        ]

    def test_a_message_of_several_methods_is_one_of_each(self) -> None:
        text = "interface EventRequest { method: 'events/one' | 'events/two' } interface EventResult {}"
        protocol, _ = load(typescript_source(HANDSHAKE_TS.replace("= Init", "= EventRequest | Init") + text))
        found = [(m.name, m.message, m.result, m.direction) for m in protocol.methods]
        sent = Direction.CLIENT_TO_SERVER
        assert found[:2] == [(f"events/{n}", "EventRequest", "EventResult", sent) for n in ("one", "two")]

    def test_an_inline_member_of_a_root_union_is_a_message(self) -> None:
        text = "interface Request { method: string } interface ListEventsResult { x: string }"
        member = '(Request & { method: "events/list" }) | { method: "events/poke" }'
        text += HANDSHAKE_TS.replace("= Init", f"= {member} | Init") + "interface EmptyResult {}"
        protocol, _ = load(typescript_source(text))
        assert only(protocol, "events/list").result == "ListEventsResult"
        assert only(protocol, "events/poke").result == "EmptyResult"
        assert only(protocol, "events/poke").direction is Direction.CLIENT_TO_SERVER

    def test_a_copy_of_a_message_in_a_root_union_is_not_a_second_message(self) -> None:
        gone = {"type": "object", "properties": {"method": {"const": "notifications/gone"}}, "required": ["method"]}
        protocol, found = load(json_source({**HANDSHAKE, "GoneNotification": gone, "ClientNotification": gone}))
        assert found == []
        method = only(protocol, "notifications/gone")
        assert (method.message, method.direction) == ("GoneNotification", Direction.CLIENT_TO_SERVER)
        assert (method.params, method.params_required, method.result) == (None, False, None)

    def test_a_request_without_a_result_is_left_out_with_a_warning(self) -> None:
        text = HANDSHAKE_TS + message("PingRequest", "ping") + "type ServerRequest = PingRequest;"
        protocol, found = load(typescript_source(text))
        assert [method.name for method in protocol.methods] == ["initialize"]
        assert found == [
            "warning: #/PingRequest: neither PingResult nor EmptyResult is defined, so it has no result: skipped"
        ]
        protocol, found = load(typescript_source(text + " interface EmptyResult {}"))
        assert found == []
        assert only(protocol, "ping").result == "EmptyResult"

    def test_a_message_of_both_sides(self) -> None:
        text = HANDSHAKE_TS.replace("ClientRequest =", "ClientRequest = PingRequest |") + message("PingRequest", "ping")
        text += "type ServerRequest = PingRequest; interface PingResult {}"
        protocol, _ = load(typescript_source(text))
        assert only(protocol, "ping").direction is Direction.BOTH

    def test_nested_unions_state_the_direction(self) -> None:
        text = HANDSHAKE_TS.replace("ClientRequest =", "ClientRequest = More |") + message("PingRequest", "ping")
        text += "type More = PingRequest | InitializeRequest; interface PingResult {}"
        protocol, found = load(typescript_source(text))
        assert found == []
        assert only(protocol, "ping").direction is Direction.CLIENT_TO_SERVER

    def test_a_recursive_union_is_walked_once(self) -> None:
        text = HANDSHAKE_TS.replace("ClientRequest =", "ClientRequest = Tree |") + "type Tree = string | Tree[];"
        protocol, found = load(typescript_source(text))
        assert found == []
        assert len(protocol.methods) == 1

    def test_a_message_in_no_union_may_be_sent_by_both_sides(self) -> None:
        text = HANDSHAKE_TS + message("AskRequest", "ask") + "interface AskResult {}"
        protocol, found = load(typescript_source(text))
        assert (only(protocol, "ask").direction, only(protocol, "ask").is_directed) == (Direction.BOTH, False)
        assert found == [
            "warning: #/AskRequest: AskRequest is in none of ClientRequest, ClientNotification, ServerRequest,"
            " ServerNotification, so the sender of ask is unknown: both may send it"
        ]

    def test_another_revision_may_state_the_direction(self) -> None:
        text = HANDSHAKE_TS + message("ListRootsRequest", "roots/list") + "interface ListRootsResult {}"
        protocol, found = load(typescript_source(text))
        assert only(protocol, "roots/list").direction in (Direction.SERVER_TO_CLIENT, Direction.EMBEDDED)
        assert len(found) == 1 and found[0].startswith("note: #/ListRootsRequest: ")
        assert found[0].endswith("as in another revision")

    def test_a_row_states_the_direction(self) -> None:
        rows = read_rows(
            '["ask"]\ndirection = "server_to_client"\nreason = "the page on questions"', "direction", "direction"
        )
        definitions = load(typescript_source(HANDSHAKE_TS + message("AskRequest", "ask") + "interface AskResult {}"))[0]
        senders = Senders(rows={"ask": Direction(rows["ask"])}, elsewhere=lambda _: Direction.BOTH)
        diagnostics = Diagnostics()
        methods = derive_methods(definitions.definitions, "schema.ts", senders, diagnostics)
        (ask,) = (method for method in methods if method.name == "ask")
        assert (ask.direction, ask.is_directed) == (Direction.SERVER_TO_CLIENT, True)
        assert list(diagnostics) == []

    def test_every_row_is_needed(self) -> None:
        assert needless(direction_rows()) == []
        assert needless({"tools/call": Direction.CLIENT_TO_SERVER}) == ["tools/call"]
        assert needless({"sampling/createMessage": Direction.EMBEDDED}) == ["sampling/createMessage"]
        assert needless({"no/such": Direction.BOTH}) == ["no/such"]

    def test_a_row_needs_a_reason(self) -> None:
        with pytest.raises(ValueError, match="the direction of ask has no reason"):
            read_rows('["ask"]\ndirection = "both"', "direction", "direction")

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_a_released_revision_is_silent_about_directions(self, revision: str) -> None:
        diagnostics = Diagnostics()
        load_sources([shipped_source(revision, kind) for kind in SourceKind], revision, diagnostics)
        assert not any("who sends" in line or "another revision" in line for line in lines(diagnostics))

    def test_a_request_inside_a_result_is_embedded(self) -> None:
        text = HANDSHAKE_TS + message("AskRequest", "ask") + "interface AskResult {}"
        text += "interface MoreResult { asks: Asks } interface Asks { [key: string]: Ask } type Ask = AskRequest;"
        protocol, found = load(typescript_source(text))
        assert found == []
        assert only(protocol, "ask").direction is Direction.EMBEDDED

    def test_a_response_states_the_alternatives(self) -> None:
        text = HANDSHAKE_TS + "interface Asking { inputRequests?: object }"
        text += "interface InitializeResultResponse { result: Asking | InitializeResult }"
        protocol, _ = load(typescript_source(text))
        method = only(protocol, "initialize")
        assert (method.result, method.alternatives, method.multi_round_trip) == ("InitializeResult", ("Asking",), True)

    def test_a_request_with_a_task_may_return_one(self) -> None:
        text = HANDSHAKE_TS.replace("protocolVersion: string", "task?: object", 1) + "interface CreateTaskResult {}"
        method = only(load(typescript_source(text))[0], "initialize")
        assert (method.alternatives, method.task_augmentable) == (("CreateTaskResult",), True)

    def test_params_may_be_a_union(self) -> None:
        text = HANDSHAKE_TS.replace("params: InitializeRequestParams", "params: Either")
        text += "type Either = InitializeRequestParams | Paged; interface Paged { cursor?: string }"
        text = text.replace("interface InitializeResult {", "interface InitializeResult { nextCursor?: string;")
        method = only(load(typescript_source(text))[0], "initialize")
        assert (method.params, method.paginated) == ("Either", True)
        method = only(load(typescript_source(text.replace("cursor?", "position?")))[0], "initialize")
        assert (method.params, method.paginated) == ("Either", False)

    @pytest.mark.parametrize("params", ["string", "object[]", "Initial", "Text"])
    def test_params_that_are_not_an_object_are_not_typed(self, params: str) -> None:
        text = HANDSHAKE_TS.replace("params: InitializeRequestParams", f"params: {params}")
        text += "type Initial = string | InitializeRequestParams; type Text = string;"
        protocol, found = load(typescript_source(text))
        assert only(protocol, "initialize").params is None
        assert found == [
            "warning: #/InitializeRequest: its params are not a named object or union of objects; they are not typed"
        ]

    def test_an_inline_union_of_params_gets_a_name(self) -> None:
        union = "InitializeRequestParams | { cursor: string }"
        text = HANDSHAKE_TS.replace("params: InitializeRequestParams", f"params: {union}").replace(
            "interface InitializeRequestParams", "interface Initial { x: string } interface InitializeRequestParams"
        )
        protocol, _ = load(typescript_source(text.replace("InitializeRequestParams |", "Initial |")))
        assert only(protocol, "initialize").params == "InitializeRequestParams2"

    def test_a_result_that_is_not_an_object_is_not_used(self) -> None:
        text = HANDSHAKE_TS.replace("interface InitializeResult", "type InitializeResult = string; interface Other")
        protocol, found = load(typescript_source(text + "interface Result {}"))
        assert only(protocol, "initialize").result == "Result"
        assert found == ["warning: #/InitializeRequest: a result is an object, which InitializeResult is not"]

    @pytest.mark.parametrize("params", ["object", "{ [key: string]: unknown }"])
    def test_params_without_declared_properties(self, params: str) -> None:
        text = HANDSHAKE_TS.replace("params: InitializeRequestParams", f"params?: {params}")
        method = only(load(typescript_source(text))[0], "initialize")
        assert (method.params, method.params_required) == (None, False)

    @pytest.mark.parametrize("method", RUNTIME_REQUESTS)
    def test_every_request_of_the_runtime_exists_in_a_revision(self, method: str) -> None:
        assert any(method in methods(revision) for revision in REVISIONS)
