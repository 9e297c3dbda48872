"""Checks single messages of one revision: methods and directions, types, and the rules beyond the schema."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.connection.inbound import check_gated
from mcp_runtime.core.connection.requester import Answers, Requester
from mcp_runtime.core.connection.results import Results
from mcp_runtime.core.errors import LocalProtocolError, RemoteProtocolError, clipped
from mcp_runtime.core.features import RELATED, related_task
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import AnyMethod, Direction, RequestMethod, WireType
from mcp_runtime.core.options import Limits
from mcp_runtime.core.protocol.capabilities import is_open
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import Failure
from mcp_runtime.core.protocol.names import (
    COMPLETION_COMPLETE,
    ELICITATION_CREATE,
    MISSING_CAPABILITY,
    ROOTS_LIST,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_RESULT,
    TOOLS_CALL,
    UNSUPPORTED_VERSION,
)
from mcp_runtime.core.protocol.rules import ARRIVING, Broken, broken_error, broken_inputs
from mcp_runtime.core.protocol.validation import Reader, faults
from mcp_runtime.extensions.tasks.states import Status

_SENDS: Final[Mapping[Direction, frozenset[Side]]] = {
    Direction.CLIENT_TO_SERVER: frozenset((Side.CLIENT,)),
    Direction.SERVER_TO_CLIENT: frozenset((Side.SERVER,)),
    Direction.BOTH: frozenset(Side),
    Direction.EMBEDDED: frozenset(),
}
_MODES: Final[tuple[str, str]] = ("client.elicitation.form", "client.elicitation.url")
"""The capabilities for the two modes of elicitation."""
_NOTHING: Final[Mapping[str, Any]] = {}
_OF_EARLIER: Final = frozenset((-32002, -32042))
"""Error codes of the legacy era that the modern era does not have (2026-07-28, basic/index, "Error Codes")."""
_RESERVED: Final = range(-32099, -32019)
"""Error codes whose meaning is defined by the specification only (the same section)."""
_ERROR_DATA: Final[Mapping[int, str]] = {MISSING_CAPABILITY: "requiredCapabilities", UNSUPPORTED_VERSION: "supported"}
"""Maps error codes of the modern era to the property of their data that the receiver needs in order to continue."""


class Judge:
    """Checks messages of one revision, each one separately. Locations are JSON pointers in the whole message.

    Args:
        binding: the revision.
    """

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self._results = Results(_ignore, Limits(strict=True))
        reader = Reader(binding.revision)
        self._base = Requester(Side.SERVER, reader, Answers()).speaking(binding, None, reader)

    @cached_property
    def has_outputs(self) -> bool:
        """Whether tools of the revision have output schemas (since 2025-06-18)."""
        method = self.request(TOOLS_CALL)
        fields = getattr(method.result.load(), "__pydantic_fields__", ()) if method is not None else ()
        return "structured_content" in fields

    def requester(self, receiver: Side, declared: Mapping[Side, Mapping[str, Any]]) -> Requester:
        """Return what a receiver knows of a sender, once both have declared their capabilities."""
        return self._base._replace(side=receiver).declaring(declared[receiver], declared[receiver.other])

    def method(self, name: str) -> AnyMethod | None:
        """Return the record of a method; None if the revision has none of that name."""
        return self.binding.methods.get(name)

    def may_be_asked(self, capabilities: Mapping[str, Any]) -> frozenset[str]:
        """Return the methods and modes of elicitation that results may ask of a client with these capabilities."""
        declared = {Side.CLIENT: capabilities, Side.SERVER: _NOTHING}
        embedded = [method for method in self.binding.methods.values() if method.direction is Direction.EMBEDDED]
        return frozenset(
            [m.name for m in embedded if not m.capability or is_open(m.capability, Side.SERVER, declared)]
            + [mode for mode in _MODES if is_open(mode, Side.SERVER, declared)]
        )

    def call(self, message: Mapping[str, Any], sender: Side | None = None) -> list[Broken]:
        """Check a request or a notification.

        Args:
            message: the message, which `jsonrpc.classify` accepts.
            sender: the side that sent it; None if unknown.
        """
        name: str = message["method"]
        method = self.method(name)
        if method is None:
            return self.unknown(name)
        is_request = isinstance(method, RequestMethod)
        if is_request != ("id" in message):
            reason = "is a request, which needs an id" if is_request else "is a notification, which has no id"
            return [Broken("" if is_request else "/id", f"{name} {reason}")]
        if method.direction is Direction.EMBEDDED:
            return [Broken("/method", f"{name} may only be sent inside results")]
        if sender is not None and sender not in _SENDS[method.direction]:
            return [Broken("/method", f"a {sender} must not send {name}")]
        return self._params(method, message)

    def _params(self, method: AnyMethod, message: Mapping[str, Any]) -> list[Broken]:
        given: Any = message.get("params")
        if given is None and "params" in message:
            return [Broken("/params", "null is not an object: omit it, or send {}")]
        if method.params is None or (given is None and not method.params_required):
            return []
        if given is None:
            return [Broken("", f"{method.name} needs params")]
        found = faults(method.params, given)
        if not found and method.name in ARRIVING and (broken := ARRIVING[method.name](given)) is not None:
            found = [broken]
        return _below("/params", found)

    def result(
        self, method: RequestMethod[Any, Any], result: dict[str, Any], *, wants_task: bool = True
    ) -> list[Broken]:
        """Check the result of a request.

        Args:
            method: the method of the request.
            result: the result.
            wants_task: whether the request may have become a task.
        """
        try:
            types = self._types(method, result)
        except LocalProtocolError as error:
            return [Broken(f"/result{error.pointer}", error.reason)]
        # The only other result of the legacy era is the task that a request became (2025-11-25).
        is_task = not method.results and wants_task and "task" in result
        type_ = types[-1] if is_task else types[0]
        if found := faults(type_, result):
            return _below("/result", found)
        asks = type_ is not method.result and method.multi_round_trip
        if asks and not result.keys() & {"inputRequests", "requestState"}:
            return [Broken("/result", "has neither inputRequests nor requestState")]
        broken = _RESULTS[method.name](result) if method.name in _RESULTS else broken_inputs(result)
        return [] if broken is None else _below("/result", [broken])

    def _types(self, method: RequestMethod[Any, Any], result: dict[str, Any]) -> tuple[WireType[Any], ...]:
        tag = result.get(self.binding.result_tag)
        if method.results and tag is not None and not isinstance(tag, str):
            pointer = f"/{self.binding.result_tag}"
            raise LocalProtocolError(
                revision=self.binding.revision, method=method.name, pointer=pointer, reason="must be a string"
            )
        return self._results.sent(method, result, self._base)

    def failure(self, failure: Failure) -> list[Broken]:
        """Check an error response."""
        code = failure.code
        if self.binding.era == "modern" and (
            code in _OF_EARLIER or (code in _RESERVED and code not in self.binding.errors)
        ):
            return [Broken("/error/code", f"unknown error code {code}")]
        needed = _ERROR_DATA.get(code) if self.binding.era == "modern" else None
        if needed and not (is_object(failure.data) and needed in failure.data):
            return [Broken("/error/data", f"error {code} needs {needed}")]
        broken = broken_error(code, failure.data)
        return [] if broken is None else _below("/error/data", [broken])

    def request(self, name: str) -> RequestMethod[Any, Any] | None:
        """Return the record of a request; None if the revision has none of that name."""
        found = self.method(name)
        return found if isinstance(found, RequestMethod) else None

    @staticmethod
    def unknown(name: str) -> list[Broken]:
        """Report that the revision does not have a method."""
        return [Broken("/method", f"no such method: {clipped(name, 100)}")]

    def any_result(self, result: dict[str, Any]) -> tuple[list[Broken], str]:
        """Check a result whose request is unknown; return what is wrong, and the best matching type."""
        methods = [
            method
            for method in self.binding.methods.values()
            if isinstance(method, RequestMethod) and method.direction is not Direction.EMBEDDED
        ]
        judged = [(self.result(method, result), method) for method in methods]
        fitting = [method.result for broken, method in judged if not broken]
        if fitting:
            return [], max(fitting, key=lambda type_: len(_required(type_))).name
        every = set(judged[0][0]).intersection(*(broken for broken, _ in judged))
        return sorted(every) or [Broken("/result", "no request has such a result")], ""


def _too_many(result: Mapping[str, Any]) -> Broken | None:
    """Check a completion (server/utilities/completion): the schema states the limit in prose only."""
    values = result["completion"]["values"]
    return Broken("/completion/values", f"at most {MAX_VALUES} values") if len(values) > MAX_VALUES else None


def _not_files(result: Mapping[str, Any]) -> Broken | None:
    """Check a list of roots (client/roots)."""
    for index, root in enumerate(result["roots"]):
        if not root["uri"].startswith("file://"):
            return Broken(f"/roots/{index}/uri", "a root must be a file URI (file:///path)")
    return None


def _not_related(result: Mapping[str, Any]) -> Broken | None:
    """Check the result of a task (2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages")."""
    meta: Any = result.get("_meta")
    is_named = is_object(meta) and related_task(meta) is not None
    return None if is_named else Broken("/_meta", f"it must name its task, as {RELATED}")


def _not_cancelled(result: Mapping[str, Any]) -> Broken | None:
    """Check the answer to a cancellation (2025-11-25, basic/utilities/tasks, "Task Cancellation")."""
    if result["status"] == Status.CANCELLED:
        return None
    return Broken("/status", "a cancelled task must have the status cancelled")


MAX_VALUES: Final = 100
"""The maximum number of completion values."""
_RESULTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Broken | None]]] = {
    COMPLETION_COMPLETE: _too_many,
    ROOTS_LIST: _not_files,
    TASKS_CANCEL: _not_cancelled,
    TASKS_RESULT: _not_related,
}
"""Maps methods to checks of their typed results beyond the schema."""


