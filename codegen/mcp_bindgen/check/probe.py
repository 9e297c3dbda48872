"""What a probe is, and what it works with: a row of schema/requirements, or a short function of a page's module."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_bindgen.check.arguments import Arguments
from mcp_bindgen.check.client import Peer, Said, code_of, told
from mcp_bindgen.check.requirements import row_of
from mcp_bindgen.ir.json_values import as_list, as_object

INVALID_PARAMS: Final = -32602
MAX_PAGES: Final = 20
"""The number of pages of a list that are read."""
MAX_ENTRIES: Final = 1_000
"""The number of entries of a list that are looked at."""
LISTS: Final = {"tools": "name", "prompts": "name", "resources": "uri"}
"""What a server lists, by capability, and what identifies it."""


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
        name, is_safe = str(tool.get("name")), as_object(tool.get("annotations")).get("readOnlyHint") is True
        return (
            self.calls < self.limit
            and name not in self.slow
            and (is_safe or any(fnmatchcase(name, glob) for glob in self.globs))
        )

    def arguments(self, tool: Mapping[str, Any]) -> Arguments:
        """Return arguments for a tool."""
        return Arguments(as_object(tool.get("inputSchema")), self.known.get(str(tool.get("name"))))


class Found(NamedTuple):
    """A finding of a probe.

    Attributes:
        requirement: the requirement that is broken.
        reason: what is wrong.
        place: what it is about, such as a tool.
        said: messages that show it; by default all of the probe.
    """

    requirement: str
    reason: str
    place: str = ""
    said: tuple[Said, ...] = ()


@dataclass(slots=True, kw_only=True)
class Context:
    """What a probe works with.

    Attributes:
        peer: the conversation.
        other: begins another conversation in the same revision, that has sent nothing yet.
        spoken: the revisions of the same era that the server speaks, as far as known, the newest first.
        has_legacy: whether it speaks a revision of the legacy era.
        is_repeated: whether a newer revision of the same era was judged before.
        options: what the user wants of tools.
        found: further findings.
        lists: what the server has listed.
    """

    peer: Peer
    other: "Callable[[], AbstractAsyncContextManager[Peer]]"
    spoken: tuple[str, ...]
    has_legacy: bool
    is_repeated: bool
    options: ToolOptions
    found: list[Found] = field(default_factory=list[Found])
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])

    def find(self, found: Found) -> None:
        """Report a finding, unless the revision does not have the requirement."""
        if self.peer.revision in row_of(found.requirement).revisions:
            self.found.append(found)

    def has(self, needs: str) -> bool:
        """Whether the server has a capability, or after ``!`` has not; `legacy` and `session` count as such."""
        if needs.startswith("!"):
            return not self.has(needs[1:])
        if needs in ("legacy", "session"):
            return self.has_legacy if needs == "legacy" else bool(getattr(self.peer, "session", ""))
        held: Any = self.peer.offered
        for name in needs.split(".") if needs else ():
            if name not in as_object(held):
                return False
            held = as_object(held)[name]
        return held is not False

    async def listed(self, capability: str) -> list[dict[str, Any]]:
        """Return all that the server lists under a capability, asked once in a conversation."""
        if capability not in self.lists:
            self.lists[capability] = []
            if capability in self.peer.offered:
                self.lists[capability] = await pages(self.peer, f"{capability}/list", capability)
        return self.lists[capability]


Run: TypeAlias = Callable[[Context], Awaitable[str | Found | None]]
"""Sends messages; returns what is wrong with the answer, None if nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One probe: the requirement, and what it does.

    `also` are requirements that it checks beside. `over` is the only transport of the probe, empty for any; `is_last`
    probes end the session; `declares` are for a client that declares what it can be asked for; `answered` are broken
    by silence too, which other requirements do not mention.
    """

    requirement: str
    run: Run
    also: tuple[str, ...] = ()
    over: str = ""
    is_last: bool = False
    declares: bool = False
    answered: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The requirements that it checks."""
        return (self.requirement, *self.also)


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
    id_ = json.loads(row["id"]) if "id" in row else None
    message = peer.request(peer.always if method == "*" else method, json.loads(params) if params else None, id_)
    meta: str = row.get("meta", "")
    if meta == "none":
        message.pop("params")
    elif meta:
        own = as_object(message["params"]["_meta"]) if meta.startswith("+") else {}
        message["params"]["_meta"] = {**own, **json.loads(meta.removeprefix("+"))}
    return message


async def sent(context: Context, row: Mapping[str, Any]) -> str | None:
    """Send the message of a row; return what is wrong with the answer."""
    peer, message = context.peer, message_of(context.peer, row)
    await peer.send(message, is_valid=row["expect"].startswith("result"))
    if row["expect"] != "silence":
        return wrong_answer(message["method"], await peer.answer_to(message["id"]), row["expect"])
    # Only this request is open, so that every other answer is one to the notification.
    request = peer.request(peer.always)
    await peer.send(request)
    deadline = asyncio.get_running_loop().time() + peer.timeout
    wrong = None
    while (each := await peer.next(deadline)).get("id") != request["id"] or "method" in each:
        if "method" not in each and ("error" in each or "result" in each):
            wrong = f"{message['method']} is answered by {told(each)}"
    return wrong


def wrong_answer(method: str, answer: Mapping[str, Any], expected: str) -> str | None:
    """Return what is wrong with an answer.

    Args:
        method: what it answers.
        answer: the answer.
        expected: ``result``, ``result {}`` for an empty one, ``nothing NAME`` for one that lists nothing of this name,
            ``error``, or ``error -32602``.
    """
    kind, _, detail = expected.partition(" ")
    result = as_object(answer.get("result"))
    if kind == "nothing":
        number = len(as_list(result.get(detail)))
        return f"{method} has {number}, and the capability {detail} is not declared" if number else None
    if kind not in answer:
        return f"{method} is answered by {told(answer)}, not by {'an error' if kind == 'error' else 'a result'}"
    if kind == "result":
        extra = sorted(result.keys() - {"_meta"}) if detail else ()
        return f"the result of {method} has {', '.join(extra)}; it must be empty" if extra else None
    if detail and code_of(answer) != int(detail):
        return f"{method} is answered by {told(answer)}, not by the error {detail}"
    return None


async def pages(peer: Peer, method: str, name: str) -> list[dict[str, Any]]:
    """Return all entries of a list."""
    found: list[dict[str, Any]] = []
    cursor: Mapping[str, Any] = {}
    for _ in range(MAX_PAGES):
        result = as_object((await peer.ask(method, cursor or None)).get("result"))
        found += map(as_object, as_list(result.get(name)))
        if len(found) >= MAX_ENTRIES or not isinstance(result.get("nextCursor"), str):
            break
        cursor = {"cursor": result["nextCursor"]}
    return found[:MAX_ENTRIES]
