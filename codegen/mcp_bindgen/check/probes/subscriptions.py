"""Probes of the page "subscriptions"."""

import asyncio

from mcp_bindgen.check.client import PAUSE, NotJudged, told
from mcp_bindgen.check.probe import LISTS, Context, probe


@probe("listening.acknowledged", is_last=True)
async def listen(context: Context) -> str | None:
    """Subscribe to changes, and end the subscription."""
    peer = context.peer
    flags = {f"{name}ListChanged": True for name in LISTS if context.has(f"{name}.listChanged")}
    if not flags:
        return None
    request = peer.request("subscriptions/listen", {"notifications": flags})
    await peer.send(request)
    deadline = asyncio.get_running_loop().time() + PAUSE * 3
    while True:
        message = await peer.next(deadline)
        if message.get("id") == request["id"]:
            raise NotJudged(f"subscriptions/listen is answered by {told(message)}")
        if message.get("method") == "notifications/subscriptions/acknowledged":
            await peer.settle(PAUSE / 3)
            if peer.cancels:
                await peer.send(peer.request("notifications/cancelled", {"requestId": request["id"]}))
            return None
