"""What is sent to provoke an answer that a requirement determines: rows of schema/requirements, and short functions."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_bindgen.check.arguments import Arguments
from mcp_bindgen.check.client import PAUSE, Ended, Peer, Said, Silent, list_of, object_of
from mcp_bindgen.check.posting import PostingPeer
from mcp_bindgen.check.requirements import LEGACY, row_of

INVALID_PARAMS: Final = -32602
MAX_PAGES: Final = 20
"""The number of pages of a list that are read."""
UNKNOWN: Final = "1999-12-31"
"""A revision that nobody speaks."""
LISTS: Final = {"tools": "name", "prompts": "name", "resources": "uri"}
"""What a server lists, by capability, and what identifies it."""


class NotJudged(Exception):
    """What the server does can be right or wrong; the text says why."""


@dataclass(slots=True, kw_only=True)
class ToolOptions:
    """Which tools are called, and how often.

    Attributes:
        globs: patterns of names of tools that may be called beside those that only read.
        known: known good arguments, by tool.
        seed: the seed of the order in which arguments are tried.
        limit: the maximum number of calls.
        seconds: the maximum time.
        calls: how many calls were made.
        slow: the names of tools that did not answer, which are not called again.
    """

    globs: tuple[str, ...] = ()
    known: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    seed: int = 0
    limit: int = 100
    seconds: float = 8
    calls: int = 0
    slow: set[str] = field(default_factory=set[str])

    def wants(self, tool: Mapping[str, Any]) -> bool:
        """Whether a tool may be called."""
        name, is_safe = str(tool.get("name")), object_of(tool.get("annotations")).get("readOnlyHint") is True
        return (
            self.calls < self.limit
            and name not in self.slow
            and (is_safe or any(fnmatchcase(name, glob) for glob in self.globs))
        )

    def arguments(self, tool: Mapping[str, Any]) -> Arguments:
        """Return arguments for a tool."""
        return Arguments(object_of(tool.get("inputSchema")), self.known.get(str(tool.get("name"))))


class Found(NamedTuple):
    """A finding of a probe: a requirement, what it is about, the reason, and messages that show it."""

    requirement: str
    place: str
    reason: str
    said: tuple[Said, ...]


@dataclass(slots=True, kw_only=True)
class Context:
    """What a probe works with.

    Attributes:
        peer: the conversation.
        open: begins another conversation, in the same revision or a given one, that has sent nothing yet.
        spoken: the revisions of the same era that the server speaks, as far as known, the newest first.
        has_legacy: whether it speaks a revision of the legacy era.
        is_repeated: whether a newer revision of the same era was judged before.
        options: what the user wants of tools.
        found: further findings.
        lists: what the server has listed.
    """

    peer: Peer
    open: "Callable[[], AbstractAsyncContextManager[Peer]]"
    spoken: tuple[str, ...]
    has_legacy: bool
    is_repeated: bool
    options: ToolOptions
    found: list[Found] = field(default_factory=list[Found])
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])

    def find(self, requirement: str, place: str, reason: str, said: tuple[Said, ...] = ()) -> None:
        """Report a finding, unless the revision does not have the requirement."""
        if self.peer.revision in row_of(requirement).revisions:
            self.found.append(Found(requirement, place, reason, said))

    def has(self, needs: str) -> bool:
        """Whether the server has a capability, or after ``!`` has not; `legacy` and `session` count as such."""
        if needs.startswith("!"):
            return not self.has(needs[1:])
        if needs == "legacy":
            return self.has_legacy
        if needs == "session":
            return isinstance(self.peer, PostingPeer) and bool(self.peer.session)
        held: Any = self.peer.offered
        for name in needs.split(".") if needs else ():
            if name not in object_of(held):
                return False
            held = object_of(held)[name]
        return held is not False

    async def listed(self, capability: str) -> list[dict[str, Any]]:
        """Return all that the server lists under a capability, asked once in a conversation."""
        if capability not in self.lists:
            self.lists[capability] = []
            if capability in self.peer.offered:
                self.lists[capability] = await pages(self.peer, f"{capability}/list", capability)
        return self.lists[capability]


Run: TypeAlias = Callable[[Context], Awaitable[str | None]]
"""Sends messages; returns what is wrong with the answer, None if nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One probe: the requirement, and what it does.

    `also` are requirements that it checks beside. `over` is the only transport of the probe, empty for any; `is_last`
    probes end the session; `declares` are for a client that declares what it can be asked for.
    """

    requirement: str
    run: Run
    also: tuple[str, ...] = ()
    over: str = ""
    is_last: bool = False
    declares: bool = False

    def is_for(self, revision: str, url: str) -> bool:
        """Whether it is sent in a revision, to this URL, or over stdio if that is empty."""
        is_known = any(revision in row_of(id_).revisions for id_ in (self.requirement, *self.also))
        return is_known and self.over in ("", "http" if url else "stdio")


FUNCTIONS: Final[list[Probe]] = []
"""The probes that are functions."""


def probe(requirement: str, **facts: Any) -> Callable[[Run], Run]:
    """Register a function as the probe of a requirement."""

    def register(run: Run) -> Run:
        FUNCTIONS.append(Probe(requirement=requirement, run=run, **facts))
        return run

    return register


def message_of(peer: Peer, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of a row."""
    method, _, params = row["send"].partition(" ")
    method = method if method != "*" else "ping" if peer.is_legacy else "server/discover"
    id_ = json.loads(row["id"]) if "id" in row else None
    message = peer.request(method, json.loads(params) if params else None, id_)
    meta: str = row.get("meta", "")
    if meta == "none":
        message.pop("params")
    elif meta:
        own = object_of(message["params"]["_meta"]) if meta.startswith("+") else {}
        message["params"]["_meta"] = {**own, **json.loads(meta.removeprefix("+"))}
    return message


