"""The possible results of a request, and the encoding of what handlers return."""

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, TypeAlias, TypeVar

from pydantic import ValidationError

from mcp_runtime.core.connection.calls import Call
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.timers import Times
from mcp_runtime.core.errors import LocalProtocolError, RemoteProtocolError, clipped
from mcp_runtime.core.json.binary import LONG, PLAIN, content_lists, has_long_binary
from mcp_runtime.core.json.text import strict_writer, write_long
from mcp_runtime.core.method import AnyMethod, AnyRequest, RequestMethod, WireType, typed_wire
from mcp_runtime.core.model import WireModel
from mcp_runtime.core.options import CacheHint, CallOptions, Limits
from mcp_runtime.core.protocol.jsonrpc import dump, stamped
from mcp_runtime.core.protocol.rules import ARRIVING, broken_inputs, judge_of
from mcp_runtime.core.protocol.validation import Reader

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interrupted(Generic[P, R]):
    """A request that was answered, but not yet with its usual result.

    Attributes:
        method: its record in the method table.
        params: its params.
        options: the options of the call.
        rounds: how many requests of the call were answered before this one, without those that `Repeat` sent.
        repeats: how many requests `Repeat` has sent in a row.
        ends: when the timeout of the call ends, by the event loop's clock; None if it has none.
        again: sends the request again with other params, under another id, and returns its usual result.
    """

    method: RequestMethod[P, R]
    params: P | None
    options: CallOptions
    rounds: int
    repeats: int
    ends: float | None
    again: Callable[[P], Coroutine[Any, Any, R]]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Returned instead of the usual result to send the request again; a call may do so any number of times.

    Attributes:
        params: the params to send.
        wait: waits before that, within the timeout of the call.
    """

    params: Any
    wait: Callable[[], Coroutine[Any, Any, None]]


Resume: TypeAlias = Callable[[Any, Interrupted[Any, Any]], Coroutine[Any, Any, Any]]
"""Continues from a result that is not the usual one, and returns the usual one, or a `Repeat`."""


_NOTHING: Final[frozenset[tuple[str, str]]] = frozenset()
_NUMBER: Final = (int, float)


@dataclass(frozen=True, slots=True)
class Interim:
    """A result that is not the usual one, and what continues from it.

    Attributes:
        result: the result.
        resume: continues from it.
        times: the timeout of the request, which goes on; None if it had none, or if none runs in the meantime.
        ends: when that timeout ends, whether or not it goes on.
    """

    result: Any
    resume: Resume
    times: Times | None
    ends: float | None


class Results:
    """The results that requests over one connection may get, including those of extensions.

    Args:
        report: called once for each property that was absent.
        limits: whether properties for which the specification has a default must be there all the same (`strict`), and
            whether results of this side are checked (`check_sent`).
    """

    __slots__ = ("_accepted", "_checks_sent", "_report", "_reported", "is_strict")

    def __init__(self, report: Callable[[RemoteProtocolError], None], limits: Limits) -> None:
        self._report, self.is_strict, self._checks_sent = report, limits.strict, limits.check_sent
        self._reported = _NOTHING
        self._accepted: dict[tuple[str, str], tuple[WireType[Any], Resume]] = {}

    def accept(
        self,
        method: RequestMethod[P, R],
        value: str,
        type_: type[T] | WireType[T],
        resume: Callable[[T, Interrupted[P, R]], Coroutine[Any, Any, R]],
    ) -> None:
        """Accept a result of an extension, or one that the revision has besides the usual one.

        Args:
            method: the method of the request.
            value: its result type: the value of the property that distinguishes results (``resultType``).
            type_: the type of the result: a pydantic model, or a type of a generated package.
            resume: receives it and the call, and returns the usual result; no timeout runs in the meantime if it is a
                result of an extension.

        Raises:
            ValueError: the results of the method have no result type, or the usual result has this one.
        """
        if not method.results:
            raise ValueError(f"the results of {method.name} have no result type in this revision")
        if method.results.get(value) is method.result:
            raise ValueError(f"{value!r} is the usual result of {method.name}")
        wire_type = type_ if isinstance(type_, WireType) else typed_wire(type_)
        self._accepted[method.name, value] = wire_type, resume

    def sent(self, method: AnyRequest, result: Mapping[str, Any], requester: Requester) -> tuple[WireType[Any], ...]:
        """Return the types that a result of this side may have; a single one if it names its type.

        Raises:
            LocalProtocolError: its result type is unknown.
        """
        if not method.results:
            return (method.result, *method.alternatives)
        value = result.get(requester.result_tag)
        type_ = self._types(method).get(value, None if value is not None else method.result)
        if type_ is None:
            raise LocalProtocolError(**self._unknown(method, value, requester))
        return (type_,)

    def type_of(
        self, method: AnyRequest, found: Mapping[str, Any], requester: Requester
    ) -> tuple[WireType[Any], Resume | None]:
        """Return the type of a result by its result type, and what continues from it; None for the usual result.

        Raises:
            RemoteProtocolError: its result type is unknown, nothing continues from it, or what it asks for must not
                reach a handler.
        """
        value = found.get(requester.result_tag)
        # To a lenient reader, a result without a type is the usual one; a strict reader reports it as missing.
        if value is None or (isinstance(value, str) and method.results.get(value) is method.result):
            return method.result, None
        type_ = self._types(method).get(value) if isinstance(value, str) else None
        if type_ is None:
            raise RemoteProtocolError(**self._unknown(method, value, requester))
        if (method.name, value) not in self._accepted:
            raise RemoteProtocolError(**_place(method, requester), reason=f"a {value} result is not supported here")
        if (broken := broken_inputs(found)) is not None:
            raise RemoteProtocolError(revision=requester.revision, method=method.name, **broken._asdict())
        return self._accepted[method.name, str(value)]

    def accepted(self, method: AnyRequest) -> dict[str, WireType[Any]]:
        """Return the types of results that were accepted for a method, by result type."""
        return {value: type_ for (name, value), (type_, _) in self._accepted.items() if name == method.name}

    def encode(self, method: AnyRequest, result: Any, requester: Requester) -> bytes:
        """Encode what a handler returned.

        Raises:
            LocalProtocolError: the protocol does not allow it, and `Limits.check_sent` is set.
            WrongResult: it does not match any result type of the method, or a number in it is not finite.
        """
        hint = requester.answers.hints.get(method.name) if requester.answers.stamp else None
        if hint is not None:
            result = hinted(result, hint)
        encoded = write_result(method, result, self.accepted)
        if requester.wire is not None:
            if hint is not None:  # although its own revision has no property for that
                encoded = dump({"ttlMs": hint.milliseconds, "cacheScope": hint.scope, **json.loads(encoded)})
            encoded = requester.wire.outgoing(method, "result", encoded)
        if requester.answers.stamp:
            encoded = with_server_info(encoded, result, requester)
        if self._checks_sent:
            check_sent(self.sent(method, json.loads(encoded), requester), encoded, method, "result", requester)
        return encoded

    def _types(self, method: AnyRequest) -> dict[Any, WireType[Any]]:
        return {**method.results, **self.accepted(method)}

    def _unknown(self, method: AnyRequest, value: object, requester: Requester) -> dict[str, str]:
        reason = f"the result is {clipped(repr(value), 100)}, which is none of those known here: "
        return {**_place(method, requester), "reason": reason + ", ".join(self._types(method))}

    def completed(
        self, type_: WireType[Any], found: dict[str, Any], method: str, requester: Requester
    ) -> dict[str, Any]:
        """Return a result with the defaults of the specification for properties that are absent.

        A negative number counts as absent (2026-07-28, server/utilities/caching).
        """
        # Compiling the type determines its fields.
        missing: dict[str, Any] = {}
        if not type_.is_compiled:
            type_.compile()
        for wire, default in type_.assumed:
            value = found.get(wire)
            if value is None or (isinstance(value, _NUMBER) and value < 0):
                missing[wire] = default
        if not missing:
            return found
        for wire, default in missing.items():
            if (method, wire) not in self._reported:
                self._reported |= {(method, wire)}
                reason = f"it is absent or below zero, and was taken as {default!r}"
                self._report(
                    RemoteProtocolError(revision=requester.revision, method=method, pointer=f"/{wire}", reason=reason)
                )
        return {**found, **missing}


def _place(method: AnyRequest, requester: Requester) -> dict[str, str]:
    return {"revision": requester.revision, "method": method.name, "pointer": f"/{requester.result_tag}"}


def check_sent(
    types: tuple[WireType[Any], ...], encoded: bytes, sent: AnyMethod, part: str, requester: Requester
) -> None:
    """Validate an outgoing part as a strict peer would, for `Limits.check_sent`.

    Args:
        types: one of them must accept it.
        encoded: the encoded part.
        sent: the method that it belongs to.
        part: ``params`` or ``result``.
        requester: what is known of the peer.

    Raises:
        LocalProtocolError: no type accepts it.
    """
    method = sent.name
    if requester.wire is not None:
        types = requester.wire.types(sent, part)
    reader, first = Reader(requester.revision), None
    for type_ in types:
        try:
            reader.read(type_, json.loads(encoded), method)
        except RemoteProtocolError as error:
            first = first or error
        else:
            return
    assert first is not None
    raise LocalProtocolError(revision=first.revision, method=method, pointer=first.pointer, reason=first.reason)


def params_of(method: AnyMethod, received: Call) -> Any:
    """Return the typed params of a message; None if it has none.

    Raises:
        RemoteProtocolError: they are not valid.
    """
    params, requester = received.reply.message.params, received.requester
    if method.params is None or (params is None and not method.params_required):
        return None
    given, wire = params or {}, requester.wire
    if wire is not None:
        given = wire.incoming(method, "params", given, received.text, requester.reader)
    found = read(method.params, given, method, requester)
    if method.name in ARRIVING and (broken := ARRIVING[method.name](given)) is not None:
        raise RemoteProtocolError(revision=requester.revision, method=method.name, **broken._asdict())
    return found


def read(type_: WireType[T], value: dict[str, Any], method: AnyMethod, requester: Requester) -> T:
    """Return a part of a received message as its type, like `Reader.read`, whose work is only needed if it is wrong."""
    try:
        return type_.validate(value)
    except ValidationError as error:
        return requester.reader.repaired(type_, value, method.name, error)


class WrongResult(Exception):
    """A handler returned something that is not a valid result; the text continues from the handler's name."""


