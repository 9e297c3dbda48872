"""Probes of the page "lifecycle", and of "versioning" after it: how a conversation begins."""

import json
from typing import Final

from mcp_bindgen.check.client import NotJudged
from mcp_bindgen.check.probe import Context, Found, probe
from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.json_values import as_object

UNKNOWN: Final = "1999-12-31"
"""A revision that nobody speaks."""


@probe("lifecycle.version-other", also=("lifecycle.version-other-latest",))
async def version_other(context: Context) -> str | None:
    """Ask for a revision that nobody speaks, in a new conversation."""
    if context.spoken[0] != context.peer.revision:
        return None  # once is enough
    async with context.other() as peer:
        answer = await peer.ask("initialize", {**peer.hello, "protocolVersion": UNKNOWN})
    chosen = as_object(answer.get("result")).get("protocolVersion")
    if "result" not in answer:
        raise NotJudged("a server may also refuse an unknown revision by an error")
    if chosen == UNKNOWN:
        return f"a request for {UNKNOWN} is accepted"
    if isinstance(chosen, str) and chosen in LEGACY and chosen < context.spoken[0]:
        reason = f"a request for {UNKNOWN} is answered with {chosen}, and the server speaks {context.spoken[0]}"
        context.find(Found("lifecycle.version-other-latest", reason))
    return None


@probe("modern.initialize-refused")
async def initialize_refused(context: Context) -> str | None:
    """Send the handshake of the legacy era to a server that has none."""
    if context.has("legacy"):
        return None
    async with context.other() as peer:
        peer.revision = LEGACY[-1]
        answer = await peer.ask("initialize", peer.hello)
    if any(revision in json.dumps(answer) for revision in context.spoken):
        return None
    return "the answer to `initialize` does not name a revision that the server speaks"
