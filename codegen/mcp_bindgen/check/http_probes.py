"""Probes of HTTP: statuses, headers and sessions."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_bindgen.check.client import object_of
from mcp_bindgen.check.posting import Answer, PostingPeer
from mcp_bindgen.check.probes import Context, NotJudged, message_of, probe, wrong_answer

UNRELATED: Final = (401, 402, 407, 429, 502, 503, 504)
"""Statuses that have nothing to do with what was sent: of authorization, limits of rates, and proxies."""


async def posted(context: Context, row: Mapping[str, Any]) -> str | None:
    """Post the message of a row; return what is wrong with the status and the body."""
    peer = context.peer
    assert isinstance(peer, PostingPeer), "the probes of HTTP run over HTTP"
    if row.get("local") and not peer.is_local:
        raise NotJudged("a server that is not on this machine may accept every origin")
    send: str = row.get("send", "")
    text = send if send.startswith("[") else json.dumps(message_of(peer, row)) if send else ""
    answer = await peer.exchange(text, json.loads(row.get("headers", "{}")), row.get("http", "POST"))
    return wrong_status(send.partition(" ")[0] or "GET", answer, row["status"], row.get("expect", ""))


def wrong_status(what: str, answer: Answer, statuses: str, expected: str = "") -> str | None:
    """Return what is wrong with an answer of HTTP.

    Args:
        what: the method of the message.
        answer: the answer.
        statuses: those that are right, ``4xx`` for all errors; with ``empty``, a right 202 has no body, and with
            ``message``, the answer is JSON or a stream.
        expected: the message in it, as for `wrong_answer`.
    """
    if answer.status in UNRELATED and str(answer.status) not in statuses:
        raise NotJudged(f"{what} is answered with the status {answer.status}")
    words = statuses.split()
    right = [word for word in words if word[0].isdigit()]
    if str(answer.status) not in right and not ("4xx" in right and 400 <= answer.status < 500):
        return f"{what} is answered with the status {answer.status}, not with {' or '.join(right)}"
    if "empty" in words and answer.status == 202 and answer.text:
        return f"{what} is answered with 202 and a body"
    if "message" in words and answer.type not in ("application/json", "text/event-stream"):
        return f"{what} is answered with {answer.type or 'no media type'}, not with JSON or a stream of events"
    if not expected:
        return None
    try:
        return wrong_answer(what, object_of(json.loads(answer.text)), expected)
    except ValueError:
        return f"{what} is answered with {answer.status} and no message, not with {expected}"


@probe("http.session-id", over="http")
async def session_id(context: Context) -> str | None:
    """Look at the id of the session."""
    peer = context.peer
    assert isinstance(peer, PostingPeer), "it runs over HTTP"
    is_visible = all(0x21 <= ord(char) <= 0x7E for char in peer.session)
    return None if is_visible else "the id of the session has other characters than visible ASCII"


@probe("http.session-gone", over="http", is_last=True)
async def session_gone(context: Context) -> str | None:
    """End the session, then send a ping in it."""
    peer = context.peer
    assert isinstance(peer, PostingPeer), "it runs over HTTP"
    if not peer.session or (await peer.exchange("", {}, "DELETE")).status >= 300:
        return None  # there is no session, or clients may not end it
    answer = await peer.exchange(json.dumps(peer.request("ping")), {})
    return wrong_status("a request of a session that has ended", answer, "404")


@probe("posts.headers-decoded", also=("posts.headers-differ",), over="http")
async def named_header(context: Context) -> str | None:
    """Read a resource that does not exist, whose name the header has in base64, and then one of another name."""
    peer = context.peer
    assert isinstance(peer, PostingPeer), "it runs over HTTP"
    if "resources" not in peer.offered:
        return None
    text = json.dumps(peer.request("resources/read", {"uri": "x:y"}))
    encoded = await peer.exchange(text, {"mcp-name": "=?base64?eDp5?="})
    if '"code":-32020' in encoded.text.replace(" ", ""):
        return "a name in base64 in Mcp-Name is not decoded before it is compared"
    other = await peer.exchange(text, {"mcp-name": "x:z"})
    if reason := wrong_status("a request whose Mcp-Name differs from its body", other, "400", "error -32020"):
        context.find("posts.headers-differ", "", reason)
    return None
