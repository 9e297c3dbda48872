"""Check a server: talk to it in each revision that it speaks, run the probes, and collect what is wrong."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from mcp_bindgen.check import probes as modules
from mcp_bindgen.check.client import (
    BRIEF,
    EVERYTHING,
    Cut,
    Ended,
    NotJudged,
    Peer,
    Said,
    Silent,
    Unreachable,
    started,
)
from mcp_bindgen.check.findings import OTHERWISE, Finding, folded, requirement_of
from mcp_bindgen.check.probe import FUNCTIONS, Context, Found, Probe, ToolOptions, sent
from mcp_bindgen.check.requirements import LEGACY, REVISIONS, row_of, rows
from mcp_bindgen.check.robust import strain
from mcp_bindgen.diagnostics import InputError, clip
from mcp_bindgen.json_values import as_object, json_value
from mcp_bindgen.live.target import Command, Target, name_of

FIRST: Final = 3
"""How many times longer the first answer may take: the server has to start."""
MAX_SHOWN: Final = 4
"""The number of messages that a finding shows."""
RESTARTS: Final = 10
"""How often a server over HTTP is tried again whose port refuses connections."""
BREAK: Final = 0.5
"""Seconds before each time."""
MAX_SECONDS: Final = 60
"""Seconds after which no further probe begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to check, and how.

    Attributes:
        target: the server.
        timeout: seconds to wait for an answer.
        seconds: after how many seconds no further probe begins.
        only: the requirements whose probes run, all if empty.
        revisions: the revisions that may be judged.
        tools: which tools are called.
        is_robust: whether hostile messages are sent too.
        typed: the options of the command line that another run needs, as they were given.
    """

    target: Target
    timeout: float
    seconds: float = MAX_SECONDS
    only: frozenset[str] = frozenset()
    revisions: tuple[str, ...] = REVISIONS
    tools: ToolOptions = field(default_factory=ToolOptions)
    is_robust: bool = False
    typed: tuple[str, ...] = ()

    @property
    def is_http(self) -> bool:
        """Whether the server has a URL."""
        return not isinstance(self.target, Command)

    def includes(self, probe: Probe, revision: str) -> bool:
        """Whether a probe runs in a revision."""
        is_known = any(revision in row_of(id_).revisions for id_ in probe.ids)
        is_wanted = not self.only or not self.only.isdisjoint(probe.ids)
        return is_known and is_wanted and probe.over in ("", "http" if self.is_http else "stdio")


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


@cache
def probes() -> tuple[Probe, ...]:
    """Return all probes, in the order in which they run."""
    for module in iter_modules(modules.__path__):
        import_module(f"{modules.__name__}.{module.name}")
    of_rows = [_of_row(row.id, each) for row in rows().values() for each in row.probes]
    # What would be the cause of another finding comes before it: first, what demands an answer.
    return tuple(
        sorted(
            (*of_rows, *FUNCTIONS),
            key=lambda each: (each.is_last, not each.answered or row_of(each.requirement).follows != ()),
        )
    )


def _of_row(requirement: str, row: Mapping[str, Any]) -> Probe:
    """Return the probe that a row describes: what it sends, and the answer that its requirement determines."""

    async def run(context: Context) -> Found | None:
        from mcp_bindgen.check.probes.transports import posted

        if not context.has(row.get("needs", "")):
            return None
        reason = await (posted if "status" in row else sent)(context, row)
        return Found(requirement, reason) if reason else None

    answered = not row.get("expect", "").startswith(("nothing", "silence"))
    return Probe(requirement=requirement, run=run, over=row.get("over", ""), answered=answered)


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
        self._checked = Checked()
        self._spoken: list[str] = []
        self._found: list[Finding] = []
        self._why: str | Exception = ""
        self._silent = 0
        self._end = 0.0
        self._has_legacy = False
        self._slowest = 0.0
        self._last = ""
        self._loss: tuple[Exception, list[Said]] | None = None
        self._is_gone = False
        self._has_died = False
        self._begun = 0.0

    async def run(self) -> Checked:
        wanted, self._end = self._wanted, asyncio.get_running_loop().time() + self._wanted.seconds
        await self._find_legacy()
        # Before the modern era, it is known whether there is another one, and before an old revision, the newest.
        legacy = [each for each in reversed(wanted.revisions) if each in LEGACY]
        for revision in (*legacy[:1], *(each for each in wanted.revisions if each not in LEGACY), *legacy[1:]):
            is_silent = self._silent > 1 and not self._spoken  # it answers clients of neither era
            if not is_silent and not (wanted.is_http and revision == LEGACY[0]):  # that has another transport over HTTP
                await self._judge(revision, {}, [each for each in probes() if not each.declares])
        if not self._spoken:
            if isinstance(self._why, Unreachable):
                raise InputError.at(name_of(wanted.target), f"cannot be checked: {self._why}")
            why = f" ({self._why})" if self._why else ""
            hint = "" if wanted.is_http else "; run it by itself to see what it says"
            raise InputError.at(name_of(wanted.target), f"speaks no revision of MCP{why}{hint}")
        used = [each for each in probes() if each.declares or each.requirement == OTHERWISE]
        await self._judge(max(self._spoken), EVERYTHING, used)
        if wanted.is_robust:
            await strain(self._open, max(self._spoken), self._add, wanted.only)
        self._checked.revisions = tuple(sorted(self._spoken))
        self._checked.findings = folded(self._found)
        self._checked.calls = wanted.tools.calls
        return self._checked

    async def _judge(self, revision: str, capabilities: Mapping[str, Any], every: Sequence[Probe]) -> None:
        """Run probes, in a new conversation whenever the server has ended or fallen silent in one."""
        waiting = [each for each in every if self._wanted.includes(each, revision)]
        self._loss, is_retried, refusals = None, False, 0
        while (waiting or not capabilities) and not self._is_gone:
            async with self._open(revision, capabilities) as peer:
                self._begun = asyncio.get_running_loop().time()
                why = await self._begin(peer)
                if isinstance(why, Unreachable) and not is_retried:
                    is_retried = True
                    continue
                if isinstance(why, Ended) and self._wanted.is_http and self._spoken:
                    refusals += 1
                    if refusals > RESTARTS:
                        self._report_end(waiting[0] if waiting else None, revision)
                    await asyncio.sleep(BREAK)
                    continue
                if why:
                    if revision in self._spoken or isinstance(why, Unreachable):
                        self._checked.unjudged[f"{len(waiting)} probes of {revision}: {why}"] = None
                    return
                context = self._context(peer)
                is_open = True
                while waiting and is_open:
                    is_open = await self._probe(waiting[0], context, has_restarted=refusals > 0)
                    # Silence counts only if it is confirmed in another conversation.
                    waiting, refusals = (waiting, refusals) if self._is_again else (waiting[1:], 0)
            if not waiting:
                return

    @property
    def _is_again(self) -> bool:
        return self._loss is not None

    def _report_end(self, probe: Probe | None, revision: str) -> None:
        """Report, once, that a server over HTTP has ended: a finding of the probe in which it did."""
        self._is_gone = True
        if probe and self._loss:
            reason, said = self._loss
            if isinstance(reason, Cut) or len(said) > 1:
                self._last = f"{probe.requirement} ({revision})"
                if probe.answered:
                    why = "the server ends, and its port refuses connections"
                    self._add(Found(probe.requirement, why), revision, said[-MAX_SHOWN:], probe.requirement)
        self._checked.unjudged[f"what follows {self._last}: the server has ended, its port refuses connections"] = None

    def _context(self, peer: Peer) -> Context:
        revision, capabilities = peer.revision, peer.capabilities
        spoken = tuple(each for each in self._spoken if (each in LEGACY) is (revision in LEGACY))

        @asynccontextmanager
        async def other() -> AsyncGenerator[Peer]:
            async with self._open(revision, capabilities) as another:
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
            has_legacy=self._has_legacy,
            is_repeated=not capabilities and spoken[0] != revision,
            options=self._wanted.tools,
        )

    async def _find_legacy(self) -> None:
        """Find out whether the server speaks a revision of the legacy era, if none of them is to be judged."""
        if not any(each in LEGACY for each in self._wanted.revisions):
            with suppress(Silent, NotJudged):
                async with self._open(LEGACY[-1], {}) as peer:
                    await peer.begin(LEGACY[-1])
                    self._has_legacy = bool(peer.server)

    async def _begin(self, peer: Peer) -> str | Exception:
        """Begin a conversation; return why the server does not speak the revision, empty if it does."""
        loop = asyncio.get_running_loop()
        start, timeout = loop.time(), peer.timeout
        # A server that has answered once takes not much longer to decline another revision.
        peer.timeout *= FIRST
        if self._spoken and peer.revision not in self._spoken:
            peer.timeout = min(peer.timeout, max(timeout, self._slowest * FIRST))
        try:
            why: str | Exception = await peer.begin(peer.revision)
            self._slowest = max(self._slowest, loop.time() - start)
        except (Silent, NotJudged) as silent:
            odd = (each.text for each in peer.said if not each.by_client and not as_object(json_value(each.text)))
            hint = f"; it writes {clip(text, 60)!r}, which is not a message" if (text := next(odd, "")) else ""
            why = type(silent)(f"{silent}{hint}")
            self._silent += loop.time() - start >= peer.timeout
        peer.timeout = timeout
        self._has_legacy = self._has_legacy or (peer.is_legacy and bool(peer.server))
        if why:
            self._why = why
            return why
        if peer.revision not in self._spoken:
            self._spoken.append(peer.revision)
            self._checked.server = peer.server or self._checked.server
        self._look(peer.said, peer.revision, "")
        return ""

    async def _probe(self, probe: Probe, context: Context, *, has_restarted: bool) -> bool:
        """Run a probe; return whether the conversation goes on."""
        peer, revision = context.peer, context.peer.revision
        is_again, self._loss = self._is_again, None
        start, is_open, wrong = len(peer.said), True, None
        if asyncio.get_running_loop().time() > self._end:
            self._checked.unjudged[f"some probes of {revision}: out of time"] = None
            return True
        self._checked.probes += not is_again
        self._step(f"{revision}: {probe.requirement}")
        peer.timeout = self._wanted.timeout * (2 if is_again else 1)
        try:
            wrong = await probe.run(context)
        except (Silent, NotJudged) as reason:
            is_lost = isinstance(reason, Silent | Unreachable)
            if is_lost and not is_again:
                self._loss = reason, peer.said[start:]
                return False
            is_open = not is_lost and not isinstance(reason.__context__, Silent)
            is_dead = has_restarted and isinstance(reason, Cut | Ended)
            is_known = is_dead and self._has_died  # other probes may have the same message
            if isinstance(reason, Ended) and not self._wanted.is_http and await self._ends_alone(peer):
                self._is_gone = True
                self._checked.unjudged[f"what follows {self._last}: {reason}, and does so without a message too"] = None
            elif probe.answered and (is_dead or isinstance(reason, Silent)) and not is_known:
                wrong = f"the last message: {reason}"
                self._has_died = self._has_died or is_dead
            else:
                self._checked.unjudged[f"{probe.requirement} ({revision}): {reason}"] = None
        said = peer.said[start:]
        wrong = Found(probe.requirement, wrong) if isinstance(wrong, str) else wrong
        found = [*([wrong] if wrong else ()), *context.found]
        context.found.clear()
        self._look(said, revision, probe.requirement, is_explained=wrong is not None)
        for each in found:
            self._add(each, revision, said if is_open else said[-MAX_SHOWN:], probe.requirement)
        self._last = f"{probe.requirement} ({revision})" if said else self._last
        return is_open

    async def _ends_alone(self, peer: Peer) -> bool:
        """Whether a server ends after about as long as this one even if nothing is sent to it any more."""
        age = asyncio.get_running_loop().time() - self._begun
        async with self._open(peer.revision, peer.capabilities) as another:
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
    async def _open(self, revision: str, capabilities: Mapping[str, Any], grace: float = BRIEF) -> AsyncGenerator[Peer]:
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
            try:
                yield peer
            finally:
                self._checked.messages += len(peer.said)
                for why in peer.ours:
                    self._checked.unjudged[f"what follows a message of ours that is not valid: {why}"] = None

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
