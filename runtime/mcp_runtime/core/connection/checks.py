"""Params and results of messages, read and checked; lists item by item; and the errors for exceptions of handlers."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar, get_origin

from pydantic import BaseModel

from mcp_runtime.core import errors
from mcp_runtime.core.connection.calls import Call
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.results import Results, Resume, WrongResult, read
from mcp_runtime.core.errors import MissingCapability, PeerError, RemoteProtocolError, Unusable, clipped
from mcp_runtime.core.json.text import finite
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.method import AnyMethod, AnyRequest, Direction, MethodTable, RequestMethod, WireType
from mcp_runtime.core.model import Page
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.capabilities import declarer, put
from mcp_runtime.core.protocol.jsonrpc import Result, parse
from mcp_runtime.core.protocol.names import MISSING_CAPABILITY
from mcp_runtime.core.protocol.rules import broken_error

T = TypeVar("T")
_META: Final = {"meta"}


class RequestMeta:
    """The `_meta` of the requests that carry nothing else in it.

    Args:
        required: what every request must carry, keyed by wire names.
        type_: the generated type of it, a pydantic model.

    Attributes:
        required: what every request must carry, keyed by wire names.
        model: the same as a model, which requests share: nobody may change it.
    """

    def __init__(self, required: Mapping[str, Any], type_: Any) -> None:
        self.required = required
        self.model = type_.model_validate(dict(required))
        self._start = b'{"_meta":%b,' % finite(self.model.__pydantic_serializer__.to_json(self.model))

    def encode(self, params: Any) -> bytes:
        """Encode params that share the model.

        Raises:
            ValueError: a number in them is not finite.
        """
        rest = finite(params.__pydantic_serializer__.to_json(params, exclude=_META))
        return self._start + rest[1:] if len(rest) > len(b"{}") else self._start[:-1] + b"}"

    def detached(self, params: Any) -> Any:
        """Return the same params with a `_meta` of their own, for code that may change it."""
        is_shared = getattr(params, "meta", None) is self.model
        return params.model_copy(update={"meta": copy(self.model)}) if is_shared else params


def read_result(
    results: Results,
    requester: Requester,
    method: AnyRequest,
    found: dict[str, Any],
    text: bytes,
    *,
    type_: WireType[Any] | None = None,
) -> tuple[Any, Resume | None, bool]:
    """Return a result of the peer as the expected type, or as another that the method has.

    Args:
        results: the results that are known here.
        requester: the peer.
        method: the method of the request.
        found: the result by wire names; a bridge takes ownership of it.
        text: the message that contains it.
        type_: the expected type; by default that of the method.

    Returns:
        The result, what continues from it, and whether an extension does; None and False for the usual result.

    Raises:
        RemoteProtocolError: it is not valid, or of a type that is unknown here.
    """
    expected = type_ = type_ or method.result
    wire, resume, is_extension = requester.wire, None, False
    spoken: Any = method if wire is None else wire.spoken(method)
    if spoken.results and requester.result_tag and type_ is method.result:
        type_, resume = results.type_of(spoken, found, requester)
        is_extension = resume is not None and all(type_ is not known for known in spoken.results.values())
        if not results.is_strict:
            found = results.completed(type_, found, method.name, requester)
    if wire is not None and resume is None:
        found, type_ = wire.incoming(method, "result", found, text, requester.reader), expected
    return read(type_, found, method, requester), resume, is_extension


def check_capabilities(method: AnyMethod, params: Any, requester: Requester) -> None:
    """Check the capabilities that an outgoing message needs.

    Args:
        method: the method of the message.
        params: its params; None if it has none.
        requester: the recipient.

    Raises:
        MissingCapability: one of them was not declared.
        LocalProtocolError: the revision in use has no such message.
    """
    if requester.wire is not None:
        requester.wire.check(method)
    if method.capability and method.name not in requester.may_send:
        raise requester.lacks(method.name, method.capability)
    if method.gated and params is not None:
        for attribute, member, path in _gated(method, params.__class__):
            if getattr(params, attribute) is not None and not requester.is_open(path, requester.side):
                raise requester.lacks(f"{member} of {method.name}", path)


@lru_cache(maxsize=256)
def _gated(method: AnyMethod, params: type[BaseModel]) -> tuple[tuple[str, str, str], ...]:
    """Return the attribute, the property and the capability for each property that needs one."""
    return tuple(
        (attribute, wire_name, method.gated[wire_name])
        for attribute, field in params.__pydantic_fields__.items()
        if (wire_name := field.alias or attribute) in method.gated
    )


def is_embedded(method: AnyMethod, requester: Requester) -> bool:
    """Whether a request is sent in the result of another one, in the negotiated revision."""
    sent = method if requester.wire is None else requester.wire.binding.methods.get(method.name)
    return sent is not None and sent.direction is Direction.EMBEDDED


def carrier(exchange: Call | None, method: AnyMethod, requester: Requester) -> Call:
    """Return the request whose result may carry another one.

    Args:
        exchange: what is being handled; None if nothing is.
        method: the method of the question.
        requester: the client to ask.

    Raises:
        LocalProtocolError: there is no such request.
    """
    # A message of another client is handled for another requester.
    outlives = requester.answers.questions.outlive_requests
    is_able = exchange is not None and (exchange.is_open or exchange.is_suspended or outlives)
    if exchange is None or not is_able or exchange.requester is not requester:
        raise requester.forbids(method, "a server can only ask its client while it handles a request, and none is open")
    methods: MethodTable = requester.spoken.methods if requester.spoken else {}
    carrying = methods.get(exchange.method.name)
    if not (isinstance(carrying, RequestMethod) and carrying.multi_round_trip):
        able = " or ".join(
            sorted(m.name for m in methods.values() if isinstance(m, RequestMethod) and m.multi_round_trip)
        )
        raise requester.forbids(method, f"the result of {exchange.name} cannot ask for input; that of {able} can")
    return exchange


UNAVAILABLE: Final = "this method is not available here"
_RESOURCE_NOT_FOUND: Final = -32002
"""The error code for it in the legacy era."""
Log: TypeAlias = Callable[..., None]
"""Writes a line to the log: a level, a text with placeholders, their values; with `exc_info`, a traceback."""


def refusal(error: BaseException, method: str, requester: Requester, log: Log) -> PeerError:
    """Return the error for the peer, and log it; the text of an error that was not meant for the peer is not sent.

    Args:
        error: the exception of the handler.
        method: the method of the request.
        requester: what is known of the peer.
        log: writes to the log.
    """
    error = _judged(error)
    if isinstance(error, PeerError) and not error.is_from_peer:
        return _allowed(error, method, requester, log) if requester.is_modern else _older(error, method, requester)
    if isinstance(error, errors.MethodNotImplemented):
        return PeerError(jsonrpc.METHOD_NOT_FOUND, UNAVAILABLE, {"method": error.method})
    if isinstance(error, MissingCapability) and _is_of_peer(error, requester):
        text = "%s needs the capability %s, %s"
        log(logging.WARNING, text, method, " and ".join(error.capabilities), error.because)
        return _missing(error, requester)
    if isinstance(error, asyncio.CancelledError):
        log(logging.ERROR, "the handler of %s was cancelled from within", method)
    elif isinstance(error, WrongResult):
        log(logging.ERROR, "the handler of %s %s", method, error)
    elif isinstance(error, MissingCapability | errors.AuthorError):
        log(logging.ERROR, "the handler of %s failed: %s", method, error)
    else:
        log(logging.ERROR, "the handler of %s failed", method, exc_info=error)
    return PeerError(jsonrpc.INTERNAL_ERROR, "internal error")


def _allowed(error: PeerError, method: str, requester: Requester, log: Log) -> PeerError:
    """Return an error with a code of the modern era; codes outside of -32000 to -32099 belong to the application.

    What is missing is an invalid param there; other codes of earlier revisions and implementations become internal
    errors (2026-07-28, basic/index, "Error Codes").
    """
    code = error.code
    if code == _RESOURCE_NOT_FOUND:
        return PeerError(jsonrpc.INVALID_PARAMS, error.message, error.data)
    if -32099 <= code <= -32000 and (requester.spoken is None or code not in requester.spoken.errors):
        text = "the handler of %s raised error %d, which %s does not have"
        log(logging.ERROR, text, method, code, requester.revision)
        return PeerError(jsonrpc.INTERNAL_ERROR, error.message, error.data)
    return error


def _older(error: PeerError, method: str, requester: Requester) -> PeerError:
    """Return an error as a legacy-era peer expects it."""
    if requester.wire is None:
        return error
    return PeerError(requester.wire.outgoing_code(error.code, method, error.data), error.message, error.data)


def _judged(error: BaseException) -> BaseException:
    """Return a handler's exception, or the error for one that would show a user something unsafe."""
    broken = broken_error(error.code, error.data) if isinstance(error, PeerError) else None
    return (
        error if broken is None else WrongResult(f"raised an error that is wrong at {broken.pointer}: {broken.reason}")
    )


