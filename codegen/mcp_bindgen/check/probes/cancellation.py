"""Probes of the page "cancellation", of both eras."""

from mcp_bindgen.check.probe import Context, probe, wrong_answer


@probe("cancellation.races", answered=True)
@probe("alone.cancel-races", answered=True)
async def cancel_late(context: Context) -> str | None:
    """Cancel a request that was answered; the next one is answered too."""
    peer = context.peer
    request = peer.request(peer.always)
    await peer.send(request)
    await peer.answer_to(request["id"])
    if peer.cancels:
        await peer.send(peer.request("notifications/cancelled", {"requestId": request["id"]}), is_valid=False)
    return wrong_answer(f"{peer.always} after a late cancellation", await peer.ask(peer.always), "result")
