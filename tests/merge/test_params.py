"""`_meta` in inline params of the legacy revisions."""

import pytest

from mcp_bindgen.ir.nodes import Difference, Direction, Protocol, Struct
from mcp_bindgen.load.protocol import load_released
from support.samples import HANDSHAKE_TS, LEGACY, REVISIONS, json_source, load, typescript_source

_LISTS = {"PromptsRequest", "ResourceTemplatesRequest", "ResourcesRequest", "ToolsRequest"}
_TASKS = {"CancelTaskRequest", "GetTaskRequest", "GetTaskPayloadRequest"}


def params_meta(protocol: Protocol) -> list[Difference]:
    return [erratum for erratum in protocol.errata if erratum.rule == "params-meta"]


def members(protocol: Protocol, name: str) -> list[str]:
    struct = protocol.definitions[name]
    assert isinstance(struct, Struct)
    return [field.wire_name for field in struct.fields]


@pytest.mark.parametrize("revision", LEGACY)
def test_messages_that_override_their_params_get_meta(revision: str) -> None:
    """These are 17 or 18 messages of the specification; the four lists share the params of PaginatedRequest."""
    early = "CallTool Complete CreateMessage GetPrompt Initialize Paginated ReadResource SetLevel Subscribe Unsubscribe"
    expected = {f"{name}Request" for name in early.split()}
    expected |= {f"{name}Notification" for name in ("Cancelled", "LoggingMessage", "Progress", "ResourceUpdated")}
    if revision == "2025-06-18":
        expected.add("ElicitRequest")
    if revision == "2025-11-25":
        expected = _TASKS | {"ElicitationCompleteNotification"}
    found = params_meta(load_released(revision))
    assert {erratum.pointer for erratum in found} == {f"/{name}/properties/params" for name in expected}
    assert {erratum.contradiction for erratum in found} == {False}
    assert {erratum.right for erratum in found} == {"not declared"}


@pytest.mark.parametrize("revision", REVISIONS)
def test_all_params_have_meta(revision: str) -> None:
    protocol = load_released(revision)
    for method in protocol.methods:
        struct = protocol.definitions[method.params or ""]
        if isinstance(struct, Struct) and method.direction is not Direction.EMBEDDED:
            assert "_meta" in members(protocol, struct.name), struct.name


def test_the_modern_revision_is_left_alone() -> None:
    assert params_meta(load_released("2026-07-28")) == []


BASE = """
interface Request { method: string; params?: { _meta?: { token?: string }; [key: string]: unknown } }
interface PingRequest extends Request { method: "ping"; params: { a: string } }
interface PingResult {}
type ServerRequest = PingRequest;
"""


def test_the_meta_of_the_base_is_used() -> None:
    protocol, found = load(typescript_source(HANDSHAKE_TS + BASE))
    assert found == []
    assert members(protocol, "PingRequestParams") == ["_meta", "a"]
    struct = protocol.definitions["PingRequestParams"]
    assert isinstance(struct, Struct)
    assert struct.own == {"_meta", "a"}
    (erratum,) = params_meta(protocol)
    assert (erratum.pointer, erratum.left) == ("/PingRequest/properties/params", "_meta?: RequestParamsMeta")


def test_the_meta_that_all_other_params_share_is_used() -> None:
    text = """
    interface RequestParams { _meta?: { token?: string } }
    interface GetRequest { method: "get"; params: GetRequestParams }
    interface GetRequestParams extends RequestParams { b: string }
    interface GetResult {}
    interface PingRequest { method: "ping"; params: { a: string } }
    interface PingResult {}
    type ServerRequest = PingRequest | GetRequest;
    interface NoMessageRequest { params: { a: string } }
    """
    handshake = HANDSHAKE_TS.replace("interface InitializeRequestParams", "$& extends RequestParams").replace(
        "$&", "interface InitializeRequestParams"
    )
    protocol, found = load(typescript_source(handshake + text))
    assert found == []
    assert members(protocol, "PingRequestParams") == ["_meta", "a"]
    assert members(protocol, "NoMessageRequestParams") == ["a"]


@pytest.mark.parametrize(
    "other",
    [
        "interface Other { params: { x: string } }",
        "interface Other { deep: { params: { x: string } } }",
        "interface PingParams { params: { x: string } }",
        "type Other = { params: { x: string } }[];",
    ],
)
def test_a_property_named_params_elsewhere_is_left_alone(other: str) -> None:
    protocol, found = load(typescript_source(HANDSHAKE_TS + BASE + other))
    assert found == []
    assert len(params_meta(protocol)) == 1


def test_without_the_typescript_nothing_is_added() -> None:
    """The JSON alone does not say what a message overrides; docs/decisions/0001 has a table of such losses."""
    params = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = {
        "type": "object",
        "properties": {"method": {"const": "initialize"}, "params": params},
        "required": ["method"],
    }
    definitions = {"InitializeRequest": request, "InitializeResult": {"type": "object"}}
    protocol, _ = load(json_source({**definitions, "ClientRequest": {"$ref": "#/$defs/InitializeRequest"}}))
    assert params_meta(protocol) == []
