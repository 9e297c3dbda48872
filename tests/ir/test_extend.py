"""An extension is read together with the revision that it extends, and may change nothing of it."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mcp_bindgen.ingest.extensions import read_table, shipped_extensions
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ingest.revisions import read_docs
from mcp_bindgen.ingest.sources import SourceKind, SourceText, read_source
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.document import DocBook
from mcp_bindgen.ir.nodes import Alias, Kind, Primitive, Ref, Struct, Union
from mcp_bindgen.ir.spell import opaque_facts
from mcp_bindgen.load.extension import extend, load_extension
from mcp_bindgen.load.protocol import load_released
from support.doc_keys import used_keys
from support.extensions import CARDS, DIRECTIONS, ID, OFFICIAL, ORDERS, REVISION, ROWS, TASKS, UI, official, orders


def struct(extension_of: Callable[[], Any], name: str) -> Struct:
    found = extension_of().protocol.definitions[name]
    assert isinstance(found, Struct)
    return found


class TestWhatIsAdded:
    def test_only_new_definitions_are_its_own(self) -> None:
        base, found = load_released(REVISION), orders()
        assert not found.own & base.definitions.keys()
        assert {name: found.protocol.definitions[name] for name in base.definitions} == base.definitions

    def test_imports_name_types_of_the_revision(self) -> None:
        failure = struct(orders, "Order").field("failure")
        assert failure is not None and failure.type == Ref(name="Error")
        assert [base.name for base in struct(orders, "PlaceOrderRequest").bases] == ["JSONRPCRequest"]

    def test_a_number_is_an_integer_only_if_its_format_says_so(self) -> None:
        kinds = {f.wire_name: f.type.kind for f in struct(orders, "Order").fields if isinstance(f.type, Primitive)}
        assert kinds == {"loaves": Kind.NUMBER, "table": Kind.INTEGER, "eaten": Kind.NEVER}

    def test_settings_without_properties_are_closed(self) -> None:
        settings = struct(orders, "Settings")
        assert (settings.fields, settings.extra) == ((), None)

    def test_methods_have_directions_params_with_metadata_and_results(self) -> None:
        found = {method.name: (method.direction.value, method.params, method.result) for method in orders().methods}
        assert found == {
            "orders/place": ("client_to_server", "PlaceOrderRequestParams", "PlaceOrderResult"),
            "notifications/orders/baked": ("server_to_client", "BakedOrderNotificationParams", None),
            "notifications/orders/rated": ("client_to_server", "RateOrderNotificationParams", None),
        }
        for name, type_ in (("PlaceOrderRequestParams", "RequestMetaObject"), ("RateOrderNotificationParams", None)):
            meta = struct(orders, name).field("_meta")
            assert meta is not None and meta.type == Ref(name=type_ or "NotificationMetaObject")
            assert meta.required is (type_ is not None)

    def test_a_request_of_the_revision_gets_another_result(self) -> None:
        found = orders()
        call = next(method for method in found.protocol.methods if method.name == "tools/call")
        assert call.alternatives == ("InputRequiredResult", "OrderedResult")
        assert found.results == {"tools/call": {"ordered": "OrderedResult"}}

    def test_it_may_extend_a_revision_of_the_legacy_era(self) -> None:
        found = orders(revision="2025-11-25", results={}, filters={})
        meta = struct(lambda: found, "PlaceOrderRequestParams").field("_meta")
        assert meta is not None and not meta.required

    def test_a_type_that_repeats_one_of_the_revision_is_that_one(self) -> None:
        found = Diagnostics()
        text = ORDERS + "interface InputRequests { [key: string]: InputRequest }".replace("InputRequest }", "Each }")
        text = text.replace("JSONRPCRequest, ", "JSONRPCRequest, InputRequest as Each, ")
        assert "InputRequests" not in orders(text, found).own
        notes = [str(d) for d in found if "InputRequests" in str(d)]
        assert len(notes) == 1 and f"InputRequests is that of {REVISION}, which is used" in notes[0]

    def test_forms_are_named_after_the_members_of_the_union(self) -> None:
        text = (
            ORDERS + "type EitherResult = Result & (A | B) & { c: string }; interface A { a: 1 } interface B { b: 2 }"
        )
        either = orders(text).protocol.definitions["EitherResult"]
        assert isinstance(either, Alias)
        assert either.type == Union(members=(Ref(name="EitherResultA"), Ref(name="EitherResultB")))

    def test_descriptions_of_the_revision_describe_only_what_is_inherited(self) -> None:
        order = struct(lambda: orders(ORDERS + "interface Tool2 { name: string; cursor?: string }"), "Tool2")
        assert [field.doc for field in order.fields] == ["", ""]
        status = struct(lambda: load_extension(TASKS), "WorkingTask").field("status")
        leaked = load_released("2025-11-25").definitions["Task"]
        assert isinstance(leaked, Struct) and status is not None
        assert status.doc and status.doc not in [field.doc for field in leaked.fields]
        meta = struct(orders, "PlaceOrderResult").field("_meta")
        assert meta is not None and meta.doc


class TestShipped:
    @pytest.mark.parametrize(("id", "name", "file"), OFFICIAL)
    def test_the_official_file_is_read_without_errors(self, id: str, name: str, file: str) -> None:
        table, found = shipped_extensions()[id], Diagnostics()
        source = read_source(str(official(name, file)))
        extension = extend(table, table.revision, source, found)
        assert not found.errors and source.sha256 == table.sha256
        assert not list(opaque_facts(extension.protocol)) or id == UI
        shipped = load_extension(id)
        assert (extension.own, extension.methods) == (shipped.own, shipped.methods)

    @pytest.mark.parametrize(("id", "name", "file"), OFFICIAL)
    def test_descriptions_are_our_own(self, id: str, name: str, file: str) -> None:
        theirs = " ".join(re.findall(r"\w+", official(name, file).read_text("utf-8").lower()))
        path = shipped("schema") / "extensions" / name / "docs.toml"
        for key, line in read_docs(path.read_text("utf-8")).items():
            words = re.findall(r"\w+", line.lower())
            runs = (" ".join(words[start : start + 6]) for start in range(max(1, len(words) - 5)))
            assert not any(run in theirs for run in runs if run.count(" ") == 5), (id, key)

    @pytest.mark.parametrize("id", [TASKS, UI, CARDS])
    def test_every_definition_and_every_line_is_used(self, id: str) -> None:
        found = load_extension(id)
        path = shipped("schema") / "extensions" / found.module / "docs.toml"
        book = DocBook(read_docs(path.read_text("utf-8")))
        own = replace(found.protocol, definitions={name: found.protocol.definitions[name] for name in found.own})
        assert all(definition.doc for definition in own.definitions.values())
        assert set(book.lines) - set(used_keys(own, book)) == set()

    def test_tags_of_apps_are_descriptions(self) -> None:
        table = shipped_extensions()[UI]
        found = extend(table, table.revision, read_source(str(official("ui", "spec.types.d.ts"))), Diagnostics())
        assert found.protocol.definitions["McpUiTheme"].doc != load_extension(UI).protocol.definitions["McpUiTheme"].doc

    def test_tasks_has_four_methods(self) -> None:
        assert {method.name: method.direction.value for method in load_extension(TASKS).methods} == {
            "tasks/get": "client_to_server",
            "tasks/update": "client_to_server",
            "tasks/cancel": "client_to_server",
            "notifications/tasks": "server_to_client",
        }

    def test_messages_of_apps_are_types_only(self) -> None:
        found = load_extension(UI)
        assert found.methods == () and "McpUiOpenLinkRequestParams" in found.own


def _without(method: str) -> dict[str, Any]:
    return {name: row for name, row in DIRECTIONS.items() if name != method}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no prefix": (
        {"id": "orders"},
        "pyproject.toml: 'orders' cannot name an extension: give it the prefix of a domain, as in com.acme/orders",
    ),
    "a type that the revision lacks": (
        {"text": ORDERS.replace("Result }", "Result, Missing }")},
        "'Missing' is imported, but the base revision has no type of that name",
    ),
    "an import of a value": (
        {"text": 'import { Result } from "x";' + ORDERS.replace(", Result }", " }")},
        "'Result' is imported as a value; write `import type { Result }`",
    ),
    "an import of a module": ({"text": ORDERS + 'import * as x from "x";'}, "only `import type { ... }` can be read"),
    "a type of the revision": (
        {"text": ORDERS + "interface Tool { loaf: string }"},
        f": Tool is a type of {REVISION}; rename it",
    ),
    "an inline type of the revision": (
        {"text": ORDERS + "interface ToolInputSchema { loaf: string }"},
        f": ToolInputSchema is a type of {REVISION}; rename it",
    ),
    "a method of the revision": (
        {"text": ORDERS.replace("orders/place", "tools/call"), "headers": {}, "directions": _without("orders/place")},
        f"orders.ts#/PlaceOrderRequest: tools/call is a method of {REVISION} (CallToolRequest); rename it",
    ),
    "no direction": (
        {"directions": _without("orders/place")},
        "pyproject.toml#/com.acme~1orders/directions/orders~1place: nothing says who sends it; add the row"
        ' \'orders/place\' = { direction = "client_to_server", reason = "..." } (or another direction)',
    ),
    "an unknown direction": (
        {"directions": {**DIRECTIONS, "orders/place": {"direction": "up", "reason": "x"}}},
        "directions/orders~1place: 'up' is none of client_to_server, server_to_client, both, embedded",
    ),
    "no reason": (
        {"directions": {**DIRECTIONS, "orders/place": {"direction": "both"}}},
        "directions/orders~1place: must be { direction =",
    ),
    "a direction of nothing": (
        {"directions": {**DIRECTIONS, "orders/eat": DIRECTIONS["orders/place"]}},
        "directions/orders~1eat: the extension has no message of that method",
    ),
    "a result of an unknown request": (
        {"results": {"tools/eat": "OrderedResult"}},
        f"results/tools~1eat: {REVISION} has no request of that name",
    ),
    "a result of a notification": (
        {"results": {"notifications/progress": "OrderedResult"}},
        f"results/notifications~1progress: {REVISION} has no request of that name",
    ),
    "a result of the revision": (
        {"results": {"tools/call": "CallToolResult"}},
        "results/tools~1call: the extension has no type CallToolResult",
    ),
    "a result without a tag": (
        {"results": {"tools/call": "Order"}},
        "results/tools~1call: Order has no constant resultType",
    ),
    "the tag of another result": (
        {"results": {"tools/call": "PlaceOrderResult"}},
        "results/tools~1call: another result of tools/call has the resultType 'complete' as well",
    ),
    "settings of no type": ({"settings": "Nothing"}, "settings: the extension has no type Nothing"),
    "a filter of an unknown message": (
        {"filters": {"subscriptions/hear": "OrderFilter"}},
        f"filters/subscriptions~1hear: {REVISION} has no method of that name",
    ),
    "a filter of no type": (
        {"filters": {"subscriptions/listen": "Nothing"}},
        "filters/subscriptions~1listen: the extension has no type Nothing",
    ),
    "a header of another method": (
        {"headers": {"tools/call": "name"}},
        "headers/tools~1call: the extension has no message of that method with params",
    ),
    "a header of no property": (
        {"headers": {"orders/place": "number"}},
        "headers/orders~1place: its params have no property 'number'",
    ),
    "types only, without messages": (
        {"text": "export interface A { a: 1 }", "types_only": "x"}
        | {key: {} for key in ("results", "filters", "headers", "directions")}
        | {"settings": "A"},
        "types_only: the extension has no messages",
    ),
    "an unknown key": ({"colour": "red"}, "colour: unknown key; the keys are revision, schema, "),
    "a row of the wrong type": ({"results": {"tools/call": 1}}, "results/tools~1call: must be a non-empty string"),
    "a table of the wrong type": ({"results": "x"}, "results: must be a table with one row per method"),
}


class TestBadInput:
    @pytest.mark.parametrize("name", BAD)
    def test_it_is_refused_in_one_line(self, name: str) -> None:
        changes, message = BAD[name]
        with pytest.raises(InputError) as caught:
            orders(**changes)
        errors = [str(error) for error in caught.value.diagnostics.errors]
        assert message in errors[0] and "\n" not in errors[0]
        assert len(errors) == 1

    def test_the_table_names_another_revision(self) -> None:
        table = read_table(ID, {**ROWS, "revision": "2025-11-25"}, "pyproject.toml")
        source = SourceText(name="orders.ts", kind=SourceKind.TYPESCRIPT, data=ORDERS.encode())
        with pytest.raises(InputError, match=f"{ID} extends 2025-11-25, not {REVISION}"):
            extend(table, REVISION, source, Diagnostics())

    def test_a_schema_json_is_not_enough(self) -> None:
        source = SourceText(name="orders.json", kind=SourceKind.JSON_SCHEMA, data=b"{}")
        with pytest.raises(InputError, match=r"a schema\.json does not say what is imported"):
            extend(read_table(ID, ROWS, "pyproject.toml"), REVISION, source, Diagnostics())

    def test_an_unknown_extension(self) -> None:
        with pytest.raises(InputError, match=f"com.acme/x: no such extension; the shipped ones are {TASKS}, {UI}"):
            load_extension("com.acme/x")