async def sent(peer: Peer, row: Mapping[str, Any]) -> str | None:
    """Send the message of a row; return what is wrong with the answer."""
    message = message_of(peer, row)
    what, expected = row["send"].partition(" ")[0], str(row["expect"])
    await peer.send(message, is_valid=expected.startswith("result"))
    if expected != "silence":
        return wrong_answer(message["method"], await peer.answer_to(message["id"]), expected)
    # Nothing is open, so that every answer is one to the notification.
    for each in await peer.settle():
        if "method" not in each and ("error" in each or "result" in each):
            return f"{what} is answered by {told(each)}"
    return None


def wrong_answer(method: str, answer: Mapping[str, Any], expected: str) -> str | None:
    """Return what is wrong with an answer, by a word or two: ``result``, ``result {}``, ``error``, ``error -32602``."""
    kind, _, detail = expected.partition(" ")
    if kind not in answer:
        return f"{method} is answered by {told(answer)}, not by {'an error' if kind == 'error' else 'a result'}"
    if kind == "result":
        extra = sorted(object_of(answer["result"]).keys() - {"_meta"}) if detail else ()
        return f"the result of {method} has {', '.join(extra)}; it must be empty" if extra else None
    if detail and code_of(answer) != int(detail):
        return f"{method} is answered by {told(answer)}, not by the error {detail}"
    return None


async def pages(peer: Peer, method: str, name: str) -> list[dict[str, Any]]:
    """Return all entries of a list."""
    found: list[dict[str, Any]] = []
    cursor: Mapping[str, Any] = {}
    for _ in range(MAX_PAGES):
        result = object_of((await peer.ask(method, cursor or None)).get("result"))
        found += [object_of(each) for each in list_of(result.get(name))]
        if not isinstance(result.get("nextCursor"), str):
            break
        cursor = {"cursor": result["nextCursor"]}
    return found


def code_of(answer: Mapping[str, Any]) -> Any:
    """Return the code of an error; None for a result."""
    return object_of(answer.get("error")).get("code")


def told(answer: Mapping[str, Any]) -> str:
    """Spell an answer in a few words."""
    return f"the error {code_of(answer)}" if "error" in answer else "a result" if "result" in answer else "no answer"


