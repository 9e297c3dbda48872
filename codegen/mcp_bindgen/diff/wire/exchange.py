"""The messages of one revision: candidate frames, and whether the revision accepts a frame or its content.

A request embedded in a result has no JSON-RPC frame: its frame is that of the result, and the frame of its response is
the request that retries the original one.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, cast
from urllib.parse import quote

from jsonschema import Draft7Validator, Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from referencing.exceptions import Unresolvable

from mcp_bindgen.diff.finding import FRAMES, Carrier, Travel
from mcp_bindgen.diff.types.methods import COMPLETE, RESULT_TAG, result_forms, result_tag
from mcp_bindgen.diff.types.pointers import Pointers
from mcp_bindgen.diff.wire.frames import ERROR, FRAME, error_types, is_sent
from mcp_bindgen.diff.wire.proof import at, path
from mcp_bindgen.diff.wire.spot import pointer_to
from mcp_bindgen.emit.json_schema import json_schema
from mcp_bindgen.ingest.json_schema import DRAFT_07
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.nodes import Direction, ListOf, MapOf, Method, Protocol, Ref, Struct, TypeRef
from mcp_bindgen.values.builder import Builder, Step

_REQUESTS, _NOTIFICATIONS = ("JSONRPCRequest",), ("JSONRPCNotification",)
_ERRORS, _RESULTS = ("JSONRPCErrorResponse", "JSONRPCError"), ("JSONRPCResultResponse", "JSONRPCResponse")
"""The names of the forms of JSON-RPC messages, later ones first."""
MAX_ERRORS = 50
"""The number of errors of one value that are considered."""
_UNDECIDED = (Unresolvable, RecursionError, re.error)
"""What validation by an untrusted schema may raise."""


@dataclass(frozen=True, slots=True)
class Message:
    """A whole frame, the path to the part that a carrier names, and which form of the result that part is."""

    frame: Any
    path: tuple[str | int, ...] = ()
    form: str = COMPLETE

    def payload(self) -> Any:
        """Return the part that the carrier names, or None if the frame lacks it."""
        return at(self.frame, self.path)[1]

    @property
    def is_left_out(self) -> bool:
        """Whether the frame lacks that part."""
        return not at(self.frame, self.path)[0]


@dataclass(frozen=True, slots=True)
class _Host:
    """The message around an embedded one: its method, the part, the type of that part, and the path within it."""

    method: Method
    part: str
    type: str
    way: tuple[Step, ...]


class Exchange:
    """One revision, as a sender and as a receiver; `names` maps the methods of carriers to this revision's names.

    Values are judged by its schema.json as given, or by the one that its types amount to.
    """

    def __init__(self, protocol: Protocol, names: Mapping[str, str]) -> None:
        self.protocol = protocol
        self._methods = {method.name: method for method in protocol.methods}
        self._methods |= {other: self._methods[name] for other, name in names.items()}
        self._pointers = Pointers(protocol) if protocol.schema.get(protocol.container) else None
        dialect: Any = Draft7Validator if self._pointers and protocol.dialect == DRAFT_07 else Draft202012Validator
        # An $id would change what references mean.
        given = {key: value for key, value in protocol.schema.items() if key != "$id"}
        self._document: Any = dialect(given if self._pointers else json_schema(protocol))
        self._errors = error_types(protocol)
        self._validators: dict[tuple[str, ...], Validator] = {}
        self._inside: dict[str, dict[str, tuple[Step, ...]]] = {}

    def embeds(self, carrier: Carrier) -> bool:
        """Whether the method of a carrier travels inside another message on this side."""
        method = self._methods.get(carrier.method)
        return method is not None and method.direction is Direction.EMBEDDED

    def sends(self, carrier: Carrier, message: Message) -> bool:
        """Whether this side may send a whole frame."""
        method = self._methods.get(carrier.method)
        if method is not None and method.direction is Direction.EMBEDDED:
            host = self._host(method, carrier.part)
            if host is None:
                return False
            outer = Carrier(host.method.name, host.part, carrier.travel)
            return self.errors(outer, Message(message.frame, (host.part,))) == []
        frames = message.frame if is_list(message.frame) else [message.frame]
        are_real = all(self._is_real(frame) for frame in frames if is_object(frame) and "method" in frame)
        return are_real and self.takes_frame(carrier, message) and self.errors(carrier, message) == []

    def _is_real(self, frame: dict[str, Any]) -> bool:
        """Whether a request or notification is valid as a frame, and as a message of its method."""
        method = self._methods.get(frame["method"]) if isinstance(frame["method"], str) else None
        names = {self._form(frame), method.message} & self.protocol.definitions.keys() if method else ()
        return method is not None and all(_errors(self._validator(name), frame) == [] for name in names)

    def _form(self, frame: Any) -> str:
        """Return the form of a JSON-RPC message, which peers detect by its properties; or that of all messages."""
        has_id = is_object(frame) and "id" in frame
        forms = {"method": _REQUESTS if has_id else _NOTIFICATIONS, "error": _ERRORS, "result": _RESULTS}
        names = next((names for key, names in forms.items() if is_object(frame) and key in frame), ())
        return next((name for name in names if name in self.protocol.definitions), FRAMES)

    def takes_frame(self, carrier: Carrier, message: Message) -> bool:
        """Whether this side has a message of that method in that direction and in such a frame."""
        method = self._methods.get(carrier.method)
        if method is None or method.direction is Direction.EMBEDDED:
            return not carrier.method
        if carrier.part == "result":
            return True
        is_known = message.frame.get("method") == method.name and is_sent(method, carrier.travel)
        return is_known and ("id" in message.frame) == method.is_request

    def errors(self, carrier: Carrier, message: Message) -> list[ValidationError] | None:
        """Return why this side rejects the part that a carrier names; None if nothing can be said."""
        method, payload = self._methods.get(carrier.method), message.payload()
        if carrier.part == ERROR:
            code: object = cast(Mapping[str, Any], payload).get("code") if isinstance(payload, Mapping) else None
            error = self._errors.get(code) if isinstance(code, int) else None
            return _errors(self._validator(error), payload) if error else []
        if method is None:
            return None if carrier.method else _errors(self._validator(self._form(payload)), payload)
        if message.is_left_out:
            missing = ValidationError(f"'{carrier.part}' is a required property", validator="required")
            return [missing] if method.params_required else []
        if carrier.part == FRAME:
            return _errors(self._validator(method.message), payload)
        if carrier.part == "params":
            return _errors(self._validator(method.params), payload) if method.params else []
        names = self._results(method, payload, message.form)
        return _errors(self._validator(*names), payload) if names else [ValidationError("no such form of result")]

    def _results(self, method: Method, payload: Any, sent_as: str) -> tuple[str, ...]:
        """Return the types that a result may have: those of the form that its params ask for, or of its tag.

        A tag that no form has is a value like others in the usual result.
        """
        forms = result_forms(self.protocol, method)
        by_name = sent_as in forms.get(sent_as, ())
        if method.result and not by_name and result_tag(self.protocol, method.result):
            tag: object = cast(Mapping[str, Any], payload).get(RESULT_TAG) if isinstance(payload, Mapping) else None
            tag = tag if isinstance(tag, str) else COMPLETE
            return forms.get(tag, forms.get(COMPLETE, ()) if sent_as == COMPLETE else ())
        return forms.get(sent_as, forms.get(COMPLETE, ()))

    def _validator(self, *names: str) -> Validator:
        if names not in self._validators:
            of = self._pointers.of if self._pointers else pointer_to
            found = [{"$ref": f"#{quote(of(name))}"} for name in names]
            self._validators[names] = self._document.evolve(schema=found[0] if len(found) == 1 else {"anyOf": found})
        return self._validators[names]

    def messages(self, carrier: Carrier, way: tuple[Step, ...], hints: tuple[float | str, ...]) -> Iterator[Message]:
        """Iterate over candidate frames."""
        method = self._methods.get(carrier.method)
        tags = result_forms(self.protocol, method) if method and carrier.part == "result" else ()
        builder = Builder(self.protocol, (*hints, *tags))
        if carrier.part == ERROR and way and int(way[0].name) in self._errors:
            for error in builder.along(Ref(name=self._errors[int(way[0].name)]), way[1:]):
                yield Message({"jsonrpc": "2.0", "id": 1, ERROR: error}, (ERROR,))
        elif not carrier.method:
            found = (frame for frame in builder.along(Ref(name=FRAMES), way) if frame != [])
            first = list(islice(found, 1))
            yield from (Message(self._real(frame, carrier.travel, 0)) for frame in chain(first, found))
            others = range(1, len(self._methods))
            yield from (Message(self._real(frame, carrier.travel, n)) for frame in first for n in others)
        if method is None:
            return
        if carrier.part == FRAME:
            frames = builder.along(Ref(name=method.message), way)
            yield from (Message({**self._envelope(method, "params", builder), **frame}) for frame in frames)
        elif method.direction is Direction.EMBEDDED:
            host = self._host(method, carrier.part)
            if host is not None:
                inner = (*host.way, Step("field", "params")) if carrier.part == "params" else host.way
                steps = (host.part, *path(inner))
                for payload in builder.along(Ref(name=host.type), (*inner, *way)):
                    yield Message({**self._envelope(host.method, host.part, builder), host.part: payload}, steps)
        else:
            envelope = self._envelope(method, carrier.part, builder)
            if carrier.part == "params" and not way:
                yield Message(envelope, (carrier.part,))
            for form, name in self._candidates(method, carrier.part, way):
                for payload in builder.along(Ref(name=name), way):
                    yield Message({**envelope, carrier.part: payload}, (carrier.part,), form)

    def _candidates(self, method: Method, part: str, way: tuple[Step, ...]) -> list[tuple[str, str]]:
        """Return the types of a part that a path begins in, each with the form that it is of."""
        if part == "params":
            return [(COMPLETE, method.params)] if method.params else []
        forms = result_forms(self.protocol, method)
        found = [(form, name) for form, names in forms.items() for name in names]
        named = [row for row in found if way and way[0].kind == "member" and row[1] == way[0].name]
        return named or ([row for row in found if row[0] == COMPLETE] if way else found)

    def _envelope(self, method: Method, part: str, builder: Builder) -> dict[str, Any]:
        """Return the frame around a part: what JSON-RPC and the definition of the message require."""
        envelope: dict[str, Any] = {"jsonrpc": "2.0"}
        if method.is_request:
            envelope["id"] = 1
        if part != "params":
            return envelope
        return {**builder.smallest(Ref(name=method.message)), **envelope, "method": method.name}

    def _real(self, frame: Any, travel: Travel, number: int) -> Any:
        """Replace the method of a JSON-RPC frame with an existing one, the first or another, in batches too."""
        if is_list(frame):
            return [self._real(message, travel, number) for message in frame]
        has_id = is_object(frame) and "id" in frame
        sent = [m for m in self.protocol.methods if m.is_request is has_id and is_sent(m, travel)]
        if not sent or not is_object(frame) or "method" not in frame:
            return frame
        sent.sort(key=lambda m: (m.params_required, m.direction is not Direction.BOTH, m.name))
        method = sent[number % len(sent)]
        real = {**frame, "method": method.name}
        if method.params_required and method.params:
            smallest, given = Builder(self.protocol, ()).smallest(Ref(name=method.params)), frame.get("params")
            real["params"] = {**smallest, **given} if is_object(given) else smallest
        return real

    def _host(self, method: Method, part: str) -> _Host | None:
        """Find the first message, sorted by method, that contains an embedded request or its response."""
        target, host_part = (method.message, "result") if part == "params" else (method.result or "", "params")
        for host in sorted(self.protocol.methods, key=lambda m: m.name):
            for _, name in self._candidates(host, host_part, ()):
                way = self._ways(name).get(target) if host.direction is not Direction.EMBEDDED else None
                if way is not None:
                    return _Host(host, host_part, name, way)
        return None

    def _ways(self, start: str) -> Mapping[str, tuple[Step, ...]]:
        """Return the shortest path from a definition to each object in it."""
        if start in self._inside:
            return self._inside[start]
        pending: deque[tuple[TypeRef, tuple[Step, ...]]] = deque([(Ref(name=start), ())])
        seen: set[TypeRef] = set()
        ways = self._inside.setdefault(start, {})
        while pending:
            type_, way = pending.popleft()
            for leaf in leaves(type_, self.protocol):
                if leaf in seen:
                    continue
                seen.add(leaf)
                match self.protocol.resolve(leaf):
                    case Struct(name=name, fields=fields):
                        if way:
                            ways[name] = (*way, Step("member", name))
                        pending += [(f.type, (*way, Step("field", f.wire_name))) for f in fields]
                    case MapOf(value=value):
                        pending.append((value, (*way, Step("value"))))
                    case ListOf(item=item):
                        pending.append((item, (*way, Step("item"))))
                    case _:
                        continue
        return ways


def _errors(validator: Validator, value: Any) -> list[ValidationError] | None:
    """Return why a value is invalid, None if that cannot be decided."""
    try:
        return list(islice(validator.iter_errors(value), MAX_ERRORS))
    except _UNDECIDED:
        return None
