"""Find a message that proves a break: valid for its sender, refused by its receiver.

Candidates are built along the way from the root of the message to the changed value, the rest of it as small as the
sender's schema allows, and judged by `jsonschema` against the schemas of both sides. A message that is refused for
another reason than the change proves nothing about it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator

from mcp_bindgen.diff.finding import FRAMES, Carrier, Finding, Pair, Step, Travel, breaks
from mcp_bindgen.diff.rules.properties import PROPERTY_MOVED
from mcp_bindgen.diff.wire.builder import ANY_KEY, Builder
from mcp_bindgen.diff.wire.compare import TRAVELS, renamed_methods
from mcp_bindgen.diff.wire.frames import FRAME
from mcp_bindgen.emit.json_schema import json_schema, reference
from mcp_bindgen.ir.nodes import Direction, Method, Protocol, Ref, TypeRef, Union

MAX_CANDIDATES = 200

_ELSEWHERE = (PROPERTY_MOVED,)
"""Rules whose change is refused at another place than where the way leads."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Witnesses:
    """Finds witnesses for the findings between two revisions."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = _Side(old, {})
        self._new = _Side(new, renamed_methods(old, new))

    def testify(self, finding: Finding) -> Finding:
        """Return the finding with a message for each pair of peers that it breaks; where there is none, it says why."""
        found: dict[Pair, Any] = {}
        reasons: dict[Pair, str] = {}
        for pair in sorted(finding.breaks):
            if finding.rule.unprovable:
                reasons[pair] = finding.rule.unprovable
                continue
            message, tried = self._witness(finding, pair)
            if message is not None:
                found[pair] = message
            else:
                has_forms = any(
                    side.has_forms(carrier) for side in (self._old, self._new) for carrier in finding.carriers
                )
                reasons[pair] = _reason(finding, tried, has_forms)
        return replace(finding, witnesses=found, unproven=frozenset(reasons), why_unproven=reasons)

    def _witness(self, finding: Finding, pair: Pair) -> tuple[Any, int]:
        """Return a message that proves the break, or None and how many its sender could send in vain."""
        numbers = tuple(float(number) for number in _NUMBER.findall(f"{finding.old} {finding.new}")[:10])
        valid = 0
        for carrier, way in sorted(finding.carriers.items()):
            if pair not in breaks(finding.change, carrier.travel):
                continue
            from_old = (pair is Pair.OLD_CLIENT) == (carrier.travel is Travel.TO_SERVER)
            sender, receiver = (self._old, self._new) if from_old else (self._new, self._old)
            steps = tuple(map(_turned, way)) if from_old else way
            for message in islice(sender.messages(carrier, steps, numbers), MAX_CANDIDATES):
                if sender.accepts(carrier, message, whole=True):
                    valid += 1
                    if finding.is_about_method:
                        refused = not receiver.accepts(carrier, message, whole=True)
                    else:
                        refused = receiver.refuses(carrier, message, () if finding.rule in _ELSEWHERE else steps)
                    if refused:
                        return message, valid
        return None, valid


def _reason(finding: Finding, tried: int, has_forms: bool) -> str:
    if not tried:
        return "no message that the sender may send was found to lead there"
    messages = "the one message" if tried == 1 else f"each of the {tried} messages"
    steps = {step.kind for way in finding.carriers.values() for step in way}
    why = ", as another form that it knows" if has_forms or "member" in steps else ""
    return f"the receiver takes {messages} that the sender was found to be able to send there{why}"


class _Side:
    """One revision, as a sender and as a receiver; `names` are the methods that carriers call otherwise."""

    def __init__(self, protocol: Protocol, names: Mapping[str, str]) -> None:
        self._protocol = protocol
        self._methods = {method.name: method for method in protocol.methods}
        self._methods |= {other: self._methods[name] for other, name in names.items()}
        self._document: Any = Draft202012Validator(json_schema(protocol))
        self._validators: dict[tuple[str, str], Validator] = {}

    def accepts(self, carrier: Carrier, message: dict[str, Any], *, whole: bool) -> bool:
        """Whether this side takes the payload of a message; `whole` asks for the frame and the method too."""
        if carrier.part == FRAME:
            return self._validator(None, FRAME).is_valid(message)
        method = self._methods.get(carrier.method)
        if method is None or (whole and not _takes_frame(method, carrier, message)):
            return False
        if carrier.part not in message:
            return not method.params_required
        return self._validator(method, carrier.part).is_valid(message[carrier.part])

    def has_forms(self, carrier: Carrier) -> bool:
        """Whether the payload may be one of several types."""
        method = self._methods.get(carrier.method)
        return method is not None and len(_payload(method, carrier.part)) > 1

    def refuses(self, carrier: Carrier, message: dict[str, Any], way: tuple[Step, ...]) -> bool:
        """Whether this side refuses the payload of a message for what is at the end of the way."""
        if self.accepts(carrier, message, whole=False):
            return False
        method = self._methods.get(carrier.method)
        if carrier.part != FRAME and (method is None or carrier.part not in message):
            return not way
        payload = message if carrier.part == FRAME else message[carrier.part]
        validator = self._validator(None if carrier.part == FRAME else method, carrier.part)
        return any(_is_about(error, way) for error in _all(validator.iter_errors(payload)))

    def _validator(self, method: Method | None, part: str) -> Validator:
        key = (method.name if method else "", part)
        if key not in self._validators:
            branches = [{"$ref": reference(name)} for name in _payload(method, part)]
            schema: Any = {"anyOf": branches} if branches else True
            self._validators[key] = self._document.evolve(schema=schema)
        return self._validators[key]

    def messages(self, carrier: Carrier, way: tuple[Step, ...], numbers: tuple[float, ...]) -> Iterator[dict[str, Any]]:
        """Iterate over messages that are worth a try."""
        builder = Builder(self._protocol, numbers)
        if carrier.part == FRAME:
            yield from (message for message in builder.along(Ref(name=FRAMES), way))
            return
        method = self._methods.get(carrier.method)
        if method is None:
            return
        # An embedded request has no envelope of its own, nor has its answer.
        envelope: dict[str, Any] = {} if method.direction is Direction.EMBEDDED else {"jsonrpc": "2.0"}
        if method.is_request and envelope:
            envelope["id"] = 1
        if carrier.part == "params":
            envelope["method"] = method.name
            if not way:
                yield envelope
        names = _payload(method, carrier.part)
        if names:
            type_: TypeRef = Union(members=tuple(Ref(name=name) for name in names))
            yield from ({**envelope, carrier.part: payload} for payload in builder.along(type_, way))


def _takes_frame(method: Method, carrier: Carrier, message: dict[str, Any]) -> bool:
    """Whether the method goes that way, in such a frame, under that name."""
    is_embedded = "jsonrpc" not in message
    if is_embedded != (method.direction is Direction.EMBEDDED):
        return False
    if carrier.part != "params":
        return True
    is_known = message["method"] == method.name and carrier.travel in TRAVELS[method.direction]
    return is_known and (is_embedded or ("id" in message) == method.is_request)


def _turned(step: Step) -> Step:
    """Return a step by the names of the old side."""
    return replace(step, name=step.was, was=step.name) if step.was else step


def _all(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Iterate over errors, and over those of the branches of a union."""
    for error in errors:
        yield error
        yield from _all(error.context or ())


def _is_about(error: ValidationError, way: tuple[Step, ...]) -> bool:
    """Whether an error is at the end of the way or below it, or at the object that lacks or refuses the member."""
    there: list[str | int] = []
    for step in way:
        if step.kind == "item":
            there.append(0)
        elif step.kind != "member":
            there.append(step.name if step.kind == "field" else ANY_KEY)
    at = list(error.absolute_path)
    if at[: len(there)] == there:
        return True
    is_of_object = error.validator in ("required", "additionalProperties")
    return is_of_object and at == there[:-1] and any(f"'{name}'" in error.message for name in _names(way))


def _names(way: tuple[Step, ...]) -> Iterator[str]:
    """Iterate over the names that the last member of the way may have."""
    for step in reversed(way):
        if step.kind == "field":
            yield from (step.name, step.was)
            return
        if step.kind == "value":
            yield ANY_KEY
            return


def _payload(method: Method | None, part: str) -> tuple[str, ...]:
    """The types that one part of a method's exchange may have."""
    if method is None:
        return (FRAMES,)
    if part == "params":
        return (method.params,) if method.params else ()
    return (method.result, *method.alternatives) if method.result else ()
