"""Servers that try to harm their client: ``python -m check.hostile_servers HARM``."""

import json
import sys
from typing import Any, ClassVar, Final

from check.odd_servers import OBJECT, Odd, say

EVIL: Final = "\x1b]0;x\x07\x1b[31m<b>]]>&\"'`|*_[x](y:z)\u202e\x00\ufffe\ud800\r\n# heading\n::error::x"
"""A name with escape sequences, markup of every report, and characters that XML and UTF-8 do not have."""


class Hostile(Odd):
    """Its pings are harmful."""

    revisions = ("2025-11-25",)

    def take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "ping":
            self.harm(message["id"])
        else:
            super().take(message)

    def harm(self, id_: Any) -> None:
        """Answer a ping."""
        say({"jsonrpc": "2.0", "id": id_, "result": {}})

    def answer(self, answer: dict[str, Any]) -> None:
        print(json.dumps(answer), flush=True)

    def written(self, id_: Any, value: str) -> None:
        """Answer a ping with a property whose value is written like this."""
        print(f'{{"jsonrpc": "2.0", "id": {json.dumps(id_)}, "result": {{"_meta": {{"a": {value}}}}}}}', flush=True)


class Names(Hostile):
    """Its names and texts are hostile."""

    capabilities: ClassVar[dict[str, Any]] = {"tools": {}, "prompts": {}, "resources": {}}
    schemas: ClassVar[dict[str, dict[str, Any]]] = {
        EVIL: {**OBJECT, "properties": {EVIL: {"type": "string", "enum": [EVIL]}}, "required": [EVIL]}
    }

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {**super().handle(method, params), "serverInfo": {"name": EVIL, "version": EVIL}}
        if method == "prompts/list":
            return {"prompts": [{"name": EVIL, "arguments": [{"name": EVIL, "required": True}]}]}
        if method == "resources/list":
            return {"resources": [{"name": EVIL, "uri": EVIL}]}
        return super().handle(method, params)

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"Traceback (most recent call last)\n{EVIL}"}]}

    def harm(self, id_: Any) -> None:
        self.answer({"jsonrpc": "2.0", "id": id_, "result": {EVIL: EVIL}})


class Malformed(Hostile):
    """Its list of tools has all kinds of wrong values."""

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "tools/list":
            return super().handle(method, params)
        properties: dict[str, Any] = {
            "a": {"type": ["integer", "null"], "minimum": "x", "maximum": 10**400, "minLength": -5, "enum": {}},
            "b": {"type": "string", "minLength": True, "maxLength": 2.5, "pattern": "("},
            "c": {"type": "number", "multipleOf": 1e-320, "minimum": -1e308, "maximum": 1e308},
            "d": [],
        }
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": [{}, 5, *properties]}
        read_only = {"annotations": {"readOnlyHint": True}}
        odd: list[Any] = [None, 5, [], {"name": 5}, {"name": "x", "inputSchema": [], "annotations": 7, "execution": []}]
        lists = {"type": "object", "properties": [1], "required": "abc"}
        return {"tools": [*odd, {"name": "y", "inputSchema": lists, **read_only}, {"inputSchema": schema, **read_only}]}


class Flood(Hostile):
    """Writes messages without end."""

    def harm(self, id_: Any) -> None:
        while True:
            params = {"level": "info", "data": "x" * 10_000}
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": params})


class Endless(Hostile):
    """Writes a line without end."""

    def harm(self, id_: Any) -> None:
        while True:
            sys.stdout.write("x" * (1 << 20))


class Asks(Hostile):
    """Asks back thousands of times before each answer."""

    def harm(self, id_: Any) -> None:
        for number in range(4_000):
            say({"jsonrpc": "2.0", "id": number, "method": "ping"})
        super().harm(id_)


class Many(Hostile):
    """Has more tools than anybody needs, all of the same name but one."""

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        tools = [{"name": "t", "description": "T", "inputSchema": OBJECT}] * 20_000
        return {"tools": tools} if method == "tools/list" else super().handle(method, params)


class Deep(Hostile):
    """Not hostile, but nested deeper than usual."""

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(150):
            schema = {"type": "object", "properties": {"a": schema}}
        tool = {"name": "t", "inputSchema": schema}
        return {"tools": [tool]} if method == "tools/list" else super().handle(method, params)

    def harm(self, id_: Any) -> None:
        self.written(id_, "[" * 150 + "]" * 150)


class Twice(Hostile):
    """Not hostile: its JSON has a name twice, half a surrogate and a number that is too large for most."""

    def harm(self, id_: Any) -> None:
        self.written(id_, '{"b": 1, "b": "\\ud800", "c": 1e999}')


if __name__ == "__main__":
    globals()[sys.argv[1]]().run()
