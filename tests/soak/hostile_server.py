"""A server that sends hostile lines before each answer to a tool call: hostile_server.py SEED LINES."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from soak.fire import honest
from soak.hostile import Hostile


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    hostile = Hostile(seed, honest("2025-11-25", "ping", "roots/", "sampling/", "notifications/"))
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if "method" in asked and "id" in asked:
            if asked["method"] == "tools/call":
                for _ in range(count):
                    for hostile_line in hostile.lines():
                        out.write(hostile_line.replace(b"\n", b" ") + b"\n")
            out.write(
                json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result(asked["method"])}).encode() + b"\n"
            )
            out.flush()


def result(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "x", "version": "0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    return {"content": [{"type": "text", "text": "well"}]} if method == "tools/call" else {}


if __name__ == "__main__":
    main()