def _is_of_peer(error: MissingCapability, requester: Requester) -> bool:
    """Whether the peer that sent the request lacks it, rather than one that the handler called in turn."""
    peer = requester.side.other
    return bool(error.capability) and declarer(error.capability, requester.side) is peer


def _missing(error: MissingCapability, requester: Requester) -> PeerError:
    needed: dict[str, Any] = {}
    for path in error.capabilities:
        put(needed, path.partition(".")[2])
    data = {"requiredCapabilities": needed}
    code = MISSING_CAPABILITY if requester.is_modern else jsonrpc.INVALID_REQUEST
    return PeerError(code, str(error), data)


MAX_UNUSABLE: Final = 500
"""How many invalid items of a page are named one by one; what remains of the list then counts as one."""
_NAMES: Final = ("name", "uri", "uriTemplate", "title")
"""The properties that identify an item, the first choice first."""


def read_items(
    method: AnyRequest,
    error: RemoteProtocolError,
    read: Callable[[dict[str, Any]], tuple[T, Any, Any]],
    report: Callable[[RemoteProtocolError], None],
    *,
    strict: bool = False,
) -> T | None:
    """Return a page without its invalid items; None if it is not a page, or if more than items is wrong.

    Halves of its list are read, down to single items, so that few invalid items cost few readings. Content blocks,
    sampling messages and params are not such lists: one invalid item there refuses the message.

    Args:
        method: the method of the request.
        error: why the result is not valid, with the result.
        read: reads a result as `read_result` does, and may change it; raises `RemoteProtocolError`.
        report: called with each invalid item, or with the error.
        strict: whether an invalid item makes the page invalid.
    """
    name = _list_of(method) if method.paginated and not strict else ""
    page: dict[str, Any] = error.raw if is_object(error.raw) else {}
    items: Any = page.get(name)
    if not is_array(items):
        report(error)
        return None
    # What surrounds the items is read with each of them, and must be neither large nor wrong.
    around = {key: value for key, value in page.items() if not isinstance(value, dict | list)}
    usable: list[Any] = []
    unusable: list[Unusable] = []
    try:
        read({**around, name: []})
        for start, size in _parts(items, lambda part: read({**around, name: deepcopy(part)}), unusable, f"/{name}/"):
            usable += items[start : start + size]
        found, *_ = read({**page, name: deepcopy(usable)})
    except RemoteProtocolError:
        report(error)
        return None
    if isinstance(found, Page):
        object.__setattr__(found, "__pydantic_private__", {"unusable": tuple(unusable)})
    for item in unusable:
        reason = f"an item of the list is left out: {clipped(item.reason)}"
        report(RemoteProtocolError(revision=error.revision, method=error.method, pointer=item.pointer, reason=reason))
    return found


