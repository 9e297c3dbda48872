"""Where a client resumes a stream of events, and when."""

import json
from typing import Any

import httpx2
import pytest

from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.http.client.streamable import MAX_RETRY, Position
from support.http import served
from support.http_server import chatty


@pytest.mark.parametrize("event_id", ["7", "Café-€"])
async def test_a_stream_is_resumed_after_an_event_with_any_id(event_id: str) -> None:
    endpoint = asgi_app(chatty("2025-11-25"))
    asked: list[bytes] = []
    answered: dict[str, Any] = {}

    async def front(scope: Any, receive: Any, send: Any) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if scope["method"] == "GET" and (last := headers.get(b"last-event-id")):
            asked.append(last)
            await reply(send, f"data: {json.dumps(answered)}\n\n")
            return
        message: dict[str, Any] = await receive() if scope["method"] == "POST" else {}
        if b'"ping"' not in message.get("body", b""):
            await endpoint(scope, once(message, receive), send)
            return
        answered.update(jsonrpc="2.0", id=json.loads(message["body"])["id"], result={})
        await reply(send, f"id: {event_id}\nretry: 1\ndata:\n\n")

    async with served(front, lifespan="off") as url, connect_http(url) as peer:
        await (await Client.open(peer)).ping()
    assert asked == [event_id.encode()]


async def reply(send: Any, events: str) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": events.encode()})


def once(message: Any, receive: Any) -> Any:
    """Return a function that receives a message again, and then what follows it."""
    waiting = [message] if message else []

    async def again() -> Any:
        return waiting.pop() if waiting else await receive()

    return again


@pytest.mark.parametrize("digits", [6, 4000])
def test_a_delay_is_a_day_at_most(digits: int) -> None:
    position = Position()
    position.note(httpx2.ServerSentEvent(retry=int("9" * digits)))
    assert position.wait(0) == (999.999 if digits == 6 else 86_400)


def test_a_server_may_be_away_for_any_time() -> None:
    assert [Position().wait(failures) for failures in (10, 1_000_000)] == [MAX_RETRY] * 2
