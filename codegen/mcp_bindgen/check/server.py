"""The server that is checked: conversations with it, and the revisions that it has agreed to."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

from mcp_bindgen.check.client import BRIEF, Ended, NotJudged, Peer, Silent, Unreachable, started
from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.ir.diagnostics import InputError, clip
from mcp_bindgen.ir.json_values import as_object, json_value
from mcp_bindgen.live.target import Command, name_of

FIRST: Final = 3
"""How many times longer the first answer may take: the server has to start."""


class Server:
    """A server, and what its handshakes have shown.

    Attributes:
        spoken: the revisions that it has agreed to, in that order.
        has_legacy: whether it speaks a revision of the legacy era.
        about: its name and version.
        messages: the number of messages of all conversations.
        faults: what was left out since a message of ours was not valid: a bug of ours.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.spoken: list[str] = []
        self.has_legacy = False
        self.about: Mapping[str, Any] = {}
        self.messages = 0
        self.faults: list[str] = []
        self._refusal: str | Exception = ""
        self._silences = 0
        self._slowest = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether it answers clients of neither era."""
        return self._silences > 1 and not self.spoken

    def refuse(self) -> None:
        """Refuse a server that speaks no revision.

        Raises:
            InputError: it cannot be reached, or has agreed to none.
        """
        if self.spoken:
            return
        if isinstance(self._refusal, Unreachable):
            raise InputError.at(name_of(self._wanted.target), f"cannot be checked: {self._refusal}")
        why = f" ({self._refusal})" if self._refusal else ""
        hint = "" if self._wanted.is_http else "; run it by itself to see what it says"
        raise InputError.at(name_of(self._wanted.target), f"speaks no revision of MCP{why}{hint}")

    async def find_legacy(self) -> None:
        """Find out whether the server speaks a revision of the legacy era, if none of them is to be judged."""
        if not any(each in LEGACY for each in self._wanted.revisions):
            with suppress(Silent, NotJudged):
                async with self.open(LEGACY[-1], {}) as peer:
                    await peer.begin(LEGACY[-1])
                    self.has_legacy = bool(peer.server)

    async def begin(self, peer: Peer) -> str | Exception:
        """Begin a conversation; return why the server does not speak the revision, empty if it does."""
        loop = asyncio.get_running_loop()
        start, timeout = loop.time(), peer.timeout
        # A server that has answered once takes not much longer to decline another revision.
        peer.timeout *= FIRST
        if self.spoken and peer.revision not in self.spoken:
            peer.timeout = min(peer.timeout, max(timeout, self._slowest * FIRST))
        try:
            why: str | Exception = await peer.begin(peer.revision)
            self._slowest = max(self._slowest, loop.time() - start)
        except (Silent, NotJudged) as silent:
            odd = (each.text for each in peer.said if not each.by_client and not as_object(json_value(each.text)))
            hint = f"; it writes {clip(text, 60)!r}, which is not a message" if (text := next(odd, "")) else ""
            why = type(silent)(f"{silent}{hint}")
            self._silences += loop.time() - start >= peer.timeout
        peer.timeout = timeout
        self.has_legacy = self.has_legacy or (peer.is_legacy and bool(peer.server))
        if why:
            self._refusal = why
        elif peer.revision not in self.spoken:
            self.spoken.append(peer.revision)
            self.about = peer.server or self.about
        return why

    async def ends_alone(self, peer: Peer) -> bool:
        """Whether the server ends after about as long as in a conversation even if nothing is sent to it any more."""
        age = asyncio.get_running_loop().time() - peer.begun
        async with self.open(peer.revision, peer.capabilities) as another:
            another.timeout *= FIRST
            try:
                await another.begin(peer.revision)
                await another.settle(age + another.timeout / FIRST)
            except Ended:
                return True
            except (Silent, NotJudged):
                pass
        return False

    @asynccontextmanager
    async def open(self, revision: str, capabilities: Mapping[str, Any], grace: float = BRIEF) -> AsyncGenerator[Peer]:
        """Start or reach the server; nothing is sent yet."""
        wanted = self._wanted
        begun: AbstractAsyncContextManager[Peer]
        if isinstance(wanted.target, Command):
            begun = started(wanted.target, wanted.timeout, grace)
        else:
            from mcp_bindgen.check.posting import reached

            begun = reached(wanted.target, wanted.timeout)
        async with begun as peer:
            peer.revision, peer.capabilities = revision, capabilities
            peer.begun = asyncio.get_running_loop().time()
            try:
                yield peer
            finally:
                self.messages += len(peer.said)
                self.faults += peer.ours
