"""What is sent to provoke an answer that a requirement determines: each probe checks one row of schema/requirements."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_bindgen.check.peer import PAUSE, Silent, list_of, object_of
from mcp_bindgen.check.posting import VERSION, PostingPeer
from mcp_bindgen.check.requirements import LEGACY, MODERN, rows
from mcp_bindgen.check.talk import Talk, meta

Run: TypeAlias = Callable[[Talk], Awaitable[str | None]]
"""Sends messages; returns what is wrong with the answer, None if nothing is."""

INVALID_PARAMS: Final = -32602
UNSUPPORTED: Final = -32022
UNKNOWN: Final = "1999-12-31"
"""A revision that nobody speaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One probe: the requirement, the revisions in which it is sent, and what it does.

    A server that breaks the requirement `follows` breaks this one too, for the same cause. `is_of_http` probes run over
    HTTP only.
    """

    requirement: str
    revisions: tuple[str, ...]
    run: Run
    follows: str = ""
    is_of_http: bool = False


PROBES: Final[dict[str, Probe]] = {}
"""All probes by their requirement, in the order in which they run."""


def probe(requirement: str, *, follows: str = "", is_of_http: bool = False) -> Callable[[Run], Run]:
    """Register the probe of a requirement, for the revisions in which that applies."""

    def register(run: Run) -> Run:
        revisions = rows()[requirement].revisions
        PROBES[requirement] = Probe(
            requirement=requirement, revisions=revisions, run=run, follows=follows, is_of_http=is_of_http
        )
        return run

    return register


@probe("ping.answered")
async def ping(talk: Talk) -> str | None:
    """Send a ping."""
    answer = await talk.ask("ping")
    if "result" not in answer:
        return f"a ping is answered by {_told(answer)}"
    extra = sorted(object_of(answer["result"]).keys() - {"_meta"})
    return f"the result of a ping has {', '.join(extra)}; it must be empty" if extra else None


@probe("messages.answer-id", follows="ping.answered")
async def string_id(talk: Talk) -> str | None:
    """Send a request whose id is a string."""
    params = None if talk.is_legacy else {"_meta": meta(talk.revision)}
    method = "ping" if talk.is_legacy else "server/discover"
    await talk.peer.ask(method, params, id="a-text")
    return None


@probe("messages.notification-no-answer")
async def notification(talk: Talk) -> str | None:
    """Send a notification that does not exist."""
    content = {} if talk.is_legacy else {"params": {"_meta": meta(talk.revision)}}
    await talk.peer.send({"jsonrpc": "2.0", "method": "notifications/nobody-knows-this", **content}, is_valid=False)
    answer = await _error_without_request(talk)
    return f"an unknown notification is answered by {answer}" if answer else None


@probe("cancellation.invalid-ignored", follows="messages.notification-no-answer")
async def cancel_nothing(talk: Talk) -> str | None:
    """Cancel a request that was never sent."""
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "never-sent"}}
    await talk.peer.send(cancelled, is_valid=False)
    answer = await _error_without_request(talk)
    return f"a cancellation of a request that was never sent is answered by {answer}" if answer else None


@probe("pagination.invalid")
async def invalid_cursor(talk: Talk) -> str | None:
    """A server without pages may ignore cursors; one that gave a cursor must know which are its own."""
    for capability, method in (("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")):
        if capability not in talk.capabilities:
            continue
        first = await talk.ask(method)
        if "nextCursor" not in object_of(first.get("result")):
            continue
        answer = await talk.ask(method, {"cursor": "not a cursor of this server"}, is_valid=False)
        if _code(answer) != INVALID_PARAMS:
            return f"{method} with an invalid cursor is answered by {_told(answer)}, not by the error {INVALID_PARAMS}"
    return None


def _declared(capability: str) -> Run:
    async def run(talk: Talk) -> str | None:
        if capability in talk.capabilities:
            return None
        answer = await talk.ask(f"{capability}/list", is_valid=False)
        if listed := list_of(object_of(answer.get("result")).get(capability)):
            return f"{capability}/list has {len(listed)}, and the capability {capability} is not declared"
        return None

    return run


for _capability in ("tools", "resources", "prompts"):
    probe(f"{_capability}.declared")(_declared(_capability))


@probe("batches.received", follows="ping.answered")
async def batch(talk: Talk) -> str | None:
    """Send two pings in a batch."""
    calls = [{"jsonrpc": "2.0", "id": id_, "method": "ping"} for id_ in (9001, 9002)]
    await talk.peer.send(calls)
    deadline = asyncio.get_running_loop().time() + PAUSE * 10
    missing: set[Any] = {9001, 9002}
    try:
        while missing:
            message = await talk.peer.next(deadline)
            if "error" in message and message.get("id") is None:
                return f"a batch of two pings is answered by {_told(message)}"
            missing -= {object_of(each).get("id") for each in message.get("batch", [message])}
    except Silent as silent:
        return f"a batch of two pings: {len(missing)} not answered: {silent}"
    return None


@probe("modern.discover")
async def discover(talk: Talk) -> str | None:
    """Ask again what the server supports."""
    answer = await talk.ask("server/discover")
    return None if "result" in answer else f"server/discover is answered by {_told(answer)}"


@probe("modern.meta-required")
async def without_meta(talk: Talk) -> str | None:
    """Send a request without metadata."""
    if talk.has_legacy:
        return None  # a server of both eras takes it for a request of the legacy era
    answer = await talk.peer.ask("server/discover", {}, is_valid=False)
    if _code(answer) == INVALID_PARAMS:
        return None
    return f"a request without `_meta` is answered by {_told(answer)}, not by the error {INVALID_PARAMS}"


@probe("modern.unsupported-version")
async def unsupported(talk: Talk) -> str | None:
    """Send a request in a revision that nobody speaks."""
    answer = await talk.peer.ask("server/discover", {"_meta": meta(UNKNOWN)}, is_valid=False)
    if _code(answer) != UNSUPPORTED:
        return f"a request in the revision {UNKNOWN} is answered by {_told(answer)}, not by the error {UNSUPPORTED}"
    supported = list_of(object_of(object_of(answer["error"]).get("data")).get("supported"))
    return None if MODERN in supported else "the error on an unsupported revision does not list the supported ones"


async def _error_without_request(talk: Talk) -> str:
    """Return the error that comes in the next moment, if any: no request is open, so none may come.

    Raises:
        Ended: the server has ended instead.
    """
    for message in await talk.peer.settle(PAUSE):
        if "error" in message and "method" not in message:
            return _told(message)
    return ""


@probe("posts.method-unknown", is_of_http=True)
async def method_unknown(talk: Talk) -> str | None:
    """Post a request whose method does not exist."""
    status = await _poster(talk).status_of(_request(talk, "nobody/knows-this"), {})
    return _unless(status, 404, "a request whose method does not exist")


@probe("posts.version-header", is_of_http=True)
async def version_differs(talk: Talk) -> str | None:
    """Post a request whose header names another revision than its body."""
    status = await _poster(talk).status_of(_request(talk, "server/discover"), {VERSION: LEGACY[-1]})
    return _unless(status, 400, "a request whose header names another revision than its body")


@probe("http.version-header-invalid", is_of_http=True)
async def version_unknown(talk: Talk) -> str | None:
    """Post a ping whose header names a revision that nobody speaks."""
    status = await _poster(talk).status_of(_request(talk, "ping"), {VERSION: UNKNOWN})
    return _unless(status, 400, f"a request with the revision {UNKNOWN} in its header")


@probe("http.get-answer", is_of_http=True)
async def get(talk: Talk) -> str | None:
    """Ask for the stream of the session."""
    status = await _poster(talk).status_of(None, {"accept": "text/event-stream"}, "GET")
    return None if status in (200, 405) else f"a GET is answered with {status}, not with a stream or 405"


@probe("http.session-gone", is_of_http=True)
async def session_gone(talk: Talk) -> str | None:
    """End the session, then send a ping in it."""
    peer = _poster(talk)
    if not peer.session or await peer.status_of(None, {}, "DELETE") >= 300:
        return None  # there is no session, or clients may not end it
    return _unless(await peer.status_of(_request(talk, "ping"), {}), 404, "a request of a session that has ended")


def _poster(talk: Talk) -> PostingPeer:
    assert isinstance(talk.peer, PostingPeer), "the probes of HTTP run over HTTP"
    return talk.peer


def _request(talk: Talk, method: str) -> dict[str, Any]:
    params = {} if talk.is_legacy else {"params": {"_meta": meta(talk.revision)}}
    return {"jsonrpc": "2.0", "id": "status", "method": method, **params}


def _unless(status: int, expected: int, what: str) -> str | None:
    return None if status == expected else f"{what} is answered with {status}, not with {expected}"


def _code(answer: Mapping[str, Any]) -> Any:
    return object_of(answer.get("error")).get("code")


def _told(answer: Mapping[str, Any]) -> str:
    return f"the error {_code(answer)}" if "error" in answer else "a result"
