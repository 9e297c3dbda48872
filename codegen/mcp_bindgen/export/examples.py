"""Example messages of a method: the smallest one of each kind, and one with every property."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.ir.nodes import Direction, Method, Protocol, Ref
from mcp_bindgen.values.builder import Builder


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One message; `type` is the definition of the `value` in it, ``params`` or ``result``, empty without any."""

    title: str
    message: dict[str, Any]
    type: str = ""
    value: Any = None

    @property
    def text(self) -> str:
        """The message as indented JSON."""
        return json.dumps(self.message, indent=1, ensure_ascii=False)


class Examples:
    """Makes the examples of one revision."""

    def __init__(self, protocol: Protocol) -> None:
        self._builder = Builder(protocol, ())

    def of(self, method: Method) -> Iterator[Example]:
        """Iterate over the messages of a method: what is sent, and each result."""
        kind = "request" if method.is_request else "notification"
        frame: dict[str, Any] = {"jsonrpc": "2.0", **({"id": 1} if method.is_request else {}), "method": method.name}
        if method.direction is Direction.EMBEDDED:
            frame = {"method": method.name}
        if method.params is None or not method.params_required:
            yield Example(title=f"Smallest {kind}", message=frame)
        if method.params is not None:
            for size, value in self._values(method.params):
                if size == "Full" or method.params_required:
                    message = {**frame, "params": value}
                    yield Example(title=f"{size} {kind}", message=message, type=method.params, value=value)
        for name in (method.result, *method.alternatives):
            for size, value in self._values(name) if name else ():
                title = f"{size} result" if name == method.result else f"{size} result: {name}"
                message = {"jsonrpc": "2.0", "id": 1, "result": value}
                is_embedded = method.direction is Direction.EMBEDDED
                yield Example(title=title, message=value if is_embedded else message, type=name or "", value=value)

    def _values(self, name: str) -> Iterator[tuple[str, Any]]:
        smallest, full = self._builder.smallest(Ref(name=name)), self._builder.full(Ref(name=name))
        yield "Smallest", smallest
        if full != smallest:
            yield "Full", full
