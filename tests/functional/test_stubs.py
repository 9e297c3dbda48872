"""The generated stubs, over a double that carries every message as JSON bytes."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from functional.bindings import methods_of, package, public, python_name, request_meta, sample
from functional.double import Double
from mcp_bindgen.ir.methods import RUNTIME_REQUESTS
from mcp_bindgen.load.protocol import load_released
from mcp_runtime.core.method import AnyMethod, Direction, Method, NotificationMethod, RequestMethod
from mcp_runtime.core.stub import CallOptions, Handlers
from support.samples import LEGACY, REVISIONS, TRANSCRIBED

CLIENT_STUBS_2025_11_25 = """
complete set_level ping get_prompt list_prompts iter_prompts list_resources iter_resources read_resource
subscribe list_resource_templates iter_resource_templates unsubscribe cancel_task get_task list_tasks iter_tasks
get_task_payload call_tool list_tools iter_tools notify_cancelled notify_initialized notify_progress
notify_roots_list_changed notify_task_status
""".split()
SERVER_STUBS_2025_11_25 = """
elicit ping list_roots create_message cancel_task get_task list_tasks iter_tasks get_task_payload notify_cancelled
notify_elicitation_complete notify_logging_message notify_progress notify_prompt_list_changed
notify_resource_list_changed notify_resource_updated notify_task_status notify_tool_list_changed
""".split()


def methods(kind: type[Method[Any]], *directions: Direction) -> list[Any]:
    """List the methods of one kind in all revisions, in any of the given directions."""
    return [
        pytest.param(revision, method, id=f"{revision}-{method.name}")
        for revision in REVISIONS
        for method in methods_of(revision).values()
        if isinstance(method, kind) and method.direction in directions and method.name not in RUNTIME_REQUESTS
    ]


TO_SERVER = (Direction.CLIENT_TO_SERVER, Direction.BOTH)
TO_CLIENT = (Direction.SERVER_TO_CLIENT, Direction.BOTH, Direction.EMBEDDED)


class Recorder:
    """Handlers that record their arguments and return the smallest valid result."""

    def __init__(self, base: type[Handlers], revision: str) -> None:
        self.calls: list[tuple[str, Any, Any]] = []
        table = methods_of(revision)
        body = {python: self._handler(revision, table[name]) for name, python in base.__handlers__.items()}
        self.handlers: Handlers = type("Recorded", (base,), body)()

    def _handler(self, revision: str, method: AnyMethod) -> Callable[..., Any]:
        async def handle(_self: object, params: Any, ctx: Any) -> Any:
            self.calls.append((method.name, params, ctx))
            if isinstance(method, RequestMethod):
                return method.result.validate(sample(revision, method.result.name))
            return None

        return handle


def recorded(revision: str) -> tuple[Double, Recorder, Recorder]:
    """Connect a client and a server that answer everything."""
    bindings = package(revision)
    server, client = Recorder(bindings.Server, revision), Recorder(bindings.ClientHandlers, revision)
    return Double(bindings, server.handlers, client.handlers, request_meta(revision)), server, client


def arguments(revision: str, method: Method[Any], stub: Callable[..., Any]) -> dict[str, Any]:
    """Make the smallest arguments with which a stub can be called."""
    if method.params is None or not method.params_required:
        return {}
    params = method.params.validate(sample(revision, method.params.name))
    given = {name: getattr(params, name) for name in params.model_fields_set if name != "meta"}
    parameters = inspect.signature(stub).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        given = {name: value for name, value in given.items() if name in parameters}
    return given


async def check_request(
    revision: str, method: RequestMethod[Any, Any], stubs: Any, answering: Recorder, sent: list[dict[str, Any]]
) -> None:
    stub = getattr(stubs, python_name(method))
    extra = {"result_type": package(revision).Result} if method.payload else {}
    result = await stub(**arguments(revision, method, stub), **extra)
    assert [name for name, _, _ in answering.calls] == [method.name]
    assert sent[-1]["method"] == method.name
    if method.payload:
        assert isinstance(result, package(revision).Result)
    else:
        assert method.result.encode(result) == method.result.encode(
            method.result.validate(sample(revision, method.result.name))
        )
        expected = method.result.load()
        assert not isinstance(expected, type) or isinstance(result, expected)
    _, params, context = answering.calls[0]
    if method.params is not None and method.params_required:
        assert method.params.decode(method.params.encode(params)) == params
    assert context.request_id == 0


class TestRequests:
    @pytest.mark.parametrize(("revision", "method"), methods(RequestMethod, *TO_SERVER))
    async def test_client_asks_server(self, revision: str, method: RequestMethod[Any, Any]) -> None:
        double, server, client = recorded(revision)
        await check_request(revision, method, double.client, server, double.client_end.sent)
        assert client.calls == []
        assert server.calls[0][2].client is double.connected

    @pytest.mark.parametrize(("revision", "method"), methods(RequestMethod, *TO_CLIENT))
    async def test_server_asks_client(self, revision: str, method: RequestMethod[Any, Any]) -> None:
        double, server, client = recorded(revision)
        await check_request(revision, method, double.connected, client, double.server_end.sent)
        assert server.calls == []
        assert client.calls[0][2].server is double.client

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_each_side_has_the_stubs_of_what_it_may_send(self, revision: str) -> None:
        bindings = package(revision)
        for stubs, tables in (
            (bindings.Client, ("CLIENT_REQUESTS", "CLIENT_NOTIFICATIONS")),
            (bindings.ConnectedClient, ("SERVER_REQUESTS", "EMBEDDED_REQUESTS", "SERVER_NOTIFICATIONS")),
        ):
            found: list[AnyMethod] = [m for table in tables for m in getattr(bindings.methods, table).values()]
            expected = {
                python_name(m) if isinstance(m, RequestMethod) else f"notify_{python_name(m)}"
                for m in found
                if m.name not in RUNTIME_REQUESTS
            }
            assert {name for name in public(stubs) if not name.startswith("iter_")} == expected

    @pytest.mark.parametrize(
        ("stubs", "expected"),
        [("Client", CLIENT_STUBS_2025_11_25), ("ConnectedClient", SERVER_STUBS_2025_11_25)],
    )
    def test_names_of_one_revision(self, stubs: str, expected: list[str]) -> None:
        assert sorted(public(getattr(package("2025-11-25"), stubs))) == sorted(expected)

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_handlers_cover_what_the_other_side_sends(self, revision: str) -> None:
        bindings = package(revision)
        answered = {
            bindings.Server: TO_SERVER,
            bindings.ClientHandlers: TO_CLIENT,
        }
        for handlers, directions in answered.items():
            expected = {
                m.name: python_name(m) if isinstance(m, RequestMethod) else f"on_{python_name(m)}"
                for m in methods_of(revision).values()
                if m.direction in directions and m.name not in RUNTIME_REQUESTS
            }
            assert dict(handlers.__handlers__) == expected
            assert all(inspect.iscoroutinefunction(getattr(handlers, name)) for name in expected.values())

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_questions_to_the_client_have_the_same_names_in_every_revision(self, revision: str) -> None:
        stubs = public(package(revision).ConnectedClient)
        asks = {"create_message", "list_roots", *(["elicit"] if revision >= "2025-06-18" else [])}
        assert asks <= stubs.keys()

    async def test_options_reach_the_caller_but_no_message(self) -> None:
        double, _, _ = recorded("2025-11-25")
        options = CallOptions(timeout=3.5)
        await double.client.ping(options=options)
        assert double.client_end.options is options
        assert double.client_end.sent[0]["params"] == {}

    async def test_omitted_arguments_are_absent_on_the_wire(self) -> None:
        double, _, _ = recorded("2025-11-25")
        await double.client.call_tool(name="x")
        await double.client.call_tool(name="x", arguments={"a": None})
        assert [frame["params"] for frame in double.client_end.sent] == [
            {"name": "x"},
            {"name": "x", "arguments": {"a": None}},
        ]


class TestNotifications:
    @pytest.mark.parametrize(("revision", "method"), methods(NotificationMethod, *TO_SERVER))
    async def test_client_notifies_server(self, revision: str, method: NotificationMethod[Any]) -> None:
        double, server, _ = recorded(revision)
        stub = getattr(double.client, f"notify_{python_name(method)}")
        assert await stub(**arguments(revision, method, stub)) is None
        assert [(name, context.request_id) for name, _, context in server.calls] == [(method.name, None)]
        assert "id" not in double.client_end.sent[0]

    @pytest.mark.parametrize(("revision", "method"), methods(NotificationMethod, *TO_CLIENT))
    async def test_server_notifies_client(self, revision: str, method: NotificationMethod[Any]) -> None:
        double, _, client = recorded(revision)
        stub = getattr(double.connected, f"notify_{python_name(method)}")
        assert await stub(**arguments(revision, method, stub)) is None
        assert [(name, context.request_id) for name, _, context in client.calls] == [(method.name, None)]

    @pytest.mark.parametrize("revision", REVISIONS)
    async def test_without_a_handler_a_notification_is_dropped(self, revision: str) -> None:
        bindings = package(revision)
        double = Double(bindings, bindings.Server())
        await double.connected.notify_tool_list_changed()
        assert double.server_end.sent[0]["method"] == "notifications/tools/list_changed"


class TestModern:
    def test_metadata_is_never_a_required_argument(self) -> None:
        for revision in REVISIONS:
            for stubs in (package(revision).Client, package(revision).ConnectedClient):
                for name, stub in public(stubs).items():
                    meta = inspect.signature(stub).parameters.get("meta")
                    assert meta is None or meta.default is None, f"{revision} {name}"

    async def test_the_caller_fills_it_in(self) -> None:
        double, server, _ = recorded("2026-07-28")
        await double.client.call_tool(name="x")
        stated = request_meta("2026-07-28")
        assert stated["io.modelcontextprotocol/protocolVersion"]
        assert double.client_end.sent[0]["params"]["_meta"] == stated
        assert type(server.calls[0][1].meta).__name__ == "RequestMetaObject"

    async def test_an_explicit_one_replaces_it(self) -> None:
        double, _, _ = recorded("2026-07-28")
        meta = package("2026-07-28").RequestMetaObject.model_validate(
            {**request_meta("2026-07-28"), "example.org/trace": "1"}
        )
        await double.client.list_tools(meta=meta)
        assert double.client_end.sent[0]["params"]["_meta"]["example.org/trace"] == "1"

    @pytest.mark.parametrize("revision", LEGACY)
    async def test_legacy_requests_carry_none(self, revision: str) -> None:
        double, _, _ = recorded(revision)
        await double.client.list_tools()
        assert "_meta" not in double.client_end.sent[0].get("params", {})


@pytest.mark.parametrize("revision", REVISIONS)
def test_stubs_can_be_introspected(revision: str) -> None:
    bindings = package(revision)
    for stubs in (bindings.Client, bindings.ConnectedClient, bindings.Server, bindings.ClientHandlers):
        for stub in filter(inspect.isfunction, public(stubs).values()):
            hints = get_type_hints(stub)
            signature = inspect.signature(stub, eval_str=True)
            assert signature.return_annotation == hints["return"] or hints["return"] is type(None)
    assert get_type_hints(bindings.Client.list_tools)["return"] is bindings.ListToolsResult


@pytest.mark.parametrize("revision", REVISIONS)
def test_stubs_describe_their_arguments(revision: str) -> None:
    bindings = package(revision)
    assert "Args:\n    name: Name of the tool" in (inspect.getdoc(bindings.Client.call_tool) or "")
    for stubs in (bindings.Client, bindings.ConnectedClient):
        for name, stub in public(stubs).items():
            if name.startswith("__") or not inspect.isfunction(stub):
                continue
            named = [p for p in inspect.signature(stub).parameters.values() if p.kind is p.KEYWORD_ONLY]
            missing = [p.name for p in named if f"    {p.name}: " not in (inspect.getdoc(stub) or "")]
            assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("revision", TRANSCRIBED)
def test_deprecated_methods_are_marked(revision: str) -> None:
    deprecated = {m.name for m in package(revision).METHODS.values() if m.deprecated}
    modern = {"roots/list", "sampling/createMessage", "notifications/message"}
    assert deprecated == (modern if revision == "2026-07-28" else set())
    for name in deprecated:
        handlers = package(revision).ClientHandlers
        handler = getattr(handlers, handlers.__handlers__[name])
        assert f"Deprecated in revision {revision}." in (handler.__doc__ or "")
        assert handler.__deprecated__ == f"Deprecated in revision {revision}."


@pytest.mark.parametrize("revision", REVISIONS)
def test_flags_are_those_of_the_protocol(revision: str) -> None:
    records = methods_of(revision)
    described = {method.name: method for method in load_released(revision).methods}
    assert list(records) == list(described)
    for name, record in records.items():
        method = described[name]
        assert isinstance(record, RequestMethod) is method.is_request
        assert (record.direction, record.params_required, record.deprecated) == (
            method.direction.value,
            method.params_required,
            method.deprecated,
        )
        assert record.params is None or record.params.name == method.params
        if isinstance(record, RequestMethod):
            for flag in ("paginated", "cacheable", "task_augmentable", "multi_round_trip", "payload"):
                assert getattr(record, flag) is getattr(method, flag)
            assert tuple(found.name for found in record.alternatives) == method.alternatives
