"""Messages that show a change: one as the old revision has it, one as the new does, both as small as can be."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator

from mcp_bindgen.diff.finding import Finding, Pair, Travel, breaks
from mcp_bindgen.diff.wire.builder import Builder
from mcp_bindgen.emit.json_schema import json_schema, reference
from mcp_bindgen.ir.nodes import Method, Protocol, Ref, Union

MAX_CANDIDATES = 200


class Examples:
    """Finds for a message that proves a break what the other revision has in its place."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = _Side(old)
        self._new = _Side(new)

    def pair(self, finding: Finding, pair: Pair) -> tuple[Any, Any]:
        """Return the message of the old revision and that of the new one; None where there is none to show.

        One of them is the witness. The other is valid for its own revision, and of the same method.
        """
        witness = finding.witnesses.get(pair)
        if witness is None or finding.is_about_method:
            return None, None
        for carrier, way in sorted(finding.carriers.items()):
            if pair not in breaks(finding.change, carrier.travel):
                continue
            from_old = (pair is Pair.OLD_CLIENT) == (carrier.travel is Travel.TO_SERVER)
            other = self._new if from_old else self._old
            method = other.method(carrier.method)
            message = None
            if method is not None and carrier.part in witness:
                candidates = other.payloads(method, carrier.part, Builder(other.protocol, ()), way)
                payload = next(candidates, None)
                message = None if payload is None else {**witness, carrier.part: payload}
            return (witness, message) if from_old else (message, witness)
        return None, None


class _Side:
    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self._methods = {method.name: method for method in protocol.methods}
        self._document: Any = Draft202012Validator(json_schema(protocol))

    def method(self, name: str) -> Method | None:
        return self._methods.get(name)

    def payloads(self, method: Method, part: str, builder: Builder, way: Any) -> Iterator[Any]:
        """Iterate over valid payloads in which the way leads somewhere."""
        name = method.params if part == "params" else method.result
        if name is None:
            return
        validator: Any = self._document.evolve(schema={"$ref": reference(name)})
        candidates = builder.along(Union(members=(Ref(name=name),)), way)
        yield from (payload for payload in islice(candidates, MAX_CANDIDATES) if validator.is_valid(payload))