@probe("batches.received")
async def batch(context: Context) -> str | None:
    """Send two pings in a batch."""
    peer = context.peer
    calls = [peer.request("ping"), peer.request("ping")]
    await peer.send(calls)
    deadline = asyncio.get_running_loop().time() + PAUSE * 10
    missing = {each["id"] for each in calls}
    try:
        while missing:
            message = await peer.next(deadline)
            if "error" in message and message.get("id") is None:
                return f"a batch of two pings is answered by {told(message)}"
            missing -= {object_of(each).get("id") for each in message.get("batch", [message])}
    except Silent as silent:
        if not isinstance(silent, Ended):
            await peer.ask("ping")
        return f"a batch of two pings: {len(missing)} not answered ({silent}), and a ping after it is"
    return None


@probe("lifecycle.version-other", also=("lifecycle.version-other-latest",))
async def version_other(context: Context) -> str | None:
    """Ask for a revision that nobody speaks, in a new conversation."""
    if context.spoken[0] != context.peer.revision:
        return None  # once is enough
    async with context.open() as peer:
        hello = {"protocolVersion": UNKNOWN, "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
        answer = await peer.ask("initialize", hello)
    context.peer.said += peer.said
    chosen = object_of(answer.get("result")).get("protocolVersion")
    if "result" not in answer:
        raise NotJudged("a server may also refuse an unknown revision by an error")
    if chosen == UNKNOWN:
        context.find("lifecycle.version-other", "", f"a request for {UNKNOWN} is accepted")
    if isinstance(chosen, str) and chosen in LEGACY and chosen < context.spoken[0]:
        reason = f"a request for {UNKNOWN} is answered with {chosen}, and the server speaks {context.spoken[0]}"
        context.find("lifecycle.version-other-latest", "", reason)
    return None


@probe("modern.initialize-refused")
async def initialize_refused(context: Context) -> str | None:
    """Send the handshake of the legacy era to a server that has none."""
    if context.has("legacy"):
        return None
    async with context.open() as peer:
        peer.revision = LEGACY[-1]
        hello = {"protocolVersion": LEGACY[-1], "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
        answer = await peer.ask("initialize", hello)
    context.peer.said += peer.said
    if any(revision in json.dumps(answer) for revision in context.spoken):
        return None
    return "the answer to `initialize` does not name a revision that the server speaks"


@probe("modern.stateless")
async def stateless(context: Context) -> str | None:
    """Send a request of a feature first, in a new conversation."""
    names = [name for name in LISTS if name in context.peer.offered]
    if not names:
        return None
    async with context.open() as peer:
        peer.offered = context.peer.offered
        answer = await peer.ask(f"{names[0]}/list")
    context.peer.said += peer.said
    return wrong_answer(f"{names[0]}/list as the first request", answer, "result")


@probe("modern.lists-do-not-vary")
async def lists_do_not_vary(context: Context) -> str | None:
    """Ask for the lists in two conversations, and again in the first: only what changes in between may differ."""
    for name, key in LISTS.items():
        if name not in context.peer.offered:
            continue
        async with context.open() as peer:
            lists = [
                {str(each.get(key)) for each in await pages(asked, f"{name}/list", name)}
                for asked in (context.peer, peer, context.peer)
            ]
        if lists[0] == lists[2] != lists[1]:
            context.peer.said += peer.said
            return f"{name}/list differs between connections: {', '.join(sorted(lists[0] ^ lists[1]))}"
    return None


@probe("cancellation.races")
@probe("alone.cancel-races")
async def cancel_late(context: Context) -> str | None:
    """Cancel a request that was answered; the next one is answered too."""
    peer, method = context.peer, "ping" if context.peer.is_legacy else "server/discover"
    request = peer.request(method)
    await peer.send(request)
    await peer.answer_to(request["id"])
    if not isinstance(peer, PostingPeer):
        await peer.send(peer.request("notifications/cancelled", {"requestId": request["id"]}), is_valid=False)
    return wrong_answer(f"{method} after a late cancellation", await peer.ask(method), "result")
