"""A server over stdio that takes its answer to each method from a JSON file, which its first argument names.

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
        result = answers.get(message["method"])
        if message["method"] == "tools/call" and result is None:
            echo = {"type": "text", "text": json.dumps(message["params"].get("arguments"))}
            result = {"content": [echo]}
        if result is None:
            answer["error"] = {"code": -32601, "message": "no such method"}
        else:
            answer["result"] = result
        print(json.dumps(answer, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
