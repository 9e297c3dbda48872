"""Our side of the codec cases: from the bytes of a whole message to models, and back."""

from collections.abc import Callable
from typing import Any

import messages
import receiving

from mcp_bindings import v2025_11_25 as bindings
from mcp_runtime.core.method import RequestMethod, WireType
from mcp_runtime.core.protocol.jsonrpc import classify, parse, write_request, write_result
from mcp_runtime.core.protocol.validation import Reader


def result_type(method: str) -> WireType[Any]:
    spec = bindings.METHODS[method]
    assert isinstance(spec, RequestMethod)
    return spec.result


def params_type(method: str) -> WireType[Any]:
    found = bindings.METHODS[method].params
    assert found is not None
    return found


def decode(name: str, text: bytes) -> Callable[[], object]:
    """Read a message with only the calls that a conversation makes for it.

    Like the peer's cases, it knows whether the message is a result.
    """
    reader = Reader(bindings.BINDING.revision, lenient=True, report=print)
    read, methods = reader.read, bindings.METHODS

    def decode_call() -> object:
        message: Any = classify(parse(text))
        method, params = methods[message.method], message.params
        # As in `connection/params.py`: absent params, as those of a ping, need no model.
        if method.params is None or (params is None and not method.params_required):
            return None
        return read(method.params, params or {}, method.name)

    if name not in messages.RESULTS:
        return decode_call
    asked = messages.RESULTS[name][0]
    type_ = result_type(asked)

    def decode_result() -> object:
        message: Any = classify(parse(text))
        return read(type_, message.result, asked)

    return decode_result


def encode_request(name: str) -> Callable[[], object]:
    """Write a request as `Outbound` and `Session` do: the params by their type, the envelope around their bytes."""
    document = messages.DOCUMENTS[name]
    type_ = params_type(document["method"]).compile()
    encode, params = type_.encode, type_.validate(document["params"])
    return lambda: write_request(messages.ID, document["method"], encode(params))


def encode_result(name: str) -> Callable[[], object]:
    """Write an answer as `Outbound` and `Session` do: the result by its type, the envelope around its bytes."""
    type_ = result_type(messages.RESULTS[name][0]).compile()
    encode, result = type_.encode, type_.validate(messages.RESULTS[name][1])
    return lambda: write_result(messages.ID, encode(result))


def cases() -> dict[str, Callable[[], object]]:
    return {
        **{case: decode(name, text) for case, (name, text) in messages.TEXTS.items() if case.startswith("decode:")},
        **receiving.cases(),
        "encode:call-request": encode_request("call-request"),
        **{f"encode:{name}": encode_result(name) for name in messages.RESULTS},
    }
