"""The messages of one revision: candidate frames, and whether the revision accepts a frame or its content.

A request embedded in a result has no JSON-RPC frame: its frame is that of the result, and the frame of its response is
the request that retries the original one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from mcp_bindgen.diff.finding import FRAMES, Carrier
from mcp_bindgen.diff.wire.compare import TRAVELS
from mcp_bindgen.diff.wire.frames import FRAME
from mcp_bindgen.diff.wire.proof import path
from mcp_bindgen.emit.json_schema import json_schema, reference
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.nodes import Direction, ListOf, MapOf, Method, Protocol, Ref, Struct, TypeRef, Union
from mcp_bindgen.values.builder import Builder, Step


@dataclass(frozen=True, slots=True)
class Message:
    """A whole frame, and the path to the part that a carrier names: the params, the result, or the whole frame."""

    frame: Any
    path: tuple[str | int, ...] = ()

    def payload(self) -> Any:
        """Return the part that the carrier names, or None if the frame lacks it."""
        found: Any = self.frame
        for step in self.path:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    @property
    def is_left_out(self) -> bool:
        """Whether the frame lacks that part."""
        return bool(self.path) and self.path[0] not in self.frame


@dataclass(frozen=True, slots=True)
class _Host:
    """The message around an embedded one: its method, the part, the type of that part, and the path within it."""

    method: Method
    part: str
    type: str
    way: tuple[Step, ...]


class Exchange:
    """One revision, as a sender and as a receiver; `names` maps the methods of carriers to this revision's names."""

    def __init__(self, protocol: Protocol, names: Mapping[str, str]) -> None:
        self.protocol = protocol
        self._methods = {method.name: method for method in protocol.methods}
        self._methods |= {other: self._methods[name] for other, name in names.items()}
        self._document: Any = Draft202012Validator(json_schema(protocol))
        self._validators: dict[tuple[str, ...], Validator] = {}

    def knows(self, carrier: Carrier) -> bool:
        """Whether this side has the method of a carrier."""
        return carrier.part == FRAME or carrier.method in self._methods

    def embeds(self, carrier: Carrier) -> bool:
        """Whether the method of a carrier travels inside another message on this side."""
        method = self._methods.get(carrier.method)
        return method is not None and method.direction is Direction.EMBEDDED

    def forms(self, carrier: Carrier) -> tuple[str, ...]:
        """Return the possible types of the part that a carrier names."""
        method = self._methods.get(carrier.method)
        return _forms(method, carrier.part) if method else ()

    def sends(self, carrier: Carrier, message: Message) -> bool:
        """Whether this side may send a whole frame."""
        if carrier.part == FRAME:
            return self._validator((FRAMES,)).is_valid(message.frame)
        method = self._methods.get(carrier.method)
        if method is None:
            return False
        if method.direction is Direction.EMBEDDED:
            host = self._host(method, carrier.part)
            return host is not None and self._validator(_forms(host.method, host.part)).is_valid(
                message.frame.get(host.part)
            )
        return self.takes_frame(carrier, message) and self._takes_payload(method, carrier, message)

    def takes_frame(self, carrier: Carrier, message: Message) -> bool:
        """Whether this side has a message of that method in that direction and in such a frame."""
        method = self._methods.get(carrier.method)
        if method is None or method.direction is Direction.EMBEDDED:
            return False
        if carrier.part != "params":
            return True
        is_known = message.frame.get("method") == method.name and carrier.travel in TRAVELS[method.direction]
        return is_known and ("id" in message.frame) == method.is_request

    def _takes_payload(self, method: Method, carrier: Carrier, message: Message) -> bool:
        if message.is_left_out:
            return not method.params_required
        return self._validator(_forms(method, carrier.part)).is_valid(message.payload())

    def takes(self, carrier: Carrier, message: Message) -> bool:
        """Whether this side accepts the part that a carrier names, in any frame."""
        method = self._methods.get(carrier.method)
        return method is not None and self._takes_payload(method, carrier, message)

    def judge(self, carrier: Carrier, form: str = "") -> Validator | None:
        """Return the validator for the part that a carrier names, None if this side has no such method.

        Args:
            carrier: the message.
            form: the form of JSON-RPC message of the frame; receivers detect it by its properties.
        """
        if carrier.part == FRAME:
            return self._validator((form if form in self.protocol.definitions else FRAMES,))
        method = self._methods.get(carrier.method)
        return self._validator(_forms(method, carrier.part)) if method else None

    def _validator(self, names: tuple[str, ...]) -> Validator:
        if names not in self._validators:
            branches = [{"$ref": reference(name)} for name in names]
            schema: Any = {"anyOf": branches} if branches else True
            self._validators[names] = self._document.evolve(schema=schema)
        return self._validators[names]

    def messages(self, carrier: Carrier, way: tuple[Step, ...], numbers: tuple[float, ...]) -> Iterator[Message]:
        """Iterate over candidate frames."""
        builder = Builder(self.protocol, numbers)
        if carrier.part == FRAME:
            frames = builder.along(Ref(name=FRAMES), way)
            yield from (Message(self._real(frame)) for frame in frames if frame != [])
            return
        method = self._methods.get(carrier.method)
        if method is None:
            return
        if method.direction is Direction.EMBEDDED:
            host = self._host(method, carrier.part)
            if host is not None:
                inner = (*host.way, Step("field", "params")) if carrier.part == "params" else host.way
                steps = (host.part, *path(inner))
                for payload in builder.along(Ref(name=host.type), (*inner, *way)):
                    yield Message({**self._envelope(host.method, host.part), host.part: payload}, steps)
            return
        envelope = self._envelope(method, carrier.part)
        if carrier.part == "params" and not way:
            yield Message(envelope, (carrier.part,))
        names = _forms(method, carrier.part)
        if names:
            type_: TypeRef = Union(members=tuple(Ref(name=name) for name in names))
            for payload in builder.along(type_, way):
                yield Message({**envelope, carrier.part: payload}, (carrier.part,))

    def _envelope(self, method: Method, part: str) -> dict[str, Any]:
        envelope: dict[str, Any] = {"jsonrpc": "2.0"}
        if method.is_request:
            envelope["id"] = 1
        return envelope | ({"method": method.name} if part == "params" else {})

    def _real(self, frame: Any) -> Any:
        """Replace the method of a JSON-RPC frame with an existing one, in batches too."""
        if isinstance(frame, list):
            batch = cast(Sequence[Any], frame)
            return [self._real(message) for message in batch]
        if not isinstance(frame, dict) or "method" not in frame:
            return cast(Any, frame)
        is_request = "id" in frame
        fitting = [m for m in self.protocol.methods if m.is_request is is_request and m.direction in TRAVELS]
        fitting = [m for m in fitting if m.direction is not Direction.EMBEDDED]
        method = min(
            fitting, key=lambda m: (m.params_required, m.direction is not Direction.BOTH, m.name), default=None
        )
        real = cast(dict[str, Any], frame)
        if method is None:
            return real
        real = {**real, "method": method.name}
        if method.params_required and method.params:
            real["params"] = Builder(self.protocol, ()).smallest(Ref(name=method.params))
        return real

    def _host(self, method: Method, part: str) -> _Host | None:
        """Find the first message, sorted by method, that contains an embedded request or its response."""
        target, host_part = (method.message, "result") if part == "params" else (method.result or "", "params")
        for host in sorted(self.protocol.methods, key=lambda m: m.name):
            for name in _forms(host, host_part):
                way = self._way_to(target, name) if host.direction is not Direction.EMBEDDED else None
                if way is not None:
                    return _Host(host, host_part, name, way)
        return None

    def _way_to(self, target: str, start: str) -> tuple[Step, ...] | None:
        """Return the shortest path from one definition to another that it contains, or None."""
        pending: list[tuple[TypeRef, tuple[Step, ...]]] = [(Ref(name=start), ())]
        seen: set[TypeRef] = set()
        while pending:
            type_, way = pending.pop(0)
            for leaf in leaves(type_, self.protocol):
                if leaf == Ref(name=target):
                    return (*way, Step("member", target)) if way else None
                if leaf in seen:
                    continue
                seen.add(leaf)
                match self.protocol.resolve(leaf):
                    case Struct(fields=fields):
                        pending += [(f.type, (*way, Step("field", f.wire_name))) for f in fields]
                    case MapOf(value=value):
                        pending.append((value, (*way, Step("value"))))
                    case ListOf(item=item):
                        pending.append((item, (*way, Step("item"))))
                    case _:
                        continue
        return None


def _forms(method: Method, part: str) -> tuple[str, ...]:
    """Return the possible types of one part of a method's exchange."""
    if part == "params":
        return (method.params,) if method.params else ()
    return (method.result, *method.alternatives) if method.result else ()
