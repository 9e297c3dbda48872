"""A server over stdio that answers each method as a JSON file says; its first argument names the file.

It does not use the runtime, so it can send invalid messages. Methods that are not in the file get an error response.
"""

import json
import sys
from pathlib import Path
from typing import Any

INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "serverInfo": {"name": "answering", "version": "1"},
}


def main() -> None:
    """Answer until the client disconnects."""
    answers: dict[str, Any] = {"initialize": INITIALIZED, **json.loads(Path(sys.argv[1]).read_text("utf-8"))}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        found = answers.get(message["method"])
        if message["method"] == "tools/call" and found is None:
            said = {"type": "text", "text": json.dumps(message["params"].get("arguments"))}
            found = {"content": [said]}
        if found is None:
            answer["error"] = {"code": -32601, "message": "no such method"}
        else:
            answer["result"] = found
        print(json.dumps(answer, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
