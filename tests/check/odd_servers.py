"""Correct servers in the styles of other authors, each a loop over lines: ``python -m check.odd_servers STYLE``."""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, Final

OBJECT: Final[dict[str, Any]] = {"type": "object"}
LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
DRAFT_7: Final[dict[str, Any]] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "minimum": 0, "exclusiveMinimum": 0, "default": 5},
        "kind": {"$ref": "#/definitions/kind"},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
        "anything": {"not": False},
    },
    "required": ["limit", "kind"],
    "definitions": {"kind": {"enum": ["a", "b"]}},
    "additionalProperties": False,
}
DRAFT_4: Final[dict[str, Any]] = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "type": "object",
    "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1}},
    "required": ["n"],
}


class Refusal(Exception):
    """An error response: its code."""


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def text(value: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **({"isError": True} if failed else {})}


class Odd:
    """A server that speaks the legacy era; a subclass is a style."""

    revisions: tuple[str, ...] = LEGACY
    capabilities: ClassVar[dict[str, Any]] = {"tools": {}}
    schemas: ClassVar[dict[str, dict[str, Any]]] = {"run": OBJECT}
    annotations: ClassVar[dict[str, Any]] = {"readOnlyHint": True}
    is_begun = False

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request."""
        if method == "initialize":
            asked = params["protocolVersion"]
            chosen = asked if asked in self.revisions else self.revisions[-1]
            info = {"name": "odd", "version": "v1-beta+3", "title": "Odd", "homepage": "x"}
            self.is_begun = True
            return {"protocolVersion": chosen, "capabilities": self.capabilities, "serverInfo": info}
        if method == "ping":
            return {}
        if method == "tools/list" and "tools" in self.capabilities:
            shared = {"annotations": self.annotations, "icon": "x"}
            return {"tools": [{"name": name, "inputSchema": each, **shared} for name, each in self.schemas.items()]}
        if method == "tools/call" and "tools" in self.capabilities:
            return self.call(params["name"], params.get("arguments", {}))
        raise Refusal(-32601)

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text(f"Grüße, {name}")

    def notified(self, method: str) -> None:
        """Take a notification."""

    def take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            return
        if "id" not in message:
            self.notified(message["method"])
            return
        try:
            answer = {"result": self.handle(message["method"], message.get("params", {}))}
        except Refusal as error:
            answer = {"error": {"code": error.args[0], "message": "no", "data": {"why": ["x"]}}}
        self.answer({"jsonrpc": "2.0", "id": message["id"], **answer})

    def answer(self, answer: dict[str, Any]) -> None:
        say(answer)

    def run(self) -> None:
        for line in sys.stdin:
            messages: Any = json.loads(line if line[0] == "[" else f"[{line}]")
            for message in messages:
                self.take(message)


class NeedsVariable(Odd):
    def run(self) -> None:
        if os.environ.get("ODD_TOKEN") != "s3cret":
            sys.exit("ODD_TOKEN is not set")
        super().run()


class Nothing(Odd):
    capabilities: ClassVar[dict[str, Any]] = {}


class LogsMuch(Odd):
    def take(self, message: dict[str, Any]) -> None:
        print("debug " * 20_000, file=sys.stderr, flush=True)
        super().take(message)


class StartsSlowly(Odd):
    def run(self) -> None:
        time.sleep(2)
        super().run()


class OldOnly(Odd):
    revisions = ("2024-11-05",)


class Fails(Odd):
    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text("no network: connection refused", failed=True)


class Strict(Odd):
    """Refuses whatever differs from its schemas in any way."""

    schemas: ClassVar[dict[str, dict[str, Any]]] = {
        "seven": DRAFT_7,
        "four": DRAFT_4,
        "null": {**OBJECT, "properties": {}},
    }

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        arguments = {"limit": 5, **arguments} if name == "seven" else arguments  # it fills in what has a default
        allowed = self.schemas[name].get("properties", {})
        kinds = {"limit": int, "pair": list, "kind": str, "n": int | float}
        if not {*self.schemas[name].get("required", ())} <= arguments.keys() <= allowed.keys():
            raise Refusal(-32602)
        if any(not isinstance(value, kinds.get(key, object)) for key, value in arguments.items()):
            raise Refusal(-32602)
        good = arguments.get("kind", "a") in ("a", "b") and arguments.get("limit", 1) > 0
        return text("done", failed=not (good and 0 < arguments.get("n", 1) <= 1))


class Writes(Odd):
    annotations: ClassVar[dict[str, Any]] = {"readOnlyHint": False}

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        Path("was-called").touch()
        return text("written")


class Hangs(Odd):
    """Its tool waits for a network that does not answer."""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        time.sleep(3)
        return text("too late")


class Ends(Odd):
    """Ends at anything before the handshake, as some do."""

    def take(self, message: dict[str, Any]) -> None:
        if not self.is_begun and message.get("method") != "initialize":
            sys.exit(1)
        super().take(message)


class NeedsDatabase(Odd):
    """Gives up soon after it has begun, whatever it is sent, as one does that finds no database."""

    def notified(self, method: str) -> None:
        if method == "notifications/initialized":
            threading.Timer(0.8, os._exit, [1]).start()

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        time.sleep(5)  # however fast its client is, it waits here when the server gives up
        return text("too late")


class Mute(Odd):
    """Does not answer anything before the handshake, and closes nothing at the end of its input."""

    def take(self, message: dict[str, Any]) -> None:
        if self.is_begun or message.get("method") == "initialize":
            super().take(message)

    def run(self) -> None:
        super().run()
        time.sleep(60)


class Talks(Odd):
    """Logs, reports changes, pings, and asks for roots only if the client has them; answers are out of order."""

    capabilities: ClassVar[dict[str, Any]] = {"tools": {"listChanged": True}, "logging": {}, "experimental": {"x": {}}}

    def notified(self, method: str) -> None:
        if method == "notifications/initialized":
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": None}})
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            say({"jsonrpc": "2.0", "id": "p-1", "method": "ping"})

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "logging/setLevel":
            if params["level"] == "loud":
                raise Refusal(-32602)
            return {"_meta": {"odd/x": 1}}
        return super().handle(method, params)

    def answer(self, answer: dict[str, Any]) -> None:
        threading.Timer(0.05, say, [answer]).start()


class Pages(Odd):
    """Lists in pages, with resources of many forms."""

    capabilities: ClassVar[dict[str, Any]] = {
        "tools": {},
        "resources": {"subscribe": False},
        "prompts": {"listChanged": False},
    }
    lists: ClassVar[dict[str, list[dict[str, Any]]]] = {
        "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in range(3)],
        "resources": [{"uri": uri, "name": uri} for uri in ("odd+x:a%20b", "urn:isbn:1", "file:///C:/a", "x://é/")],
        "resourceTemplates": [{"uriTemplate": "odd://{+path}{?q*}", "name": "t"}],
        "prompts": [{"name": "p", "arguments": [{"name": "a", "required": False}]}, {"name": "q"}],
    }

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        name = "resourceTemplates" if method == "resources/templates/list" else method.partition("/")[0]
        if method.endswith("/list") and name in self.lists:
            start = str(params.get("cursor", "0"))
            if not start.isdigit():
                raise Refusal(-32602)
            more = {"nextCursor": str(int(start) + 1)} if int(start) + 1 < len(self.lists[name]) else {}
            return {name: self.lists[name][int(start) : int(start) + 1], **more}
        if method == "resources/read":
            if params["uri"] not in [each["uri"] for each in self.lists["resources"]]:
                raise Refusal(-32002)
            return {
                "contents": [{"uri": params["uri"], "blob": ""}, {"uri": "x:1", "text": "é", "mimeType": "a/b;c=d"}]
            }
        if method == "prompts/get":
            if params["name"] not in ("p", "q"):
                raise Refusal(-32602)
            return {"messages": [{"role": "assistant", "content": {"type": "text", "text": ""}}]}
        return super().handle(method, params)


class Ignores(Odd):
    """Not correct: it does not answer what it does not know."""

    def answer(self, answer: dict[str, Any]) -> None:
        if answer.get("error", {}).get("code") != -32601:
            super().answer(answer)


class Banner(Odd):
    """Not correct: its first line is not a message."""

    def run(self) -> None:
        print("Odd server 1.0 is listening on stdio", flush=True)
        super().run()


if __name__ == "__main__":
    globals()[sys.argv[1]]().run()
