"""The peer's side of the codec cases: mcp 2.3.0, by the calls that its sessions make for each message.

The only file that depends on the peer. It is imported dynamically, since the project's own environment does not have
it.

Reading, on the server (mcp/server/stdio.py, mcp/server/runner.py): the envelope by `jsonrpc_message_adapter`, then
`validate_client_request` or `validate_client_notification`, then the params model. Reading, on the client
(mcp/client/stdio.py, mcp/client/session.py): the envelope, then `validate_server_result` and the result model, or
`parse_server_notification`. Writing a request (session.py, jsonrpc_dispatcher.py): dump the model, put the
envelope around it, dump to JSON. Writing a result (runner.py): dump the model, `serialize_server_result`,
envelope, dump to JSON. Left out on purpose: streams, tasks, contexts, spans and timeouts.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import messages

types: Any = import_module("mcp_types")
methods: Any = import_module("mcp_types.methods")

PARAMS = {
    "initialize": types.InitializeRequestParams,
    "tools/call": types.CallToolRequestParams,
    "ping": types.RequestParams,
}
RESULTS = {
    "initialize": types.InitializeResult,
    "tools/list": types.ListToolsResult,
    "tools/call": types.CallToolResult,
}
REQUESTS = {"tools/call": types.CallToolRequest}


def decode_request(data: bytes) -> Callable[[], object]:
    def decode() -> object:
        message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        methods.validate_client_request(message.method, messages.REVISION, message.params)
        return PARAMS[message.method].model_validate(message.params or {}, by_name=False)

    return decode


def decode_notification(data: bytes) -> Callable[[], object]:
    def decode() -> object:
        message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        return methods.parse_server_notification(message.method, messages.REVISION, message.params)

    return decode


def decode_result(data: bytes, method: str) -> Callable[[], object]:
    def decode() -> object:
        message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        methods.validate_server_result(method, messages.REVISION, message.result)
        return RESULTS[method].model_validate(message.result, by_name=False)

    return decode


def encode_request(document: dict[str, Any]) -> Callable[[], object]:
    request = REQUESTS[document["method"]].model_validate(
        {"method": document["method"], "params": document["params"]}, by_name=False
    )

    def encode() -> object:
        data = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        message = types.JSONRPCRequest(
            jsonrpc="2.0", id=messages.ID, method=data["method"], params=dict(data["params"])
        )
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()

    return encode


def encode_result(method: str, document: dict[str, Any]) -> Callable[[], object]:
    result = RESULTS[method].model_validate(document, by_name=False)

    def encode() -> object:
        data = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        shaped = methods.serialize_server_result(method, messages.REVISION, data)
        message = types.JSONRPCResponse(jsonrpc="2.0", id=messages.ID, result=shaped)
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()

    return encode


def decoder(name: str, data: bytes) -> Callable[[], object]:
    if name in messages.RESULTS:
        return decode_result(data, messages.RESULTS[name][0])
    return decode_request(data) if "id" in messages.DOCUMENTS[name] else decode_notification(data)


def cases() -> dict[str, Callable[[], object]]:
    return {
        **{case: decoder(name, text) for case, (name, text) in messages.TEXTS.items()},
        "encode:call-request": encode_request(messages.DOCUMENTS["call-request"]),
        **{f"encode:{name}": encode_result(method, result) for name, (method, result) in messages.RESULTS.items()},
    }
