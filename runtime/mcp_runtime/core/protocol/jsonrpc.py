"""JSON-RPC 2.0 messages as MCP uses them, and their `_meta`: reading and writing.

Input must be I-JSON (RFC 7493), nested at most `json.text.MAX_DEPTH` deep: `json.text` reads it. Anything else is
refused here, before any model sees it.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

from pydantic_core import from_json, to_json

from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.json.text import MAX_VALUES, MIN_COUNTED, NotIJson, envelope_of, has_too_many_values, read
from mcp_runtime.core.json.values import is_object, spell_pointer
from mcp_runtime.core.protocol.names import SERVER_INFO, VERSION

Id: TypeAlias = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
_NO_META: Final[Mapping[str, Any]] = {}


class Fault(Exception):
    """What is wrong with something that the peer sent: raised where it is read, and an event of the session.

    Args:
        code: the JSON-RPC error code for it.
        reason: what is wrong, for people.
        id_: the id of the message, as far as it can be determined.
        method: the method of the message; None if unknown.
        pointer: the location in the message, as a JSON pointer.
        is_answer: whether it was meant as an answer; answers are not answered.
        is_unclear: whether its kind cannot be determined.
        is_message: whether it is a message at all.
        answer: the response to send; it may be empty.

    Attributes:
        failed: the `SentCall` whose answer it made unusable, or None.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        id_: Id | None = None,
        *,
        method: str | None = None,
        pointer: str = "/method",
        is_answer: bool = False,
        is_unclear: bool = False,
        is_message: bool = False,
        answer: bytes = b"",
    ) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.id = id_
        self.method = method
        self.pointer = pointer
        self.is_answer = is_answer
        self.is_unclear = is_unclear
        self.is_message = is_message
        self.answer = answer
        self.failed: Any = None

    def refuse(self) -> None:
        """Set the error response that it deserves, without an id if that is unknown; an answer gets none."""
        if not self.is_answer:
            self.answer = write_error(self.id, self.code, self.reason, null_id=False)


class Request:
    """A message that expects an answer."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id_: Id, method: str, params: dict[str, Any] | None) -> None:
        self.id = id_
        self.method = method
        self.params = params


class Notification:
    """A message that expects no answer."""

    __slots__ = ("method", "params")

    id: ClassVar[None] = None

    def __init__(self, method: str, params: dict[str, Any] | None) -> None:
        self.method = method
        self.params = params


class Result:
    """The answer to a request that succeeded; a session adds the `call` that it answers."""

    __slots__ = ("call", "id", "result")

    def __init__(self, id_: Id, result: dict[str, Any]) -> None:
        self.call: Any = None
        self.id = id_
        self.result = result


class Failure:
    """The answer to a request that failed; `id` is None if the peer could not determine the request's.

    A session adds the `call` that it answers.
    """

    __slots__ = ("call", "code", "data", "id", "message")

    def __init__(self, id_: Id | None, code: int, message: str, data: Any) -> None:
        self.call: Any = None
        self.id = id_
        self.code = code
        self.message = message
        self.data = data


Message: TypeAlias = Request | Notification | Result | Failure


def is_id(value: Any) -> bool:
    """Whether a parsed JSON value can be the id of a request."""
    return value.__class__ is int or value.__class__ is str


def meta_of(params: Any) -> Mapping[str, Any]:
    """Return the `_meta` of params as parsed; empty if it is missing or not an object."""
    meta: Any = params.get("_meta") if params.__class__ is dict else None
    return meta if meta.__class__ is dict else _NO_META


def named_in(params: Any) -> str:
    """Return the tool, the prompt or the URI that params name; empty if they name none."""
    name: Any = params.get("name", params.get("uri")) if params.__class__ is dict else None
    return name if name.__class__ is str else ""


def with_progress_token(params: bytes | None, token: int) -> bytes:
    """Set the progress token in the `_meta` of encoded params, replacing one that was passed on from elsewhere."""
    value: dict[str, Any] = from_json(params) if params else {}
    return dump({**value, "_meta": {**(value.get("_meta") or {}), "progressToken": token}})


def meta_pointer(name: str) -> str:
    """Return the location of a property of `_meta` in params, as a JSON pointer."""
    return spell_pointer(("_meta", name))


def stamp(info: Mapping[str, Any]) -> bytes:
    """Return the beginning of each result of a server as JSON, with the server's name."""
    return b'{"_meta":%b,' % dump({SERVER_INFO: info})


def stamped(result: bytes, stamp: bytes, tag: str) -> bytes:
    """Return a result with the server's name in its `_meta`, in addition to what is there.

    Args:
        result: the result as JSON.
        stamp: see `stamp`.
        tag: the property that marks it as complete, unless it is set already; empty to add none.
    """
    value: dict[str, Any] = json.loads(result)
    own: dict[str, Any] = json.loads(stamp[:-1] + b"}")["_meta"]
    given: Any = value.get("_meta")
    value["_meta"] = {**own, **given} if is_object(given) else own
    return dump({tag: "complete", **value} if tag else value)


def is_modern(value: Any) -> bool:
    """Whether a parsed message is a call of the modern era: one whose `_meta` names its sender's revision."""
    return value.__class__ is dict and VERSION in meta_of(value.get("params"))


