"""The sessions of one endpoint: creation, lookup, expiry, end."""

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from mcp_runtime.connection.journal import endpoint_journal
from mcp_runtime.handshake.server import start_session
from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.server.requests.asgi import Headers, Refusal
from mcp_runtime.transports.http.server.requests.checks import SESSION, VERSION
from mcp_runtime.transports.http.server.requests.refusals import too_many_sessions
from mcp_runtime.transports.http.server.requests.unread import Unread
from mcp_runtime.transports.http.server.session import HttpSession
from mcp_runtime.transports.http.server.streams.event_log import EventLog

if TYPE_CHECKING:
    from mcp_runtime.handshake.server import AnyServer

ID_BYTES: Final = 16
"""The length of a session id in random bytes."""
SWEEPS: Final = 10
"""How often sessions are checked during the time after which one expires."""


class Sessions:
    """The sessions of one endpoint.

    Args:
        servers: the servers, one object per revision.
        revisions: the revisions that have sessions.
        limits: how many sessions there may be, and for how long.
        events: stores what was sent; None to store nothing.

    Attributes:
        unread: counts the bytes that clients have not read yet, for all of them.
    """

    def __init__(
        self,
        servers: "Sequence[AnyServer]",
        revisions: Iterable[str],
        limits: HttpLimits,
        events: EventLog | None,
    ) -> None:
        self._servers = servers
        self._versions = frozenset(revision.encode() for revision in revisions)
        self._limits = limits
        self._events = events
        self.unread = Unread(limits.max_unread_total)
        self._journal = endpoint_journal()
        self._held: dict[bytes, HttpSession] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._held)

    async def begin(self, principal: str | None) -> HttpSession:
        """Begin a session, which cannot be found before it is kept.

        Raises:
            Refusal: there are too many.
        """
        if len(self._held) >= self._limits.max_sessions:
            raise too_many_sessions()
        session = HttpSession(
            secrets.token_hex(ID_BYTES),
            self._limits,
            self._events,
            unread=self.unread,
            journal=self._journal,
            principal=principal,
        )
        session.connection = await start_session(session, *self._servers)
        return session

    def keep(self, session: HttpSession) -> None:
        """Keep a session whose handshake succeeded."""
        session.begin()
        self._held[session.id.encode()] = session
        if self._sweeper is None:
            self._arm()

    def named(self, headers: Headers, principal: str | None) -> HttpSession:
        """Return the session that a request names.

        Raises:
            Refusal: it names none, one of another principal, or a revision that has no sessions here.
        """
        id_ = headers.get(SESSION)
        if id_ is None:
            raise no_session()
        session = self._held.get(id_)
        if session is None or session.principal != principal or session.connection.closed_because is not None:
            raise Refusal(404, "there is no such session; begin a new one with initialize")
        self.check_version(headers)
        return session

    def check_version(self, headers: Headers) -> None:
        """Check the revision that a legacy-era request names, if any.

        Raises:
            Refusal: it is not supported here.
        """
        version = headers.get(VERSION)
        if version is not None and version not in self._versions:
            known = b", ".join(sorted(self._versions)).decode()
            raise Refusal(400, f"the header MCP-Protocol-Version must name a supported revision: {known}")

    async def end(self, session: HttpSession, reason: str) -> None:
        """End a session, and cancel what runs in it."""
        self._held.pop(session.id.encode(), None)
        await session.connection.aclose(reason)

    async def end_all(self, reason: str) -> None:
        """End all sessions."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for session in tuple(self._held.values()):
            await self.end(session, reason)
        for task in tuple(self._ending):
            await task

    def stop_listening(self) -> None:
        """End the streams for messages that belong to no request."""
        for session in self._held.values():
            if session.common.outlet is not None:
                session.common.detach(session.common.outlet)

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(self._limits.session_idle / SWEEPS, self._sweep)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for session in tuple(self._held.values()):
            is_old = not session.exchanges and now - session.last_used > self._limits.session_idle
            if is_old or session.connection.closed_because is not None:
                self._held.pop(session.id.encode(), None)
                task = asyncio.ensure_future(session.connection.aclose("the session expired"))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
        if self._held:
            self._arm()
        else:
            self._sweeper = None


def no_session() -> Refusal:
    """Return the refusal of a request that needs a session and names none."""
    return Refusal(400, "the header Mcp-Session-Id is missing; a session begins with initialize")
