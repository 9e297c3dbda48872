"""Our side of the codec cases: from the bytes of a whole message to models, and back."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, NotRequired, TypeVar

import messages
from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import from_json
from typing_extensions import TypedDict

from mcp_bindings import v2025_11_25 as bindings
from mcp_runtime.method import RequestMethod, WireType

R = TypeVar("R")


@with_config(ConfigDict(strict=True, extra="allow"))
class Question(TypedDict, Generic[R]):
    """The envelope of a request or a notification of a known method."""

    jsonrpc: Literal["2.0"]
    id: NotRequired[int | str]
    method: str
    params: NotRequired[R]


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


def params_type(method: str) -> WireType[Any]:
    found = bindings.METHODS[method].params
    assert found is not None
    return found


def one_pass(name: str, document: dict[str, Any]) -> Callable[[], object]:
    """Decode a message whose type is known: envelope and content at once."""
    data = messages.WIRE[name]
    # At run time a subscript takes any object; a checker only takes a type that it knows.
    envelope: Any
    if name in messages.RESULTS:
        envelope, content = Answer, result_type(messages.RESULTS[name][0])
    else:
        envelope, content = Question, params_type(document["method"])
    adapter: TypeAdapter[Any] = TypeAdapter(envelope[content.load()])
    return partial(adapter.validator.validate_json, data)


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
    encode = params_type(document["method"]).compile().encode
    params = params_type(document["method"]).validate(document["params"])
    frame = b'{"jsonrpc":"2.0","id":%%d,"method":"%b","params":%%b}' % document["method"].encode()
    return lambda: frame % (messages.ID, encode(params))


def encode_result(name: str) -> Callable[[], object]:
    """Write an answer: one serializer pass over the result, the envelope around its bytes."""
    type_ = result_type(messages.RESULTS[name][0]).compile()
    encode, result = type_.encode, type_.validate(messages.RESULTS[name][1])
    return lambda: b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (messages.ID, encode(result))


def cases() -> dict[str, Callable[[], object]]:
    return {
        **{f"decode:{name}": one_pass(name, document) for name, document in messages.DOCUMENTS.items()},
        **{f"lookup:{name}": two_pass(name) for name in messages.DOCUMENTS},
        "encode:call-request": encode_request("call-request"),
        **{f"encode:{name}": encode_result(name) for name in messages.RESULTS},
    }
