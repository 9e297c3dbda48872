"""One conversation in a revision other than the implementation's: the layer between session and types."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json, to_json

from mcp_runtime.bridge.convert import PARAMS, Converter, Report
from mcp_runtime.bridge.eras import NEEDLESS, legacy_code, modern_code, said_in, with_meta, without_meta
from mcp_runtime.bridge.policy import MissingInRevision, NotExpressible, OnLoss, reporter
from mcp_runtime.bridge.revisions import Conversions
from mcp_runtime.bridge.steps import ReportedLoss
from mcp_runtime.core.binding import Binding, StandIn
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.method import AnyMethod, RequestMethod, WireType
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.names import INITIALIZE, SERVER_DISCOVER
from mcp_runtime.core.protocol.validation import Reader

if TYPE_CHECKING:
    from mcp_runtime.core.changes.listeners import Listeners
    from mcp_runtime.core.connection.connection import Connection

EXTENSIONS: Final = "extensions"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
SHORT: Final = 4096
"""Size in bytes up to which searching for words is faster than examining every object."""


class Wire:
    """Converts between the implementation's revision and the one that was negotiated with a peer.

    Args:
        own: the bindings of the implementation's revision.
        spoken: those of the negotiated revision.
        out: the conversions from the first to the second.
        back: the conversions from the second to the first.
        on_loss: called with each loss.

    Attributes:
        binding: the bindings of the negotiated revision.
        adds_meta: whether the implementation is of the legacy era and the peer of the modern one.
        strips_meta: whether the implementation is of the modern era and the peer of the legacy one.
        meta: the information that a legacy-era client sent when the session began, as `_meta` of each of its requests.
        stand_ins: what replaces client requests that the negotiated revision does not have, by method.
        on_log_level: called with the log level that a client's request asks for.
        listen: listens for changes of lists and resources in a session; None where the peer's era has a request for it.
    """

    def __init__(
        self, own: Binding, spoken: Binding, out: Conversions, back: Conversions, on_loss: OnLoss | None
    ) -> None:
        self.binding = spoken
        self._own = own
        self._out = out
        self._in = back
        self._report = reporter(on_loss)
        self._reported: set[ReportedLoss] = set()
        self._plans: dict[tuple[str, str], _Plan] = {}
        eras = (self._own.era, self.binding.era)
        self.adds_meta, self.strips_meta = eras == ("legacy", "modern"), eras == ("modern", "legacy")
        self.meta: Mapping[str, Any] = _NOTHING
        self.stand_ins: Mapping[str, StandIn] = {}
        self.on_log_level: Callable[[str], None] = _ignore
        self.listen: Callable[[Sequence[str], Sequence[str]], Coroutine[Any, Any, Any]] | None = None

    async def begin_client(self, connection: "Connection", named: Mapping[str, str], timeout: float) -> None:
        """Provide what the server's era does differently, once a client's conversation has begun.

        Args:
            connection: the connection.
            named: the client's identity.
            timeout: seconds to wait until the server confirms that it reports changes of its lists.
        """
        if self.adds_meta:
            from mcp_runtime.bridge.client import SessionOfClient

            session = SessionOfClient(connection)
            self.stand_ins = session.stand_ins
            await session.begin(timeout)
        elif self.strips_meta:
            from mcp_runtime.bridge.client import stand_alone

            self.stand_ins, self.on_log_level, self.listen = stand_alone(connection, named)

    def begin_session(self, connection: "Connection", info: Mapping[str, Any], capabilities: Mapping[str, Any]) -> None:
        """Let a modern-era server answer a legacy-era session."""
        if self.strips_meta:
            from mcp_runtime.bridge.server import begin_session

            self.meta = begin_session(connection, info, self.declared(Side.CLIENT, capabilities))

    def begin_stateless(self, connection: "Connection", listeners: "Listeners") -> None:
        """Let a legacy-era server answer stateless requests, for whose requester the connection is set up."""
        if self.adds_meta:
            from mcp_runtime.bridge.server import stand_alone

            stand_alone(connection, listeners)

    def spoken(self, method: AnyMethod) -> AnyMethod:
        """Return a method's record in the negotiated revision; its own if only the implementation's has it."""
        return self.binding.methods.get(method.name, method)

    def has(self, method: AnyMethod) -> bool:
        """Whether the negotiated revision has a method; those of extensions belong to every revision."""
        return method.name in self.binding.methods or self._own.methods.get(method.name) is not method

    def check(self, method: AnyMethod) -> None:
        """Check that the negotiated revision has a method.

        Raises:
            MissingInRevision: it does not.
        """
        if not self.has(method):
            raise MissingInRevision(method.name, self.binding.revision, method.capability)

    def outgoing(self, method: AnyMethod, part: str, encoded: bytes) -> bytes:
        """Return an outgoing part as the negotiated revision has it.

        Raises:
            MissingInRevision: the revision does not have the method.
            NotExpressible: the revision cannot express it, and the policy does not allow an alternative.
        """
        self.check(method)
        converter = None if self._is_native(method) else self._out.converter(method.name, part)
        if converter is not None and converter.concerns(encoded):
            encoded = to_json(converter.convert(from_json(encoded), self._report, self._reported))
        elif converter is not None:
            encoded = converter.filled(encoded)
        return self._untagged(encoded) if part != PARAMS else encoded

    def _untagged(self, encoded: bytes) -> bytes:
        """Return a result without the tag that the negotiated revision does not have."""
        tag = self._own.result_tag
        if not tag or tag == self.binding.result_tag or tag.encode() not in encoded:
            return encoded
        last = b',"%b":"complete"}' % tag.encode()
        if encoded.endswith(last):
            return encoded[: -len(last)] + b"}"
        result = from_json(encoded)
        result.pop(tag, None)
        return to_json(result)

    def _is_native(self, method: AnyMethod) -> bool:
        """Whether a message already belongs to the negotiated revision, because its sender or handler uses that one."""
        return self.binding.methods.get(method.name) is method

    def incoming(self, method: AnyMethod, part: str, value: dict[str, Any], text: bytes, reader: Reader) -> Any:
        """Return an incoming part as the implementation's revision has it; takes ownership of `value`.

        Raises:
            RemoteProtocolError: it is not valid in the negotiated revision, or the implementation's cannot express it.
        """
        if self._is_native(method):
            return value
        value = self._incoming(method, part, value, text, reader)
        if part != PARAMS and self._own.methods.get(method.name) is method and not self._own.result_tag:
            value.pop(self.binding.result_tag, None)
        if self.meta and part == PARAMS and isinstance(method, RequestMethod):
            return said_in(value, self.meta)
        return value

    def _incoming(self, method: AnyMethod, part: str, value: dict[str, Any], text: bytes, reader: Reader) -> Any:
        found = self._plans.get((method.name, part))
        plan = self._plan(method, part) if found is None else found
        if plan.types:
            _validate(plan.types, method.name, value, reader)
        if plan.converter is None:
            if part == PARAMS or not isinstance(method, RequestMethod) or not self.strips_meta:
                return value
            # No conversion knows the results of extensions, in which the legacy era omits what the modern one requires.
            return {self._own.result_tag: "complete", **dict(method.result.compile().assumed), **value}
        if len(text) < SHORT and b"\\" not in text and not plan.converter.concerns(text):
            return {**value, **plan.converter.fill} if plan.converter.fill else value
        try:
            return plan.converter.convert(value, self._report, self._reported)
        except NotExpressible as error:
            raise RemoteProtocolError(
                revision=error.revision, method=error.method, pointer=error.pointer, reason=error.reason
            ) from error

    def addressed(self, method: AnyMethod, params: bytes, meta: Mapping[str, Any]) -> bytes:
        """Return outgoing params with or without the `_meta` that only the modern era has.

        Args:
            method: their method.
            params: the params.
            meta: what each request of this side carries in the modern era; empty on the server side.
        """
        if not meta or not isinstance(method, RequestMethod) or self._is_native(method):
            return params
        if self.adds_meta:
            return with_meta(params, meta)
        if self.strips_meta:
            params, level = without_meta(params)
            if level:
                self.on_log_level(level)
        return params

    def incoming_code(self, code: int, method: str, data: object) -> int:
        """Return the code of a peer's error as the implementation's revision has it."""
        if self.strips_meta:
            return modern_code(code)
        return legacy_code(code, method, data) if self.adds_meta else code

    def outgoing_code(self, code: int, method: str, data: object) -> int:
        """Return the code of a handler's error as the negotiated revision has it."""
        return legacy_code(code, method, data) if self.strips_meta else code

    def is_needless(self, method: AnyMethod) -> bool:
        """Whether the peer's era has no use for a notification."""
        return self.adds_meta and method.name in NEEDLESS

    def _plan(self, method: AnyMethod, part: str) -> "_Plan":
        # If only more properties are allowed, no separate validation is needed: the implementation's types do the same.
        types = self.types(method, part) if self._in.refuses_more(method.name, part) else ()
        plan = self._plans[method.name, part] = _Plan(types, self._in.converter(method.name, part))
        return plan

    def types(self, method: AnyMethod, part: str) -> tuple[WireType[Any], ...]:
        """Return the types that a part of a method's messages may have in the negotiated revision."""
        found = self.spoken(method)
        if part == PARAMS:
            return () if found.params is None else (found.params,)
        return (*found.alternatives, found.result) if isinstance(found, RequestMethod) else ()

    def declarable(self, side: Side, capabilities: dict[str, Any]) -> dict[str, Any]:
        """Return those of this side's capabilities that the negotiated revision has; the others are dropped."""
        return self._known(side, capabilities, self._report)

    def declared(self, side: Side, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return those of the peer's capabilities that the negotiated revision has; the others are ignored."""
        return self._known(side, capabilities, _ignore)

    def _known(self, side: Side, capabilities: Mapping[str, Any], report: Report) -> dict[str, Any]:
        opening = INITIALIZE if self.binding.era == "legacy" else SERVER_DISCOVER
        converter = self._out.declared(side.value, opening)
        if converter is None:
            return dict(capabilities)
        whole = from_json(to_json({"capabilities": capabilities}))
        found: dict[str, Any] = converter.convert(whole, report)["capabilities"]
        if EXTENSIONS in capabilities:  # negotiated in every revision (SEP-2133), though older schemas do not have it
            found[EXTENSIONS] = capabilities[EXTENSIONS]
        return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to process an incoming part: the types to validate it against first, if needed, and the converter."""

    types: tuple[WireType[Any], ...]
    converter: Converter | None


def _validate(types: tuple[WireType[Any], ...], method: str, value: dict[str, Any], reader: Reader) -> None:
    """Validate a value against several types; the error is that of the last one."""
    for type_ in types[:-1]:
        try:
            reader.read(type_, value, method)
        except RemoteProtocolError:
            continue
        return
    reader.read(types[-1], value, method)


def _ignore(loss: object) -> None:
    """Ignore a loss."""