def received(text: bytes, result: Result) -> Any:
    """Return a result as it was received, alone or in a batch; bridges change what was parsed before."""
    message: Any = parse(text)
    for each in message if is_array(message) else (message,):
        if is_object(each) and each.get("id") == result.call.id and "result" in each:
            return each["result"]
    return result.result


def _list_of(method: AnyRequest) -> str:
    """Return the property of a paginated result that has the items."""
    fields = method.result.compile().load().__pydantic_fields__
    return next((str(field.alias) for field in fields.values() if get_origin(field.annotation) is list), "")


def _parts(
    items: Sequence[Any], read: Callable[[list[Any]], Any], unusable: list[Unusable], where: str
) -> Iterator[tuple[int, int]]:
    """Iterate over the parts of a list that can be read, by their first index and length."""
    waiting = [(0, len(items))]
    while waiting:
        start, size = waiting.pop()
        try:
            read(list(items[start : start + size]))
        except RemoteProtocolError as error:
            if size > 1 and len(unusable) < MAX_UNUSABLE:
                half = size // 2
                waiting += [(start + half, size - half), (start, half)]
                continue
            reason = f"this and {size - 1:,} more: too many items are not valid"
            if size == 1:  # the item was read as the first of its list
                reason = f"{error.pointer}: {error.reason}".replace(f"{where}0", "").removeprefix(": ")
            unusable.append(Unusable(pointer=f"{where}{start}", name=name_of(items[start]), reason=reason))
        else:
            yield start, size


def name_of(item: object) -> str:
    """Return what identifies an item of a list; empty if nothing does."""
    found = (item.get(name) for name in _NAMES) if is_object(item) else ()
    return next((name for name in found if isinstance(name, str)), "")
