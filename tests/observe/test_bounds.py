"""What an observer remembers of a conversation is bounded, whatever either side sends."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from mcp_bindgen.live.recording import readings
from mcp_bindings import v2025_11_25
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.observe import ends, known, observer
from mcp_runtime.observe.observer import Observer

Message = dict[str, Any]
LONG = "x" * 500
FLOODS: dict[str, Callable[[int], list[tuple[Side, Message]]]] = {
    "open requests": lambda n: [(Side.CLIENT, request(n, "ping"))],
    "open requests with long ids": lambda n: [(Side.CLIENT, request(f"{n}{LONG * 8}", "ping"))],
    "open requests with long tokens": lambda n: [
        (Side.CLIENT, request(n, "ping", {"_meta": {"progressToken": f"{n}{LONG * 8}"}}))
    ],
    "calls with long names": lambda n: [(Side.CLIENT, request(n, "tools/call", {"name": f"{n}{LONG * 8}"}))],
    "calls with large arguments": lambda n: [
        (Side.CLIENT, request(n, "tools/call", {"name": "t", "arguments": {"x": f"{n}{LONG * 8}"}}))
    ],
    "requests of the server with large params": lambda n: [
        (Side.SERVER, request(n, "elicitation/create", {"message": f"{n}{LONG * 8}", "mode": "form"}))
    ],
    "cancelled requests": lambda n: [
        (Side.CLIENT, request(n, "ping", {"_meta": {"progressToken": n}})),
        (Side.CLIENT, note("notifications/cancelled", {"requestId": n})),
    ],
    "requests of the server": lambda n: [(Side.SERVER, request(n, "ping"))],
    "cursors": lambda n: [
        (Side.CLIENT, request(n, "tools/list")),
        (Side.SERVER, result(n, {"tools": [], "nextCursor": f"{n}{LONG}"})),
    ],
    "tools with large schemas": lambda n: [
        (Side.CLIENT, request(n, "tools/list")),
        (Side.SERVER, result(n, {"tools": [tool(f"{n}{LONG}", {"description": LONG})]})),
    ],
    "tools with schemas that are too large": lambda n: [
        (Side.CLIENT, request(n, "tools/list")),
        (Side.SERVER, result(n, {"tools": [tool(f"t{n}", {"description": LONG * 8})]})),
    ],
    "tasks": lambda n: [(Side.SERVER, note("notifications/tasks/status", {"taskId": f"{n}", "status": "working"}))],
    "web pages": lambda n: [
        (Side.SERVER, request(n, "elicitation/create", {"mode": "url", "elicitationId": f"{n}{LONG}"}))
    ],
}


def request(id_: object, method: str, params: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def note(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id_: object, value: Message) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def tool(name: str, schema: Message) -> Message:
    return {"name": name, "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", **schema}}


INFO = {"name": "x", "version": "1"}
HELLO = (
    (
        Side.CLIENT,
        request(
            "hello",
            "initialize",
            {"protocolVersion": "2025-11-25", "clientInfo": INFO, "capabilities": {"elicitation": {"url": {}}}},
        ),
    ),
    (
        Side.SERVER,
        result("hello", {"protocolVersion": "2025-11-25", "serverInfo": INFO, "capabilities": {"tools": {}}}),
    ),
    (Side.CLIENT, note("notifications/initialized", {})),
)


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_leaves_little(flood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ends, known):
        for name, limit in {"MAX_OPEN": 50, "MAX_KNOWN": 50, "MAX_SUBJECT": 100, "MAX_SCHEMA": 2_000}.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, limit)
    monkeypatch.setattr("mcp_runtime.observe.talk.MAX_OPEN", 50)
    monkeypatch.setattr("mcp_runtime.core.protocol.session.MAX_REMEMBERED", 50)
    monkeypatch.setattr(observer, "MAX_NAME", 100)
    watching = Observer([v2025_11_25.BINDING])

    def take(start: int, end: int) -> None:
        for number in range(start, end):
            for sender, message in FLOODS[flood](number):
                watching.take(sender, json.dumps(message).encode())

    for sender, message in HELLO:
        assert watching.take(sender, json.dumps(message).encode()) == []
    take(0, 100)
    tracemalloc.start()
    try:
        take(100, 1_500)
        assert tracemalloc.get_traced_memory()[0] < 120_000
    finally:
        tracemalloc.stop()


def test_values_are_limited_as_the_runtime_limits_them() -> None:
    """A message that only this reader refuses is not the fault of its sender."""
    watching = Observer([v2025_11_25.BINDING])
    many = request(1, "ping", {"x": [0] * 500_000})
    assert watching.take(Side.CLIENT, json.dumps(many).encode()) == [] and watching.unjudged == 1


@pytest.mark.parametrize("is_same", [False, True])
def test_a_log_of_unanswered_requests_leaves_little(is_same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "MAX_OPEN", 50)
    monkeypatch.setattr(readings, "MAX_SAME", 5)
    reader = readings.Reader(["2025-11-25"])

    def read(start: int, end: int) -> None:
        for number in range(start, end):
            message = request(1 if is_same else f"{number}{LONG}", "ping", {"x": LONG * 8})
            assert reader.read(json.dumps(message).encode(), number).is_valid

    read(0, 100)
    tracemalloc.start()
    try:
        read(100, 1_500)
        assert tracemalloc.get_traced_memory()[0] < 120_000
    finally:
        tracemalloc.stop()
