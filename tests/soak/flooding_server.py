"""A server that floods its client while it answers: flooding_server.py KIND COUNT."""

import json
import os
import sys
from typing import Any

TEXT = "x" * 100_000


def flood(kind: str, number: int) -> dict[str, Any]:
    """Return one message of a flood."""
    match kind:
        case "requests":
            messages = [{"role": "user", "content": {"type": "text", "text": TEXT}}]
            return {
                "id": f"f{number}",
                "method": "sampling/createMessage",
                "params": {"messages": messages, "maxTokens": 1},
            }
        case "notifications":
            return {"method": "notifications/message", "params": {"level": "info", "data": TEXT}}
        case "progress":
            return {
                "method": "notifications/progress",
                "params": {"progressToken": 3, "progress": number, "message": TEXT},
            }
        case _:
            return {"id": f"f{number}", "result": {TEXT: 1}}


def main() -> None:
    kind, count = sys.argv[1], int(sys.argv[2])
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if "id" not in asked or "method" not in asked:
            continue
        if asked["method"] == "tools/call":
            for number in range(count):
                send(flood(kind, number))
        send({"id": asked["id"], "result": result(asked["method"])})


def send(message: dict[str, Any]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


def result(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "x", "version": "0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": info}
    return {"content": [{"type": "text", "text": "well"}]} if method == "tools/call" else {}


if __name__ == "__main__":
    main()
