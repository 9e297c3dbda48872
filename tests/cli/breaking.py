"""A server over stdio that breaks the protocol in the ways that its arguments name; it does not use the runtime."""

import json
import sys
from typing import Any

BREAKS: dict[str, dict[str, Any]] = {
    "level": {"method": "notifications/message", "params": {"level": "loud", "data": 1}},
    "token": {"method": "notifications/progress", "params": {"progressToken": 77, "progress": 1}},
    "answer": {"id": 99, "result": {}},
    "undeclared": {"method": "notifications/tools/list_changed"},
    "request": {"id": 7, "method": "sampling/createMessage", "params": {"messages": 1, "maxTokens": 1}},
    "long": {"method": "notifications/message", "params": {"level": "info", "data": "x" * (17 << 20)}},
}
"""What is sent before the list of tools, by the way of breaking the protocol."""
CAPABILITIES: dict[str, Any] = {"tools": {}, "logging": {}}


def send(**message: Any) -> None:
    """Send a message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Answer until the client disconnects."""
    ways = sys.argv[1:]
    for line in sys.stdin:
        asked = json.loads(line)
        if "method" not in asked or "id" not in asked:
            continue
        if asked["method"] == "initialize":
            info = {"name": "breaking"} if "info" in ways else {"name": "breaking", "version": "1"}
            send(
                id=asked["id"],
                result={"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info},
            )
        elif asked["method"] == "tools/list":
            for way in ways:
                if way == "print":
                    print("starting", flush=True)
                elif way in BREAKS:
                    send(**BREAKS[way])
            tools = [{"name": "fine", "inputSchema": {"type": "object"}}]
            send(id=asked["id"], result={"tools": [*tools, {"name": "bare"}] if "tool" in ways else tools})
        else:
            send(id=asked["id"], error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()
