"""What to check: the server, the limits, and the probes that run in a revision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from mcp_bindgen.check import probes as modules
from mcp_bindgen.check.probe import FUNCTIONS, Context, Found, Probe, ToolOptions, sent
from mcp_bindgen.check.requirements import REVISIONS, row_of, rows
from mcp_bindgen.live.target import Command, Target

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
