"""Rules for outgoing messages that no schema states: tool results in sampling, URLs to open, binary data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from unicodedata import normalize
from urllib.parse import SplitResult, urlsplit

from orjson import loads

from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.binary import ADVICE, may_hold_binary, wrong_binary
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer
from mcp_runtime.core.protocol.names import ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE


def unbalanced(messages: Sequence[Any]) -> tuple[int, str] | None:
    """Return the first message in which tool uses and results do not match, and why; None if all do.

    A message with tool results contains nothing else and comes from the user. A message that uses tools comes from the
    assistant, and the next one has exactly one result for each use.

    Args:
        messages: keyed by wire names; those of revisions before 2025-11-25 have no tools.
    """
    open_uses: Sequence[str] = ()
    for number, message in enumerate(messages):
        blocks, role = _blocks(message), message.get("role") if is_object(message) else None
        results = [block for block in blocks if block.get("type") == "tool_result"]
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if results and (len(results) < len(blocks) or role != "user"):
            return number, "tool results must be in a user message with nothing else in it"
        if uses and role != "assistant":
            return number, "only the assistant may use tools"
        answered = [str(result.get("toolUseId")) for result in results]
        if sorted(answered) != sorted(open_uses):
            missing = "a tool use has no result in the next message"
            extra = "a tool result does not belong to a tool use in the previous message"
            return number, missing if set(open_uses) - set(answered) else extra
        open_uses = [str(use.get("id")) for use in uses]
        if len(set(open_uses)) < len(open_uses):
            return number, "two tool uses have the same id"
    return (len(messages) - 1, "a tool use has no result in the next message") if open_uses else None


def _blocks(message: Any) -> list[Mapping[str, Any]]:
    content: Any = message.get("content") if is_object(message) else None
    return [block for block in (content if is_array(content) else [content]) if is_object(block)]


URL_REQUIRED: Final = -32042
"""The error code of a request that needs the user to visit a web page first."""


class Broken(NamedTuple):
    """Where a message breaks a rule, as a JSON pointer, and how."""

    pointer: str
    reason: str


MAX_URL: Final = 8192
"""The maximum length of a URL in characters."""


def check_url(url: str) -> SplitResult:
    """Check a URL that a user is asked to open, and return its parts ("Safe URL Handling").

    Args:
        url: the URL.

    Raises:
        ValueError: it is not the URL of a web page, or contains a user name or characters that could disguise the
            target.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("not a URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("not the URL of a web page (https://host/...)")
    if (
        len(url) > MAX_URL
        or parts.username is not None
        or "%" in normalize("NFKC", host)
        or "\\" in url
        or any(map(str.isspace, url))
    ):
        raise ValueError("the URL could disguise its target")
    if not url.isprintable():
        raise ValueError("the URL contains characters that cannot be shown")
    return parts


Judge: TypeAlias = Callable[[Any, bytes], Broken | None]
"""Checks an outgoing value, as an object and as encoded."""


def _url(params: Any) -> Broken | None:
    """Check a URL that the user is to open, in the params of an elicitation keyed by wire names."""
    if not is_object(params) or params.get("mode") != "url" or not isinstance(params.get("url"), str):
        return None
    try:
        check_url(params["url"])
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
    """Return the check for outgoing results of a class, or None."""
    if may_hold_binary(kind):
        return _binary
    return _inputs if "input_requests" in getattr(kind, "__pydantic_fields__", ()) else None


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