def undeclared(method: AnyMethod, message: Mapping[str, Any], requester: Requester) -> Broken | None:
    """Check that what a message needs was declared.

    Args:
        method: its method.
        message: the message.
        requester: what its receiver knows of its sender.
    """
    if method.capability and method.name not in requester.may_receive:
        return Broken("/method", f"needs the capability {method.capability}, which was not declared")
    params: Any = message.get("params")
    if method.name == ELICITATION_CREATE and is_object(params):
        binding = requester.binding
        mode = mode_of(params)
        if binding is not None and _has_modes(binding) and not requester.is_open(mode, Side.SERVER):
            return Broken("/params/mode", f"needs the capability {mode}, which was not declared")
    if (
        is_object(params)
        and "task" in params
        and requester.binding is not None
        and TASKS_GET in requester.binding.methods
    ):
        needed = f"{requester.side}.tasks.requests.{method.name.replace('/', '.')}"
        if not requester.is_open(needed, requester.side.other):
            return Broken("/params/task", f"needs the capability {needed}, which was not declared")
    if method.gated and is_object(params):
        try:
            check_gated(method, params, requester)
        except RemoteProtocolError as error:
            return Broken(f"/params{error.pointer}", error.reason)
    return None


def mode_of(params: Mapping[str, Any]) -> str:
    """Return the capability that an elicitation needs: forms by default, or pages."""
    return _MODES[1 if params.get("mode") == "url" else 0]


def _has_modes(binding: Binding) -> bool:
    """Whether clients of the revision declare modes of elicitation."""
    return any(method.capability == _MODES[1] for method in binding.methods.values())


def _below(place: str, found: list[Broken]) -> list[Broken]:
    return [Broken(place + pointer, reason) for pointer, reason in found]


def _required(type_: WireType[Any]) -> list[str]:
    loaded = type_.load()
    fields: Mapping[str, Any] = getattr(loaded, "__pydantic_fields__", {})
    return [name for name, field in fields.items() if field.is_required()]


def _ignore(_: object) -> None:
    """Ignore a report: a strict reader repairs nothing."""
