"""A server that fails after the handshake and a few good responses: bad_server.py deaf|mute|half."""

import json
import os
import sys
import time
from typing import Any

GOOD = 20
"""How many calls are answered well."""


def main() -> None:
    how, answered = sys.argv[1], 0
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if "id" not in asked or "method" not in asked:
            continue
        text = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result(asked["method"])}).encode()
        answered += asked["method"] == "tools/call"
        if answered <= GOOD:
            os.write(1, text + b"\n")
            continue
        if how == "half":
            os.write(1, text[: len(text) // 2])
            return
        if how == "mute":
            os.close(1)
        time.sleep(3600)


def result(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "x", "version": "0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    return {"content": [{"type": "text", "text": "well"}]}


if __name__ == "__main__":
    main()
