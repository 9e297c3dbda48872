"""Correct servers that do something unusual: `python -m check.odd_servers NAME`. They use nothing of ours."""

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final, cast

Json = dict[str, Any]

TOOL: Final[Json] = {
    "name": "look.up",
    "title": "Look up",
    "description": "Looks a word up.",
    "inputSchema": {
        "type": "object",
        "properties": {"word": {"type": "string", "minLength": 1, "maxLength": 5}},
        "required": ["word"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}


class Refused(Exception):
    """An error response: code, message, data."""


class Server:
    """A server of the legacy era with one tool, or with what a subclass changes."""

    revisions = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    capabilities: ClassVar[Json] = {"tools": {}}
    info: ClassVar[Json] = {"name": "odd", "version": ""}

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self.initialize,
            "ping": lambda params: {},
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
        }

    def initialize(self, params: Json) -> Json:
        version = params["protocolVersion"]
        version = version if version in self.revisions else self.revisions[-1]
        return {"protocolVersion": version, "capabilities": self.capabilities, "serverInfo": self.info}

    def list_tools(self, params: Json) -> Json:
        if "cursor" in params:
            raise Refused(-32602, "no such page")
        return {"tools": [TOOL]}

    def call_tool(self, params: Json) -> Json:
        if params.get("name") != TOOL["name"]:
            raise Refused(-32602, "unknown tool")
        arguments = params.get("arguments", {})
        word = arguments.get("word")
        is_valid = list(arguments) == ["word"] and isinstance(word, str) and 1 <= len(word) <= 5
        text = f"{word}: not found" if is_valid else "word must be 1 to 5 characters"
        return {"content": [{"type": "text", "text": text}], "isError": True}

    def send(self, message: Any) -> None:
        with self.lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def answer(self, message: Json) -> Json | None:
        """Return the answer to a message; None if it gets none."""
        if not isinstance(message.get("method"), str):
            is_answer = "result" in message or "error" in message
            return None if is_answer else self.error(None, -32600, "Invalid Request")
        if "id" not in message:
            return None
        if message["method"] not in self.methods:
            return self.error(message["id"], -32601, "Method not found")
        try:
            result = self.methods[message["method"]](message.get("params", {}))
        except Refused as refused:
            return self.error(message["id"], *refused.args)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def error(self, id_: Any, code: int, text: str) -> Json:
        return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}

    def received(self, line: str) -> None:
        try:
            message: Any = json.loads(line)
        except ValueError:
            self.send(self.error(None, -32700, "Parse error"))
            return
        if isinstance(message, list):
            answers = [each for each in map(self.answer, cast("list[Json]", message)) if each]
            self.send(answers) if answers else None
        elif answer := self.answer(cast("Json", message) if isinstance(message, dict) else {}):
            self.send(answer)

    def serve(self) -> None:
        for line in sys.stdin:
            self.received(line)


class Slow(Server):
    """It takes 3 s to start, and tells much of it on standard error."""

    def serve(self) -> None:
        time.sleep(3)
        sys.stderr.write("loading model weights\n" * 20_000)
        super().serve()


class Old(Server):
    """It speaks the first revision only, and agrees to no other one."""

    revisions = ("2024-11-05",)


class Bare(Server):
    """It offers nothing."""

    capabilities: ClassVar[Json] = {}

    def __init__(self) -> None:
        super().__init__()
        del self.methods["tools/list"], self.methods["tools/call"]


class Verbose(Server):
    """Results have metadata and members of its own; capabilities and a notification are of its own too."""

    capabilities: ClassVar[Json] = {
        "tools": {"listChanged": False},
        "experimental": {"odd": {"level": 1}},
        "logging": {},
    }

    def __init__(self) -> None:
        super().__init__()
        self.methods["logging/setLevel"] = self.set_level

    def set_level(self, params: Json) -> Json:
        if params.get("level") not in "debug info notice warning error critical alert emergency".split():
            raise Refused(-32602, "no such level")
        return {}

    def list_tools(self, params: Json) -> Json:
        return {**super().list_tools(params), "_meta": {"odd.example/took": 1.5}, "total": 1}

    def answer(self, message: Json) -> Json | None:
        answer = super().answer(message)
        if message.get("method") == "tools/call":
            told = {"level": "info", "logger": "odd", "data": {"called": True}}
            self.send({"jsonrpc": "2.0", "method": "notifications/message", "params": told})
        return answer


class Asking(Server):
    """As soon as it may, it asks the client for its roots, and pings it, whatever else is going on."""

    def __init__(self) -> None:
        super().__init__()
        self.has_roots = False

    def initialize(self, params: Json) -> Json:
        self.has_roots = "roots" in params["capabilities"]
        return super().initialize(params)

    def answer(self, message: Json) -> Json | None:
        if message.get("method") == "notifications/initialized":
            self.send({"jsonrpc": "2.0", "id": "ping-1", "method": "ping"})
            if self.has_roots:
                self.send({"jsonrpc": "2.0", "id": "roots-1", "method": "roots/list"})
        return super().answer(message)


class Parallel(Server):
    """Each message has a thread, so answers may come in another order; a call takes a moment."""

    def call_tool(self, params: Json) -> Json:
        time.sleep(0.3)
        return super().call_tool(params)

    def serve(self) -> None:
        self.received(sys.stdin.readline())  # the handshake comes first
        for line in sys.stdin:
            threading.Thread(target=self.received, args=(line,), daemon=True).start()


class Stuck(Parallel):
    """Its tool never answers; everything else does."""

    def call_tool(self, params: Json) -> Json:
        if params.get("name") == TOOL["name"]:
            threading.Event().wait()
        return super().call_tool(params)


class Strict(Server):
    """It refuses a revision that it does not speak with an error, and wrong arguments with -32602."""

    revisions = ("2025-06-18", "2025-11-25")

    def initialize(self, params: Json) -> Json:
        if params["protocolVersion"] not in self.revisions:
            raise Refused(-32602, "Unsupported protocol version")
        return super().initialize(params)

    def call_tool(self, params: Json) -> Json:
        result = super().call_tool(params)
        if "must" in result["content"][0]["text"]:
            raise Refused(-32602, result["content"][0]["text"])
        return result


SERVERS: Final = {each.__name__: each for each in (Server, Slow, Old, Bare, Verbose, Asking, Parallel, Stuck, Strict)}


if __name__ == "__main__":
    SERVERS[sys.argv[1]]().serve()
