"""Check a server: talk to it in each revision that it speaks, run the probes, and collect what is wrong."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_bindgen.check.client import EVERYTHING, Cut, Ended, NotJudged, Peer, Said, Silent, Unreachable
from mcp_bindgen.check.findings import OTHERWISE, Finding, folded, requirement_of
from mcp_bindgen.check.probe import Context, Found, Probe
from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.check.robust import strain
from mcp_bindgen.check.selection import Wanted, probes
from mcp_bindgen.check.server import FIRST, Server
from mcp_bindgen.check.state import (
    Alive,
    Answered,
    Gone,
    Refused,
    State,
    Unanswered,
    Vanished,
    after,
    restarted,
    unanswered,
)

MAX_SHOWN: Final = 4
"""The number of messages that a finding shows."""
BREAK: Final = 0.5
"""Seconds before a server over HTTP is tried again whose port refuses connections."""


@dataclass(slots=True)
class Checked:
    """The result: the server's name and version, the revisions that it speaks, and what is wrong.

    `probes`, `calls` and `messages` count what was done; `unjudged` says what could not be judged, and why.
    """

    server: Mapping[str, Any] = field(default_factory=dict[str, Any])
    revisions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    probes: int = 0
    calls: int = 0
    messages: int = 0
    unjudged: dict[str, None] = field(default_factory=dict[str, None])


async def check(wanted: Wanted, step: Callable[[str], None] = lambda label: None) -> Checked:
    """Check a server over stdio or HTTP; `step` announces each probe.

    Raises:
        InputError: it cannot be started or reached, or speaks no known revision.
        ModuleNotFoundError: the extra ``validation`` is not installed.
    """
    from mcp_runtime.json_schema.check import check_installed

    check_installed()
    return await _Checking(wanted, step).run()


def _sure(is_provoked: bool, is_explained: bool) -> tuple[str, ...]:
    """Return how requirements begin that hold even after a message that a client may not send, or beside a finding."""
    if is_explained:
        return ("stdio.",)
    return ("stdio.", "messages.result", "messages.error", "modern.error") if is_provoked else ("",)


class _Checking:
    def __init__(self, wanted: Wanted, step: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._step = step
        self._server = Server(wanted)
        self._state: State = Alive()
        self._checked = Checked()
        self._found: list[Finding] = []
        self._deadline = 0.0
        self._last = ""
        self._has_died = False

    async def run(self) -> Checked:
        wanted, server = self._wanted, self._server
        self._deadline = asyncio.get_running_loop().time() + wanted.seconds
        await server.find_legacy()
        # Before the modern era, it is known whether there is another one, and before an old revision, the newest.
        legacy = [each for each in reversed(wanted.revisions) if each in LEGACY]
        for revision in (*legacy[:1], *(each for each in wanted.revisions if each not in LEGACY), *legacy[1:]):
            # The oldest revision has another transport over HTTP.
            if not server.is_silent and not (wanted.is_http and revision == LEGACY[0]):
                await self._judge(revision, {}, [each for each in probes() if not each.declares])
        server.refuse()
        used = [each for each in probes() if each.declares or each.requirement == OTHERWISE]
        await self._judge(max(server.spoken), EVERYTHING, used)
        if wanted.is_robust:
            await strain(server.open, max(server.spoken), self._add, wanted.only)
        for why in server.faults:
            self._leave(f"what follows a message of ours that is not valid: {why}")
        checked = self._checked
        checked.server, checked.messages = server.about, server.messages
        checked.revisions = tuple(sorted(server.spoken))
        checked.findings = folded(self._found)
        checked.calls = wanted.tools.calls
        return checked

    async def _judge(self, revision: str, capabilities: Mapping[str, Any], every: Sequence[Probe]) -> None:
        """Run probes, in a new conversation whenever the server has ended or fallen silent in one."""
        server, is_retried = self._server, False
        waiting = [each for each in every if self._wanted.includes(each, revision)]
        self._state = self._state if isinstance(self._state, Gone) else Alive()
        while (waiting or not capabilities) and not isinstance(self._state, Gone):
            async with server.open(revision, capabilities) as peer:
                why = await server.begin(peer)
                if isinstance(why, Unreachable) and not is_retried:
                    is_retried = True
                    continue
                if isinstance(why, Ended) and self._wanted.is_http and server.spoken:
                    self._state = after(self._state, Refused())
                    if isinstance(self._state, Gone):
                        self._report_end(waiting[0] if waiting else None, revision)
                    await asyncio.sleep(BREAK)
                    continue
                if why:
                    if revision in server.spoken or isinstance(why, Unreachable):
                        self._leave(f"{len(waiting)} probes of {revision}: {why}")
                    return
                self._look(peer.said, revision, "")
                context = self._context(peer)
                is_open = True
                while waiting and is_open:
                    is_open = await self._probe(waiting[0], context)
                    # Silence counts only if it is confirmed in another conversation.
                    waiting = waiting if unanswered(self._state) else waiting[1:]
            if not waiting:
                return

    def _leave(self, what: str) -> None:
        """Note what was not judged, and why."""
        self._checked.unjudged[what] = None

    def _report_end(self, probe: Probe | None, revision: str) -> None:
        """Report that a server over HTTP has ended: a finding of the probe in which it did."""
        if probe and (lost := unanswered(self._state)) and (isinstance(lost.reason, Cut) or len(lost.said) > 1):
            self._last = f"{probe.requirement} ({revision})"
            if probe.answered:
                why = "the server ends, and its port refuses connections"
                self._add(Found(probe.requirement, why), revision, lost.said[-MAX_SHOWN:], probe.requirement)
        self._leave(f"what follows {self._last}: the server has ended, its port refuses connections")

    def _context(self, peer: Peer) -> Context:
        revision, capabilities, server = peer.revision, peer.capabilities, self._server
        spoken = tuple(each for each in server.spoken if (each in LEGACY) is (revision in LEGACY))

        @asynccontextmanager
        async def other() -> AsyncGenerator[Peer]:
            async with server.open(revision, capabilities) as another:
                another.timeout *= FIRST  # it may take its time to start
                another.offered = peer.offered
                try:
                    yield another
                except Silent as silent:
                    raise NotJudged(f"another conversation: {silent}") from None
                finally:
                    peer.said += another.said

        return Context(
            peer=peer,
            other=other,
            spoken=spoken,
            has_legacy=server.has_legacy,
            is_repeated=not capabilities and spoken[0] != revision,
            options=self._wanted.tools,
        )

    async def _probe(self, probe: Probe, context: Context) -> bool:
        """Run a probe; return whether the conversation goes on."""
        peer, revision, start = context.peer, context.peer.revision, len(context.peer.said)
        if asyncio.get_running_loop().time() > self._deadline:
            self._state = after(self._state, Answered())
            self._leave(f"some probes of {revision}: out of time")
            return True
        is_again, is_open, wrong = unanswered(self._state) is not None, True, None
        self._checked.probes += not is_again
        self._step(f"{revision}: {probe.requirement}")
        peer.timeout = self._wanted.timeout * (2 if is_again else 1)
        try:
            wrong = await probe.run(context)
        except (Silent, NotJudged) as reason:
            is_lost = isinstance(reason, Silent | Unreachable)
            if is_lost and not is_again:
                self._state = after(self._state, Unanswered(reason=reason, said=peer.said[start:]))
                return False
            is_open = not is_lost and not isinstance(reason.__context__, Silent)
            wrong = await self._verdict(probe, peer, reason)
        if not isinstance(self._state, Gone):
            self._state = after(self._state, Answered())
        self._report(probe, context, peer.said[start:], wrong, is_open=is_open)
        return is_open

    async def _verdict(self, probe: Probe, peer: Peer, reason: Silent | NotJudged) -> str | None:
        """Return what a confirmed silence breaks, if anything; what it leaves open is noted."""
        is_dead = restarted(self._state) and isinstance(reason, Cut | Ended)
        is_known = is_dead and self._has_died  # other probes may have the same message
        if isinstance(reason, Ended) and not self._wanted.is_http and await self._server.ends_alone(peer):
            self._state = after(self._state, Vanished())
            self._leave(f"what follows {self._last}: {reason}, and does so without a message too")
        elif probe.answered and (is_dead or isinstance(reason, Silent)) and not is_known:
            self._has_died = self._has_died or is_dead
            return f"the last message: {reason}"
        else:
            self._leave(f"{probe.requirement} ({peer.revision}): {reason}")
        return None

    def _report(
        self, probe: Probe, context: Context, said: Sequence[Said], wrong: str | Found | None, *, is_open: bool
    ) -> None:
        """Take over what a probe has found, and what the observer found beside."""
        revision = context.peer.revision
        wrong = Found(probe.requirement, wrong) if isinstance(wrong, str) else wrong
        found = [*([wrong] if wrong else ()), *context.found]
        context.found.clear()
        self._look(said, revision, probe.requirement, is_explained=wrong is not None)
        for each in found:
            self._add(each, revision, said if is_open else said[-MAX_SHOWN:], probe.requirement)
        self._last = f"{probe.requirement} ({revision})" if said else self._last

    def _look(self, said: Sequence[Said], revision: str, probe: str, *, is_explained: bool = False) -> None:
        """Take over what the observer found, unless we provoked it, or a finding of a probe explains it."""
        asked, is_provoked = "", False
        for index, each in enumerate(said):
            if each.by_client:
                asked, is_provoked = each.text, is_provoked or bool(each.wrong)
                continue
            for wrong in each.wrong:
                id_ = requirement_of(wrong, asked, each.text, revision, is_http=self._wanted.is_http)
                if id_ is None or not id_.startswith(_sure(is_provoked, is_explained)):
                    continue
                found = Found(id_, f"{wrong.pointer}: {wrong.reason}" if wrong.pointer else wrong.reason)
                self._add(found, revision, said[max(0, index - 1) : index + 1], probe)

    def _add(self, found: Found, revision: str, said: Sequence[Said], probe: str = "") -> None:
        finding = Finding(
            requirement=found.requirement,
            place=found.place,
            revisions=(revision,),
            reason=found.reason,
            said=tuple((found.said or said)[:MAX_SHOWN]),
            probe=probe,
        )
        self._found.append(finding)
