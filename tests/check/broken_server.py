"""A server of 2025-03-26, 2025-06-18 and 2025-11-25 with one bug, named by its argument; without one it is correct."""

import json
import sys
from typing import Any, cast

KNOWN = ("2025-03-26", "2025-06-18", "2025-11-25")


def say(message: Any) -> None:
    print(json.dumps(message), flush=True)


def result_of(message: dict[str, Any], bug: str) -> dict[str, Any] | None:
    """Return the result of a request; None for an unknown method."""
    method = message["method"]
    params = message.get("params", {})
    if method == "initialize":
        asked = params["protocolVersion"]
        capabilities: dict[str, Any] = {} if bug == "undeclared" else {"tools": {}}
        found = {"protocolVersion": asked if asked in KNOWN else KNOWN[-1], "capabilities": capabilities}
        return found if bug == "no-info" else {**found, "serverInfo": {"name": "broken", "version": "1"}}
    if method == "ping":
        return None if bug == "no-ping" else {"pong": True} if bug == "pong" else {}
    if method == "tools/list":
        if params.get("cursor") == "2":
            return {"tools": []}
        tools: list[dict[str, Any]] = [{"name": "add", "inputSchema": {"type": "object"}}]
        if bug == "no-schema":
            del tools[0]["inputSchema"]
        more = {"nextCursor": "2"} if bug in ("any-cursor", "pages") else {}
        return {"tools": tools, **more}
    return None


def reply(message: dict[str, Any], bug: str) -> dict[str, Any] | None:
    """Return the answer to a message, None for none."""
    if "id" not in message:
        if message["method"] in ("notifications/initialized",):
            return None
        is_error = bug == "answers-all" or (bug == "answers-cancel" and message["method"] == "notifications/cancelled")
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}} if is_error else None
    id_ = message["id"]
    if bug == "int-ids" and isinstance(id_, str):
        id_ = 0
    answer = {"jsonrpc": "2.0", "id": id_}
    cursor = message.get("params", {}).get("cursor")
    if bug == "pages" and cursor not in (None, "2"):
        return {**answer, "error": {"code": -32602, "message": "invalid cursor"}}
    found = result_of(message, bug)
    if found is None:
        code: Any = "E1" if bug == "code" else -32601
        return {**answer, "error": {"code": code} if bug == "no-message" else {"code": code, "message": "no"}}
    if bug == "both":
        return {**answer, "result": found, "error": {"code": 1, "message": "x"}}
    return {**answer, "result": found}


def main(bug: str) -> None:
    if bug == "noise":
        print("Listening on standard input.", flush=True)
    for line in sys.stdin:
        message: Any = json.loads(line)
        if isinstance(message, list):
            calls = cast("list[dict[str, Any]]", message)
            if bug != "no-batches":
                say([answer for each in calls if (answer := reply(each, bug)) is not None])
            continue
        if bug == "dies" and message["method"] == "ping":
            sys.exit(3)
        answer = reply(message, bug)
        if answer is not None:
            say(answer)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
