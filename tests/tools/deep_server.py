"""A program that lists one tool, whose schema is nested 10,000 deep."""

import json
import sys

DEEP = '{"items":' * 10_000 + "1" + "}" * 10_000
WELCOME: dict[str, object] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "deep", "version": "1"},
}

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": WELCOME}), flush=True)
    elif message.get("method") == "tools/list":
        tools = f'{{"tools": [{{"name": "x", "inputSchema": {DEEP}}}]}}'
        print(f'{{"jsonrpc": "2.0", "id": {json.dumps(message["id"])}, "result": {tools}}}', flush=True)
