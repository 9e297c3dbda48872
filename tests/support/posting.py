"""Helpers for tests with many channels: post a message over a new one, and wait for the response."""

from typing import Any

from support.channels import Stream, Streams


async def answer(channel: Stream, id_: Any) -> Any:
    """Wait for the answer to a request."""
    return await channel.until(lambda message: message.get("id") == id_ and "method" not in message)


def post(streams: Streams, **message: Any) -> Stream:
    """Deliver a message over a new channel, and return the channel."""
    streams.deliver(stream := Stream(), **message)
    return stream


async def shake_hands(streams: Streams, revision: str, channel: type[Stream] = Stream, **capabilities: Any) -> None:
    """Do the handshake over channels of the given class."""
    info = {"name": "streams", "version": "0"}
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info}
    first = channel()
    streams.deliver(first, id="hello", method="initialize", params=params)
    await answer(first, "hello")
    streams.deliver(channel(), method="notifications/initialized")
