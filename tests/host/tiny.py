"""A server of one tool in plain JSON, which starts in 20 ms; its argument says how it misbehaves."""

import json
import os
import sys
import time
from typing import Any

KIND = sys.argv[1]
if KIND == "dead":
    sys.exit(1)
if KIND == "hanging":
    time.sleep(1000)
while KIND == "flooding":
    print("x" * 10_000, flush=True)
HELLO: Any = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": KIND, "version": "1"},
}
for line in sys.stdin:
    answer: Any
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            answer = {"result": HELLO}
        case "tools/list":
            if KIND == "crashing":
                os._exit(3)
            if KIND == "slow":
                time.sleep(1000)
            answer = {"result": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}}
        case "tools/call":
            answer = {"result": {"content": [{"type": "text", "text": KIND}]}}
        case _:
            answer = {"error": {"code": -32601, "message": "unknown"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
