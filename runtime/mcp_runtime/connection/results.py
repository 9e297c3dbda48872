"""The possible results of a request: from 2026-07-28 on they name their type (basic/index, ResultType)."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from mcp_runtime.caller import CallOptions
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.vendor import typed_wire
from mcp_runtime.errors import LocalProtocolError, RemoteProtocolError
from mcp_runtime.method import RequestMethod, WireType
from mcp_runtime.protocol.rules import broken_inputs
from mcp_runtime.protocol.text import clipped

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[P, R]):
    """A request that was answered, but not yet with its usual result.

    Attributes:
        method: its record in the method table.
        params: its params.
        options: the options of the call; None if it had none.
        rounds: how many requests of the call were answered before this one.
        again: sends the request again with other params, under another id, and returns its usual result.
    """

    method: RequestMethod[P, R]
    params: P | None
    options: CallOptions | None
    rounds: int
    again: Callable[[P], Coroutine[Any, Any, R]]


Resume: TypeAlias = Callable[[Any, Call[Any, Any]], Coroutine[Any, Any, Any]]
"""Continues from a result that is not the usual one, and returns the usual one."""


_NOTHING: Final[frozenset[tuple[str, str]]] = frozenset()  # once, since each takes 200 bytes


@dataclass(frozen=True, slots=True)
class Interim:
    """A result that is not the usual one, and what continues from it."""

    result: Any
    resume: Resume


class Results:
    """The results that requests over one connection may get, including those of extensions.

    Args:
        report: called once for each property that was absent.
    """

    __slots__ = ("_accepted", "_report", "_reported")

    def __init__(self, report: Callable[[RemoteProtocolError], None]) -> None:
        self._report = report
        self._reported = _NOTHING
        self._accepted: dict[tuple[str, str], tuple[WireType[Any], Resume]] = {}

    def accept(
        self,
        method: RequestMethod[P, R],
        value: str,
        type_: type[T] | WireType[T],
        resume: Callable[[T, Call[P, R]], Coroutine[Any, Any, R]],
    ) -> None:
        """Accept a result of an extension, or one that the revision has besides the usual one.

        Args:
            method: the method of the request.
            value: its result type: the value of the property that distinguishes results (``resultType``).
            type_: the type of the result: a pydantic model, or a type of a generated package.
            resume: receives it and the call, and returns the usual result; no timeout runs in the meantime.

        Raises:
            ValueError: the results of the method have no result type, or the usual result has this one.
        """
        if not method.results:
            raise ValueError(f"the results of {method.name} have no result type in this revision")
        if method.results.get(value) is method.result:
            raise ValueError(f"{value!r} is the usual result of {method.name}")
        wire_type = type_ if isinstance(type_, WireType) else typed_wire(type_)
        self._accepted[method.name, value] = wire_type, resume

    def sent(
        self, method: RequestMethod[Any, Any], result: Mapping[str, Any], requester: Requester
    ) -> tuple[WireType[Any], ...]:
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

    def told(
        self, method: RequestMethod[Any, Any], found: Mapping[str, Any], requester: Requester
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
            reason = f"the result is {value}, which is not supported here"
            raise RemoteProtocolError(**_place(method, requester), reason=reason)
        if (broken := broken_inputs(found)) is not None:
            raise RemoteProtocolError(revision=requester.revision, method=method.name, **broken._asdict())
        return self._accepted[method.name, str(value)]

    def accepted(self, method: RequestMethod[Any, Any]) -> dict[str, WireType[Any]]:
        """Return the types of results that were accepted for a method, by result type."""
        return {value: type_ for (name, value), (type_, _) in self._accepted.items() if name == method.name}

    def _types(self, method: RequestMethod[Any, Any]) -> dict[Any, WireType[Any]]:
        return {**method.results, **self.accepted(method)}

    def _unknown(self, method: RequestMethod[Any, Any], value: object, requester: Requester) -> dict[str, str]:
        known = ", ".join(self._types(method))
        reason = f"the result is {clipped(repr(value), 100)}, which is none of those known here: {known}"
        return {**_place(method, requester), "reason": reason}

    def completed(
        self, type_: WireType[Any], found: dict[str, Any], method: str, requester: Requester
    ) -> dict[str, Any]:
        """Return a result with the defaults of the specification for properties that are absent.

        A negative number counts as absent (2026-07-28, server/utilities/caching).
        """
        # Compiling the type determines its fields.
        missing: dict[str, Any] = {}
        for wire, default in type_.compile().assumed:
            value = found.get(wire)
            if value.__class__ is not str and _is_absent(value):
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


def _place(method: RequestMethod[Any, Any], requester: Requester) -> dict[str, str]:
    return {"revision": requester.revision, "method": method.name, "pointer": f"/{requester.result_tag}"}


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and value < 0)
