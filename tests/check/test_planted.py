"""Bugs and the faults of the observer's catalogue, each planted in a live server, are found under their requirement."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from check.bugs import BUGS, script_of
from mcp_bindgen.check.run import check
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.live.target import Command
from observe.faults import FAULTS, SERVER, Fault
from support.documents import ROOT
from support.programs import quick_python

AT_ONCE = 8
"""How many servers are checked at once: most of the time is spent waiting."""
FAULTY = {fault.name: fault for fault in FAULTS if fault.lines[-1][0] == SERVER}
SAME: Mapping[str, tuple[str, ...]] = {
    "messages.json-rpc": ("stdio.stdout-clean",),
    "messages.error-code-integer": ("messages.error-members",),
    "sampling.tools-not-sent": ("lifecycle.respect-capabilities",),
    "sampling.declared": ("lifecycle.respect-capabilities",),
    "elicitation.declared": ("lifecycle.respect-capabilities",),
    "elicitation.no-undeclared-mode": ("lifecycle.respect-capabilities",),
    "sampling.tools-declared": ("lifecycle.respect-capabilities",),
    "modern.result-type-unknown": ("modern.result-type",),
    "progress.stops": ("progress.known-tokens",),
    "tasks.created-result": ("tasks.id-string",),
    "tools.declared": ("tools.list-changed",),
    "resources.declared": ("resources.list-changed",),
    "prompts.declared": ("prompts.list-changed",),
}
"""Requirements that one and the same message breaks: which of them is told."""


UNFOUND = {"a page that hides where it leads", "an elicitation of the same id"}
"""Faults that may be right: the observer is stricter about URLs than the pages, and a client that
retries gets the same id."""
USES = frozenset({"messages.base-protocol", "ping.answered", "listening.acknowledged", "robust.arguments"})
"""The probes that use what a server offers: the faults of the catalogue are in what it sends then."""


async def requirements(
    revision: str, name: str, gate: asyncio.Semaphore, only: frozenset[str] = frozenset()
) -> list[str]:
    """Check a server with a bug; return the requirements that it breaks."""
    async with gate:
        words = (quick_python(), "-m", "check.bugs", revision, name)
        wanted = Wanted(
            target=Command(words=words, env={"PYTHONPATH": str(ROOT / "tests")}),
            timeout=4,
            seconds=600,
            revisions=(revision,),
            only=only,
        )
        found = await check(wanted)
    return [each.requirement for each in found.findings if each.severity is not Severity.INFO]


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_the_server_without_a_bug_has_no_finding(revision: str) -> None:
    assert await requirements(revision, "", asyncio.Semaphore()) == []


@pytest.mark.slow
async def test_bugs_are_found_under_their_requirement() -> None:
    assert len(BUGS) >= 40
    gate = asyncio.Semaphore(AT_ONCE)
    every = await asyncio.gather(*(requirements(revision, name, gate) for name, (revision, *_) in BUGS.items()))
    found = dict(zip(BUGS, every, strict=True))
    wrong = {name: found[name] for name, (_, requirement, _) in BUGS.items() if found[name] != [requirement]}
    assert wrong == {}, json.dumps(wrong, indent=2)


@pytest.mark.slow
async def test_faults_of_the_catalogue_are_found_under_their_requirement() -> None:
    gate = asyncio.Semaphore(AT_ONCE)
    every = await asyncio.gather(
        *(requirements(revision_of(fault), script_of(fault), gate, USES) for fault in FAULTY.values())
    )
    found = dict(zip(FAULTY, every, strict=True))
    wrong = {name: found[name] for name, fault in FAULTY.items() if not is_found(fault.requirement, found[name])}
    assert len(FAULTY) >= 80
    assert wrong.keys() == UNFOUND, json.dumps(wrong, indent=2)


def revision_of(fault: Fault) -> str:
    is_modern = b"2026-07-28" in fault.lines[0][1]
    return "2026-07-28" if is_modern else "2025-11-25"


def is_found(requirement: str, found: list[str]) -> bool:
    return len(found) == 1 and found[0] in (requirement, *SAME.get(requirement, ()))
