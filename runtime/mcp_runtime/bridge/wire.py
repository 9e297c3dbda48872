"""One conversation in another revision than that of the implementation: what stands between session and types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import from_json, to_json

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.convert import PARAMS, RESULT, Converter, Report
from mcp_runtime.bridge.policy import Loss, MissingInRevision, NotExpressible, telling
from mcp_runtime.bridge.revisions import Bridges, Conversions
from mcp_runtime.bridge.steps import Told
from mcp_runtime.errors import RemoteProtocolError
from mcp_runtime.method import AnyMethod, RequestMethod, WireType
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import INITIALIZE
from mcp_runtime.protocol.validation import Reader

SHORT: Final = 4096
"""Bytes up to which a look for words is faster than a look at every object."""

_INFO: Final = {"name": "", "version": ""}


class Wire:
    """Converts between the revision of an implementation and the one that a peer negotiated.

    Args:
        bridges: the bridges of the implementation.
        revision: what the peer negotiated, another revision than the implementation's.

    Attributes:
        binding: the bindings of the negotiated revision.
    """

    def __init__(self, bridges: Bridges, revision: str) -> None:
        own = bridges.binding.revision
        self.binding: Binding = bridges.wire(revision)
        self._own = bridges.binding
        self._out: Conversions = bridges.conversions(own, revision)
        self._in: Conversions = bridges.conversions(revision, own)
        self._tell = telling(bridges.bridging.on_loss)
        self._told: set[Told] = set()
        self._plans: dict[tuple[str, str], _Plan] = {}

    def has(self, name: str) -> bool:
        """Whether the negotiated revision has a method; methods of vendors are in all of them."""
        return name in self.binding.methods or name not in self._own.methods

    def check(self, method: AnyMethod) -> None:
        """Go on if the negotiated revision has a method.

        Raises:
            MissingInRevision: it has not.
        """
        if not self.has(method.name):
            raise MissingInRevision(method.name, self.binding.revision, method.capability)

    def outgoing(self, method: AnyMethod, part: str, encoded: bytes) -> bytes:
        """Return what is about to leave as the negotiated revision says it.

        Raises:
            MissingInRevision: the revision does not have the method.
            NotExpressible: the revision cannot say it, and the policy refuses to say something else.
        """
        self.check(method)
        converter = self._out.converter(method.name, part)
        if converter is None or not converter.concerns(encoded):
            return encoded
        return to_json(converter.convert(from_json(encoded), self._tell, self._told))

    def incoming(self, method: AnyMethod, part: str, value: dict[str, Any], text: bytes, reader: Reader) -> Any:
        """Return what arrived as the implementation's revision says it; `value` is taken over.

        Raises:
            RemoteProtocolError: it is not valid in the negotiated revision, or the implementation's cannot say it.
        """
        found = self._plans.get((method.name, part))
        plan = self._plan(method, part) if found is None else found
        if plan.types:
            _validate(plan.types, method.name, value, reader)
        if plan.converter is None or (len(text) < SHORT and b"\\" not in text and not plan.converter.concerns(text)):
            return value
        try:
            return plan.converter.convert(value, self._tell, self._told)
        except NotExpressible as error:
            raise RemoteProtocolError(
                revision=error.revision, method=error.method, pointer=error.pointer, reason=error.reason
            ) from error

    def _plan(self, method: AnyMethod, part: str) -> "_Plan":
        # What only admits more members needs no reading of its own: the implementation's types say the same.
        types = self.types(method, part) if self._in.refuses_more(method.name, part) else ()
        plan = self._plans[method.name, part] = _Plan(types, self._in.converter(method.name, part))
        return plan

    def types(self, method: AnyMethod, part: str) -> tuple[WireType[Any], ...]:
        """Return the types that a part of a method's messages may have in the negotiated revision."""
        found = self.binding.methods.get(method.name, method)
        if part == PARAMS:
            return () if found.params is None else (found.params,)
        return (*found.alternatives, found.result) if isinstance(found, RequestMethod) else ()

    def declarable(self, side: Side, capabilities: dict[str, Any]) -> dict[str, Any]:
        """Return those of this side's capabilities that the negotiated revision has; the others are lost."""
        return self._known(side, capabilities, self._tell)

    def declared(self, side: Side, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return those of the peer's capabilities that the negotiated revision has; the others say nothing."""
        return self._known(side, capabilities, _ignore)

    def _known(self, side: Side, capabilities: Mapping[str, Any], report: Report) -> dict[str, Any]:
        part, info = (PARAMS, "clientInfo") if side is Side.CLIENT else (RESULT, "serverInfo")
        converter = self._out.converter(INITIALIZE, part)
        if converter is None:
            return dict(capabilities)
        whole = {"protocolVersion": "", "capabilities": capabilities, info: dict(_INFO)}
        found: dict[str, Any] = converter.convert(from_json(to_json(whole)), report)["capabilities"]
        return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to do with a part of what arrives: what to read it as first, if that shows something, and the converter."""

    types: tuple[WireType[Any], ...]
    converter: Converter | None


def _validate(types: tuple[WireType[Any], ...], method: str, value: dict[str, Any], reader: Reader) -> None:
    """Read a value as one of some types; the last one says what is wrong if it is of none."""
    for type_ in types[:-1]:
        try:
            reader.read(type_, value, method)
        except RemoteProtocolError:
            continue
        return
    reader.read(types[-1], value, method)


def _ignore(loss: Loss) -> None:
    """Tell nobody."""
