"""The messages that all sides read and write, in wire format. Needs nothing but the standard library."""

import json
from typing import Any

REVISION = "2025-11-25"
"""The revision of the codec measurements: the newest that opens with a handshake, and the peer's default."""
ID = 7
TOKEN = "call-7"
PROGRESS = 40

INITIALIZE_PARAMS: dict[str, Any] = {
    "protocolVersion": REVISION,
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}},
    "clientInfo": {"name": "bench-client", "title": "Benchmark", "version": "1.0.0"},
}
INITIALIZE_RESULT: dict[str, Any] = {
    "protocolVersion": REVISION,
    "capabilities": {
        "logging": {},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "tools": {"listChanged": True},
    },
    "serverInfo": {"name": "bench-server", "title": "Benchmark", "version": "1.0.0"},
    "instructions": "Call `echo` with a text.",
}
CALL_PARAMS: dict[str, Any] = {
    "name": "search_files",
    "arguments": {"query": "budget", "limit": 20, "paths": ["docs", "src"]},
    "_meta": {"progressToken": TOKEN},
}
CALL_RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "3 files match."}], "isError": False}
PROGRESS_PARAMS: dict[str, Any] = {
    "progressToken": TOKEN,
    "progress": PROGRESS,
    "total": 100,
    "message": "Reading docs",
}


def tool(number: int) -> dict[str, Any]:
    """Return a tool as servers offer it: three parameters, a title and hints."""
    return {
        "name": f"search_files_{number}",
        "title": f"Search files {number}",
        "description": "Finds files by their content. Returns one line for each match, with path and line number.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
                "paths": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


TOOLS_RESULT: dict[str, Any] = {"tools": [tool(number) for number in range(100)]}
TEXT_RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "All work and no play. " * 47_663}]}
"""One mebibyte of text."""
ESCAPED_RESULT: dict[str, Any] = {
    "content": [{"type": "text", "text": '    print("All work and no play.")\n' * 28_340}]
}
"""One mebibyte of text on the wire, a line break and two quotation marks in each line."""

_REQUESTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "initialize-request": ("initialize", INITIALIZE_PARAMS),
    "call-request": ("tools/call", CALL_PARAMS),
    "ping-request": ("ping", None),
}
_NOTIFICATIONS = {"progress-notification": ("notifications/progress", PROGRESS_PARAMS)}
RESULTS = {
    "initialize-result": ("initialize", INITIALIZE_RESULT),
    "call-result": ("tools/call", CALL_RESULT),
    "tools-result": ("tools/list", TOOLS_RESULT),
    "text-result": ("tools/call", TEXT_RESULT),
    "escaped-result": ("tools/call", ESCAPED_RESULT),
}
"""The method that each result answers, and the result."""

SMALL = (
    "initialize-request",
    "initialize-result",
    "call-request",
    "ping-request",
    "progress-notification",
    "call-result",
)
"""The small messages whose geometric mean is measured."""


def _document(method: str, params: dict[str, Any] | None, more: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **more, "method": method} | ({} if params is None else {"params": params})


DOCUMENTS: dict[str, dict[str, Any]] = {
    **{name: _document(method, params, {"id": ID}) for name, (method, params) in _REQUESTS.items()},
    **{name: _document(method, params, {}) for name, (method, params) in _NOTIFICATIONS.items()},
    **{name: {"jsonrpc": "2.0", "id": ID, "result": result} for name, (_, result) in RESULTS.items()},
}
WIRE = {name: json.dumps(document, separators=(",", ":")).encode() for name, document in DOCUMENTS.items()}
FROM_SERVER = frozenset((*RESULTS, *_NOTIFICATIONS))
"""The messages that a client receives."""
TEXTS: dict[str, tuple[str, bytes]] = {
    **{f"receive:{name}": (name, text) for name, text in WIRE.items()},
    **{f"decode:{name}": (name, WIRE[name]) for name in (*SMALL, "tools-result")},
    **{f"blanks:{name}": (name, json.dumps(DOCUMENTS[name]).encode()) for name in (*SMALL, "tools-result")},
}
"""The received texts by message name, compact or with spaces between tokens, as `json` writes them."""

_MODERN_META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench-client", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_MODERN_RESULT: dict[str, Any] = {"resultType": "complete"}
_CACHEABLE: dict[str, Any] = {"ttlMs": 1000, "cacheScope": "public"}


def opening(revision: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return method, params and result of the first messages of a connection: its opening, tools/list, tools/call."""
    tools = {"tools": [tool(0)]}
    if revision < "2026":
        hello = INITIALIZE_RESULT | {"protocolVersion": revision}
        return [
            ("initialize", INITIALIZE_PARAMS | {"protocolVersion": revision}, hello),
            ("tools/list", {"cursor": "2"}, tools),
            ("tools/call", CALL_PARAMS, CALL_RESULT),
        ]
    meta: dict[str, Any] = {"_meta": _MODERN_META}
    hello = {
        "supportedVersions": [revision],
        "capabilities": {"tools": {"listChanged": True}},
        "instructions": "Call `echo` with a text.",
    }
    return [
        ("server/discover", meta, {**hello, **_MODERN_RESULT, **_CACHEABLE}),
        ("tools/list", {"cursor": "2", **meta}, {**tools, **_MODERN_RESULT, **_CACHEABLE}),
        (
            "tools/call",
            {"name": "search_files", "arguments": {"query": "budget"}, **meta},
            CALL_RESULT | _MODERN_RESULT,
        ),
    ]