More: TypeAlias = Callable[[AnyRequest], Mapping[str, WireType[Any]]]
"""Returns the result types of extensions for a method."""


def write_result(method: AnyRequest, result: object, more: More | None = None) -> bytes:
    """Encode what the handler of a method returned.

    Args:
        method: the method.
        result: an object of one of its result types, a value that validates as its usual one, or another pydantic
            model, which is written as it is.
        more: returns the result types of extensions.

    Raises:
        WrongResult: it matches none of them, a number in it is not finite, or it breaks a rule beyond the schema.
    """
    write = method.writers.get(type(result)) or _writer(method, result, more)
    try:
        return write(result)
    except ValueError as error:
        raise WrongResult(f"returned a value that JSON cannot express: {error}") from None


def with_server_info(encoded: bytes, result: Any, requester: Requester) -> bytes:
    """Return a result with this server's name in its `_meta` (2026-07-28, basic/index).

    Args:
        encoded: the encoded result.
        result: what it was encoded from: usually a model whose `_meta` is absent, so that nothing is parsed.
        requester: the recipient; its answers have a stamp.
    """
    stamp = requester.answers.stamp
    if _has_meta(result.__class__) and getattr(result, "meta", None) is None:
        return stamp + encoded[1:]
    tag = requester.result_tag if isinstance(result, dict) else ""
    return stamped(encoded, stamp, tag)


