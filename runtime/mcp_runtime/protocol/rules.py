"""What the specification requires of messages beyond their schemas, for every way in and out."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from orjson import loads

from mcp_runtime.protocol.binary import ADVICE, may_hold_binary, wrong_binary
from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.names import ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE
from mcp_runtime.protocol.places import spell_pointer
from mcp_runtime.protocol.text import clipped
from mcp_runtime.protocol.tool_uses import unbalanced

URL_REQUIRED: Final = -32042
"""The error code of a request that needs the user to visit a web page first."""


class Broken(NamedTuple):
    """Where a message breaks a rule, as a JSON pointer, and how."""

    pointer: str
    reason: str


Judge: TypeAlias = Callable[[Any, bytes], Broken | None]
"""Checks an outgoing value, as an object and as encoded."""


def _url(params: Any) -> Broken | None:
    """Check a URL that the user is to open, in the params of an elicitation keyed by wire names."""
    if not is_object(params) or params.get("mode") != "url" or not isinstance(params.get("url"), str):
        return None
    from mcp_runtime.protocol.urls import inspect_url  # Few programs send users to web pages.

    try:
        inspect_url(params["url"])
    except ValueError as error:
        return Broken("/url", str(error))
    return None


def _binary(value: Any, _: bytes) -> Broken | None:
    path = wrong_binary(value)
    return None if path is None else Broken(spell_pointer(tuple(path)), ADVICE)


def _tools(params: Any) -> Broken | None:
    """Check the tool uses and tool results in the params of sampling, keyed by wire names."""
    messages = params.get("messages") if is_object(params) else None
    found = unbalanced(messages) if is_array(messages) else None
    return None if found is None else Broken(f"/messages/{found[0]}", found[1])


ARRIVING: Final[Mapping[str, Callable[[Any], Broken | None]]] = {
    ELICITATION_CREATE: _url,
    SAMPLING_CREATE_MESSAGE: _tools,
}
"""Maps methods to checks of their params, keyed by wire names, before a handler gets them."""
LEAVING: Final[Mapping[str, Judge]] = {
    ELICITATION_CREATE: lambda _, written: _url(loads(written)),
    SAMPLING_CREATE_MESSAGE: lambda params, written: _binary(params, written) or _tools(loads(written)),
}
"""Maps methods to checks of their outgoing params, as objects and as encoded."""


def judge_of(kind: type[Any]) -> Judge | None:
    """Return the check for outgoing results of a class; None if there is none."""
    if may_hold_binary(kind):
        return _binary
    return _inputs if "input_requests" in getattr(kind, "model_fields", ()) else None


def _inputs(_: Any, written: bytes) -> Broken | None:
    return broken_inputs(loads(written))


def broken_inputs(result: Mapping[str, Any]) -> Broken | None:
    """Check the requests in a result, keyed by wire names, that asks for input (2026-07-28, basic/patterns/mrtr)."""
    requests = result.get("inputRequests")
    for key, request in requests.items() if is_object(requests) else ():
        method: Any = request.get("method") if is_object(request) else None
        judge = ARRIVING.get(method) if isinstance(method, str) else None
        if judge is not None and (broken := judge(request.get("params"))) is not None:
            place = spell_pointer(("inputRequests", clipped(key, 64), "params"))
            return Broken(f"{place}{broken.pointer}", broken.reason)
    return None


def broken_error(code: int, data: Any) -> Broken | None:
    """Check an outgoing error: one that sends users to web pages must have safe URLs."""
    elicitations = data.get("elicitations") if code == URL_REQUIRED and is_object(data) else None
    if not is_array(elicitations):
        return None
    for index, params in enumerate(elicitations):
        if (broken := _url(params)) is not None:
            return Broken(f"/elicitations/{index}{broken.pointer}", broken.reason)
    return None
