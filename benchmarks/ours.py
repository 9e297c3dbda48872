"""Our side of the codec cases: from the bytes of a whole message to models, and back."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import messages
from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import from_json
from typing_extensions import TypedDict

from mcp_bindings import v2025_11_25 as bindings
from mcp_runtime.method import RequestMethod, WireType

R = TypeVar("R")


@with_config(ConfigDict(strict=True, extra="allow"))
class Answer(TypedDict, Generic[R]):
    """The envelope of an answer to a known request."""

    jsonrpc: Literal["2.0"]
    id: int | str
    result: R


def result_type(method: str) -> WireType[Any]:
    spec = bindings.METHODS[method]
    assert isinstance(spec, RequestMethod)
    return spec.result


def one_pass(name: str, document: dict[str, Any]) -> Callable[[], object]:
    """Decode a message whose type is known: envelope and content at once."""
    data = messages.WIRE[name]
    if name in messages.RESULTS:
        # At run time a subscript takes any object; a checker only takes a type that it knows.
        envelope: Any = Answer
        adapter: TypeAdapter[Any] = TypeAdapter(envelope[result_type(messages.RESULTS[name][0]).load()])
        return partial(adapter.validator.validate_json, data)
    message: WireType[Any] = WireType(bindings.__name__, bindings.METHODS[document["method"]].message)
    return partial(message.decode, data)


def two_pass(name: str) -> Callable[[], object]:
    """Decode a message that could be anything: parse it, look its method up, then validate."""
    data = messages.WIRE[name]
    pending = {messages.ID: result_type(messages.RESULTS[name][0])} if name in messages.RESULTS else {}

    def decode() -> object:
        message: dict[str, Any] = from_json(data)
        method = message.get("method")
        if method is None:
            return pending[message["id"]].validate(message["result"])
        params = bindings.METHODS[method].params
        return None if params is None else params.validate(message.get("params", {}))

    return decode


def encode_request(name: str) -> Callable[[], object]:
    """Write a request: one serializer pass over the params, the envelope around its bytes."""
    document = messages.DOCUMENTS[name]
    params_type = bindings.METHODS[document["method"]].params
    assert params_type is not None
    params = params_type.validate(document["params"])
    method = document["method"].encode()
    return lambda: b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}' % (
        messages.ID,
        method,
        params_type.encode(params),
    )


def encode_result(name: str) -> Callable[[], object]:
    """Write an answer: one serializer pass over the result, the envelope around its bytes."""
    type_ = result_type(messages.RESULTS[name][0])
    result = type_.validate(messages.RESULTS[name][1])
    return lambda: b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (messages.ID, type_.encode(result))


def cases() -> dict[str, Callable[[], object]]:
    return {
        **{f"decode:{name}": one_pass(name, document) for name, document in messages.DOCUMENTS.items()},
        **{f"lookup:{name}": two_pass(name) for name in messages.DOCUMENTS},
        "encode:call-request": encode_request("call-request"),
        **{f"encode:{name}": encode_result(name) for name in messages.RESULTS},
    }
