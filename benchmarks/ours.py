"""Our side of the codec cases: from the bytes of a whole message to models, and back."""

from collections.abc import Callable
from typing import Any

import messages
import receiving

from mcp_bindings import v2025_11_25 as bindings
from mcp_runtime.method import RequestMethod, WireType
from mcp_runtime.protocol.jsonrpc import Failure, Result, classify, parse, write_request, write_result
from mcp_runtime.protocol.validation import Reader


def result_type(method: str) -> WireType[Any]:
    spec = bindings.METHODS[method]
    assert isinstance(spec, RequestMethod)
    return spec.result


def params_type(method: str) -> WireType[Any]:
    found = bindings.METHODS[method].params
    assert found is not None
    return found


def decode(name: str, text: bytes) -> Callable[[], object]:
    """Read a message with only the calls that a conversation makes for it."""
    reader = Reader(bindings.BINDING.revision, lenient=True, report=print)
    asked = messages.RESULTS[name][0] if name in messages.RESULTS else ""

    def decode_one() -> object:
        message = classify(parse(text))
        if isinstance(message, Result):
            return reader.read(result_type(asked), message.result, asked)
        assert not isinstance(message, Failure)
        type_ = bindings.METHODS[message.method].params
        return None if type_ is None else reader.read(type_, message.params or {}, message.method)

    return decode_one


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