@lru_cache(maxsize=256)
def _has_meta(kind: type[Any]) -> bool:
    """Whether instances of a class have their `_meta` in the field of that name."""
    field = kind.__pydantic_fields__.get("meta") if issubclass(kind, WireModel) else None
    return field is not None and field.alias == "_meta"


def hinted(result: Any, hint: CacheHint) -> Any:
    """Return a result with the caching hint, unless its author set one."""
    if not isinstance(result, WireModel):
        return result
    hints = {"ttl_ms": hint.milliseconds, "cache_scope": hint.scope}
    fields = result.__pydantic_fields__
    missing = {n: v for n, v in hints.items() if n in fields and n not in result.model_fields_set}
    return result.model_copy(update=missing) if missing else result


def _writer(method: AnyRequest, result: Any, more: More | None) -> Callable[[Any], bytes]:
    kind: type[Any] = result.__class__
    serializer: Any = getattr(kind, "__pydantic_serializer__", None)
    of_extensions = more(method).values() if more else ()
    expected = [type_.load() for type_ in (method.result, *method.alternatives, *of_extensions)]
    classes = tuple(one for one in expected if isinstance(one, type))
    if serializer is None:
        try:
            value = method.result.validate(result)
        except ValidationError:
            pass
        else:
            write_valid = _judged(value.__class__, method.result.encode)
            return lambda _: write_valid(value)
    elif method.payload or not issubclass(kind, WireModel) or issubclass(kind, classes):
        to_json: Callable[[Any], bytes] = serializer.to_json

        writer = _judged(kind, strict_writer(to_json))
        if not of_extensions:  # Extensions belong to one connection, the method is shared by all.
            method.writers[kind] = writer
        return writer
    names = " or ".join(str(getattr(one, "__name__", one)) for one in expected)
    raise WrongResult(f"returned {clipped(repr(result), 60)} ({kind.__name__}), not {names}")


def _judged(kind: type[Any], write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return a writer for results of a class that refuses those that break a rule beyond the schema."""
    judge = judge_of(kind)
    if judge is None:
        return write

    lists = content_lists(kind)
    serializer: Any = getattr(kind, "__pydantic_serializer__", None)

    def write_judged(value: Any) -> bytes:
        # Most results contain only text, and need no further check.
        is_plain, is_long = bool(lists), False
        for name in lists:
            for block in getattr(value, name, None) or ():
                if type(block) not in PLAIN:
                    is_plain, is_long = False, is_long or has_long_binary(block)
                elif isinstance(text := getattr(block, "text", None), str) and len(text) > LONG:
                    is_long = True
        written = write_long(serializer, value) if is_long else write(value)
        if is_plain:
            return written
        if (broken := judge(value, written)) is not None:
            raise WrongResult(f"returned a result with an error at {broken.pointer}: {broken.reason}")
        return written

    return write_judged