def merged_meta(required: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a request: what each must carry, overridden by what is given for this one.

    A request may declare other capabilities than the ones before it, since it is independent; but its answer is read in
    the revision of the connection.

    Raises:
        LocalProtocolError: another revision is given.
    """
    spoken, named = required.get(VERSION), given.get(VERSION)
    if named is not None and spoken is not None and named != spoken:
        reason = f"{named} is not the revision in use; open a client of that revision, or omit this"
        raise LocalProtocolError(revision=spoken, method=None, pointer=meta_pointer(VERSION), reason=reason)
    return {**required, **given}


def parse(text: bytes) -> Any:
    """Parse JSON text in UTF-8.

    Raises:
        Fault: it is not I-JSON, or has more than `MAX_VALUES`.
    """
    if len(text) > MIN_COUNTED and has_too_many_values(text):
        raise unreadable(PARSE_ERROR, f"it has more than {MAX_VALUES:,} values", text)
    try:
        return read(text)
    except NotIJson as error:
        raise unreadable(PARSE_ERROR, str(error), text) from None


def unreadable(code: int, reason: str, text: bytes, end: bytes = b"") -> Fault:
    """Return the error for a text that cannot be read, with its id if it contains exactly one.

    Args:
        code: the JSON-RPC error code for it.
        reason: what is wrong, for people.
        text: the text, or the beginning of one that is too long to be kept.
        end: the end of one that is too long.
    """
    found = envelope_of(text, end)
    if found is None:
        return Fault(code, reason)
    return Fault(code, reason, found.id, is_answer=found.is_answer)


def classify(value: Any) -> Message:
    """Classify a parsed JSON value, and return the message.

    Raises:
        Fault: it is not a message.
    """
    if value.__class__ is not dict:
        raise Fault(INVALID_REQUEST, "a message must be an object")
    message: dict[str, Any] = value
    id_: Any = message.get("id")
    if id_.__class__ is not int and id_.__class__ is not str:
        id_ = None
    if message.get("jsonrpc") != "2.0":
        is_answer = "method" not in message and ("result" in message or "error" in message)
        raise Fault(INVALID_REQUEST, '"jsonrpc" must be "2.0"', id_, is_answer=is_answer)
    method: Any = message.get("method")
    if method is None:
        result: Any = message.get("result")
        if result.__class__ is dict and id_ is not None and "error" not in message:
            return Result(id_, result)
        return _failure(message, id_)
    params: Any = message.get("params")
    # Many peers send null for absent params; validation reports it if params are required.
    has_valid_params = params.__class__ is dict or params is None
    if has_valid_params and method.__class__ is str and "result" not in message and "error" not in message:
        if id_ is not None:
            return Request(id_, method, params)
        if "id" not in message:
            return Notification(method, params)
    raise Fault(INVALID_REQUEST, _why_no_call(message, has_valid_params), id_)


def _why_no_call(message: dict[str, Any], has_valid_params: bool) -> str:
    """Return why a message with a method is neither a request nor a notification."""
    if message["method"].__class__ is not str:
        return '"method" must be a string'
    if "result" in message or "error" in message:
        return "a message must be a call or an answer, not both"
    if not has_valid_params:
        return '"params" must be an object'
    return '"id" must be a string or an integer'


def _failure(message: dict[str, Any], id_: Any) -> Failure:
    """Return the error in an answer that has no valid result.

    Raises:
        Fault: it has no valid error either.
    """
    has_result, has_error = "result" in message, "error" in message
    if has_result == has_error:
        reason = 'a message has "method", or one of "result" and "error"'
        raise Fault(INVALID_REQUEST, reason, id_, is_answer=has_result, is_unclear=not has_result)
    if has_result:
        reason = '"id" must be a string or an integer' if id_ is None else '"result" must be an object'
        raise Fault(INVALID_REQUEST, reason, id_, is_answer=True)
    details = message["error"] if is_object(message["error"]) else {}
    code, text = details.get("code"), details.get("message")
    if type(code) is not int or not isinstance(text, str):
        reason = '"error" must be an object with an integer "code" and a string "message"'
        raise Fault(INVALID_REQUEST, reason, id_, is_answer=True)
    return Failure(id_, code, text, details.get("data"))


def write_request(id_: Id, method: str, params: bytes | None) -> bytes:
    """Encode a request whose params are already JSON."""
    name = _NAMES.get(method) or _quoted(method)
    if params is None:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (_id(id_), name)
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (_id(id_), name, params)


def write_notification(method: str, params: bytes | None) -> bytes:
    """Encode a notification whose params are already JSON."""
    tail = b"}" if params is None else b',"params":%b}' % params
    return b'{"jsonrpc":"2.0","method":%b%b' % (_NAMES.get(method) or _quoted(method), tail)


def write_result(id_: Id, result: bytes) -> bytes:
    """Encode an answer whose result is already JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_id(id_), result)


def write_error(id_: Id | None, code: int, message: str, data: Any = None, *, null_id: bool = True) -> bytes:
    """Encode an error response; if the id of the request is unknown, it is null or absent."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    if id_ is None and not null_id:
        return b'{"jsonrpc":"2.0","error":%b}' % to_json(error)
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (b"null" if id_ is None else _id(id_), to_json(error))


def dump(value: Mapping[str, Any]) -> bytes:
    """Encode any JSON object."""
    return to_json(value)


def _id(id_: Id) -> bytes:
    return b"%d" % id_ if type(id_) is int else to_json(id_)


def _quoted(method: str) -> bytes:
    found = to_json(method)
    if len(_NAMES) < _MAX_NAMES:
        _NAMES[method] = found
    return found


_NAMES: dict[str, bytes] = {}
"""Methods as JSON strings: there are few, and each is sent many times."""
_MAX_NAMES = 1000
