"""Probes of the page "transports", and of "streamable-http" after it: statuses, headers and sessions."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_bindgen.check.client import NotJudged
from mcp_bindgen.check.probe import Context, Found, message_of, probe, wrong_answer
from mcp_bindgen.ir.json_values import as_object, json_value

if TYPE_CHECKING:
    from mcp_bindgen.check.posting import Answer, PostingPeer

GONE: Final = (404, 500)
"""Statuses of a session that has ended, and of a server that fails."""


async def posted(context: Context, row: Mapping[str, Any]) -> str | None:
    """Post the message of a row; return what is wrong with the status and the body."""
    peer = cast("PostingPeer", context.peer)
    if row.get("local") and not peer.is_local:
        raise NotJudged("a server that is not on this machine may accept every origin")
    send: str = row.get("send", "")
    text = send if send.startswith("[") else json.dumps(message_of(peer, row)) if send else ""
    answer = await peer.exchange(text, json.loads(row.get("headers", "{}")), row.get("http", "POST"))
    wrong = wrong_status(send.partition(" ")[0] or "GET", answer, row["status"], row.get("expect", ""))
    if wrong or answer.status == 202:  # after which the server may end
        control = await peer.exchange(json.dumps(peer.request(peer.always)), {})
        if wrong and (control.is_unrelated or control.status in GONE):
            raise NotJudged(f"{wrong}, but now a correct request is answered with {control.status} too")
    return wrong


def wrong_status(what: str, answer: "Answer", statuses: str, expected: str = "") -> str | None:
    """Return what is wrong with an answer of HTTP.

    Args:
        what: the method of the message.
        answer: the answer.
        statuses: those that are right, ``2xx`` and ``4xx`` for all of that kind; with ``empty``, a right 202 has no
            body, and with ``message``, the answer is JSON or a stream.
        expected: the message in it, as for `wrong_answer`.
    """
    words, status = statuses.split(), str(answer.status)
    if answer.is_unrelated and status not in words:
        raise NotJudged(f"{what} is answered with the status {status}")
    right = [word for word in words if word[0].isdigit()]
    if status not in right and f"{status[0]}xx" not in right:
        shown = [word for word in right if word.endswith("xx") or f"{word[0]}xx" not in right]
        return f"{what} is answered with the status {status}, not with {' or '.join(shown)}"
    if "empty" in words and status == "202" and answer.text:
        return f"{what} is answered with 202 and a body"
    if "message" in words and answer.type not in ("application/json", "text/event-stream"):
        return f"{what} is answered with {answer.type or 'no media type'}, not with JSON or a stream of events"
    message = as_object(json_value(answer.text))
    if expected and not message:
        return f"{what} is answered with {status} and no message, not with {expected}"
    return wrong_answer(what, message, expected) if expected else None


@probe("http.session-id", over="http")
async def session_id(context: Context) -> str | None:
    """Look at the id of the session."""
    is_visible = all(0x21 <= ord(char) <= 0x7E for char in cast("PostingPeer", context.peer).session)
    return None if is_visible else "the id of the session has other characters than visible ASCII"


@probe("http.session-gone", over="http", is_last=True)
async def session_gone(context: Context) -> str | None:
    """End the session, then send a ping in it."""
    peer = cast("PostingPeer", context.peer)
    if not peer.session or (await peer.exchange("", {}, "DELETE")).status >= 300:
        return None  # there is no session, or clients may not end it
    answer = await peer.exchange(json.dumps(peer.request("ping")), {})
    return wrong_status("a request of a session that has ended", answer, "404")


@probe("posts.arguments-differ", over="http")
async def mirrored_header(context: Context) -> str | None:
    """Call a tool with a header that differs from the argument that it repeats."""
    peer = cast("PostingPeer", context.peer)
    for tool in await context.listed("tools"):
        name, arguments = str(tool.get("name")), context.options.arguments(tool).smallest
        for each in peer.mirrored.get(name, ()) if context.options.wants(tool) else ():
            if peer.is_legacy or each.value_in(arguments) is None:
                continue
            context.options.calls += 1
            text = json.dumps(peer.request("tools/call", {"name": name, "arguments": arguments}))
            answer = await peer.exchange(text, {each.header: "mcp-bindgen-check"})
            return wrong_status(f"a call of {name} whose {each.header} differs", answer, "400", "error -32020")
    return None


@probe("posts.headers-decoded", also=("posts.headers-differ",), over="http")
async def named_header(context: Context) -> str | None:
    """Read a resource that does not exist, whose name the header has in base64, and then one of another name."""
    peer = cast("PostingPeer", context.peer)
    if "resources" not in peer.offered:
        return None
    text = json.dumps(peer.request("resources/read", {"uri": "x:y"}))
    encoded = await peer.exchange(text, {"mcp-name": "=?base64?eDp5?="})
    if '"code":-32020' in encoded.text.replace(" ", ""):
        return "a name in base64 in Mcp-Name is not decoded before it is compared"
    other = await peer.exchange(text, {"mcp-name": "x:z"})
    if reason := wrong_status("a request whose Mcp-Name differs from its body", other, "400", "error -32020"):
        context.find(Found("posts.headers-differ", reason))
    return None
