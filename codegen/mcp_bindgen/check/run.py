"""Check a server: talk to it in each revision that it speaks, run the probes, and collect what is wrong."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_bindgen.check.findings import Finding, folded
from mcp_bindgen.check.peer import Said, Silent, started
from mcp_bindgen.check.posting import reached
from mcp_bindgen.check.probes import PROBES, Probe
from mcp_bindgen.check.requirements import LEGACY, REVISIONS
from mcp_bindgen.check.seen import requirement_of
from mcp_bindgen.check.talk import Talk, begin
from mcp_bindgen.diagnostics import InputError

FIRST: Final = 3
"""How many times longer the first answer may take: the server has to start."""
MAX_SHOWN: Final = 4
"""The number of messages that a finding shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to check: the command of a server, its environment and folder, or a URL; and which probes and revisions."""

    words: tuple[str, ...]
    url: str
    env: Mapping[str, str]
    cwd: str | None
    timeout: float
    only: frozenset[str] = frozenset()
    revisions: tuple[str, ...] = REVISIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result: the server's name and version, the revisions that it speaks, and what is wrong.

    `probes` and `messages` count what was done; `unjudged` are faults of our own messages, whose answers say nothing.
    """

    server: Mapping[str, Any]
    revisions: tuple[str, ...]
    findings: tuple[Finding, ...]
    probes: int
    messages: int
    unjudged: tuple[str, ...]


async def check(wanted: Wanted) -> Checked:
    """Check a server over stdio or HTTP.

    Raises:
        InputError: it cannot be started or reached, or speaks no known revision.
    """
    checking = _Checking(wanted)
    await checking.run()
    return checking.result()


class _Checking:
    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._server: Mapping[str, Any] = {}
        self._spoken: list[str] = []
        self._found: list[Finding] = []
        self._unjudged: list[str] = []
        self._why: list[str] = []
        self._probes = 0
        self._messages = 0

    def result(self) -> Checked:
        if not self._spoken:
            why = f" ({self._why[-1]})" if self._why else ""
            raise InputError.at(
                self._wanted.url or self._wanted.words[0],
                f"speaks no revision of MCP{why}; run it by itself to see what it says",
            )
        return Checked(
            server=self._server,
            revisions=tuple(self._spoken),
            findings=folded(self._found),
            probes=self._probes,
            messages=self._messages,
            unjudged=tuple(self._unjudged),
        )

    async def run(self) -> None:
        for revision in self._wanted.revisions:
            if self._wanted.url and revision == LEGACY[0]:
                continue  # it has another transport over HTTP
            waiting = [each for each in PROBES.values() if revision in each.revisions and self._is_wanted(each)]
            while True:
                left = await self._converse(revision, waiting)
                if left is None or len(left) == len(waiting):
                    break
                waiting = left  # the server ended or fell silent in a probe: the rest in a new conversation
                if not waiting:
                    break

    def _is_wanted(self, probe: Probe) -> bool:
        if probe.is_of_http and not self._wanted.url:
            return False
        return not self._wanted.only or probe.requirement in self._wanted.only

    async def _converse(self, revision: str, probes: Sequence[Probe]) -> list[Probe] | None:
        """Run probes in one conversation; return those that are left, None if the revision is not spoken."""
        async with self._begun(revision) as talk:
            if talk is None:
                return None
            if revision not in self._spoken:
                self._spoken.append(revision)
                self._server = talk.server or self._server
            self._look(talk.peer.said, revision)
            for index, probe in enumerate(probes):
                self._probes += 1
                start = len(talk.peer.said)
                try:
                    wrong = await probe.run(talk)
                    is_over = False
                except Silent as silent:
                    wrong, is_over = f"the last message: {silent}", True
                said = talk.peer.said[start:]
                self._look(said, revision, is_explained=wrong is not None)
                if wrong and not self._is_known(probe.follows, revision):
                    self._add(probe.requirement, revision, wrong, said)
                if is_over:
                    return list(probes[index + 1 :])
            return []

    @asynccontextmanager
    async def _begun(self, revision: str) -> AsyncGenerator[Talk | None]:
        wanted = self._wanted
        begun = (
            reached(wanted.url, wanted.timeout)
            if wanted.url
            else started(wanted.words, wanted.env, wanted.cwd, wanted.timeout)
        )
        async with begun as peer:
            peer.timeout *= FIRST
            talk = None
            try:
                talk = await begin(peer, revision)
            except Silent as silent:
                self._why.append(str(silent))
            peer.timeout /= FIRST
            has_legacy = any(each in LEGACY for each in self._spoken)
            yield None if talk is None else replace(talk, has_legacy=has_legacy)
            self._messages += len(peer.said)
            self._unjudged += peer.ours

    def _look(self, said: Sequence[Said], revision: str, *, is_explained: bool = False) -> None:
        """Take over what the observer found, unless we provoked it, or a finding of a probe explains it."""
        is_provoked = is_explained or any(each.by_client and not each.is_valid for each in said)
        for index, each in enumerate(said):
            for wrong in each.wrong:
                requirement = requirement_of(wrong.reason, revision)
                if is_provoked and not requirement.startswith("stdio."):
                    continue
                where = f"{wrong.pointer}: " if wrong.pointer else ""
                self._add(requirement, revision, f"{where}{wrong.reason}", said[max(0, index - 1) : index + 1])

    def _is_known(self, requirement: str, revision: str) -> bool:
        return any(each.requirement == requirement and revision in each.revisions for each in self._found)

    def _add(self, requirement: str, revision: str, reason: str, said: Sequence[Said]) -> None:
        shown = tuple((each.by_client, each.text) for each in said[:MAX_SHOWN])
        self._found.append(Finding(requirement=requirement, revisions=(revision,), reason=reason, said=shown))


def run_check(wanted: Wanted) -> Checked:
    """Check a server; raises like `check`."""
    return asyncio.run(check(wanted))
