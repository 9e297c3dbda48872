"""What generation cannot know about a proposal: behaviour of the runtime, and rows that a person adds to schema/."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import Change, View
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.document import document
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import capability_book, doc_book, load_released

_BEHAVIOUR: Mapping[str, str] = {
    "result-alternative-added": "when a call ends this way, and what becomes of callers that do not know it",
    "capability-added": "what it permits, and what is refused without it",
    "error-code-added": "when this error is sent",
    "jsonrpc-message-form-added": "how these messages are read and answered",
    "jsonrpc-message-form-removed": "how peers that still send these messages are answered",
}
"""What the runtime decides about a change of each of these rules."""


MAX_FILES = 10
"""A name in more files than these is a word of JSON or JSON-RPC, such as ``type``, and says nothing about a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Work for a person: what changes, what is to be done about it, and the files concerned."""

    what: str
    work: str
    files: tuple[str, ...] = ()


def by_hand(findings: Sequence[Finding], old: Protocol, new: Protocol) -> tuple[ByHand, ...]:
    """Return what a person has to write before the runtime speaks the new side, in the order of the findings."""
    return tuple(dict.fromkeys((*_behaviour(findings), *_named(findings), *_rows(old, new))))


def _behaviour(findings: Sequence[Finding]) -> Iterator[ByHand]:
    for finding in findings:
        if work := _BEHAVIOUR.get(finding.rule.id):
            what = finding.place if finding.new in ("-", finding.place) else f"{finding.place} ({finding.new})"
            yield ByHand(what=what, work=work)


def _named(findings: Sequence[Finding]) -> Iterator[ByHand]:
    """Iterate over what is no longer as it was, if code of the runtime names it; names in the same files together."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for finding in findings:
        subject = finding.before
        changed = finding.rule.view is View.WIRE and finding.change is not Change.NONE
        if subject is None or not (changed or finding.rule.id.endswith("-removed")):
            continue
        name = subject.member or finding.old
        files = tuple(file for file, text in _runtime().items() if f'"{name}"' in text)
        if name != "-" and 0 < len(files) <= MAX_FILES:
            found.setdefault(files, {})[name] = None
    for files, names in found.items():
        yield ByHand(what=", ".join(names), work="the runtime names it", files=files)


@cache
def _runtime() -> Mapping[str, str]:
    """Return the source files of the runtime by path."""
    spec = find_spec("mcp_runtime")
    folders = [Path(place) for place in (spec.submodule_search_locations or () if spec else ())]
    return {
        path.relative_to(folder.parent).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }


def _rows(old: Protocol, new: Protocol) -> Iterator[ByHand]:
    """Iterate over the rows that files of schema/ lack: descriptions, and the capabilities that methods need."""
    known = set(document(old, doc_book())[1])
    if missing := [name for name in document(new, doc_book())[1] if name not in known]:
        yield ByHand(what=", ".join(missing), work="describe each", files=("schema/docs.toml",))
    methods = {method.name for revision in released() for method in load_released(revision).methods}
    methods |= {method.name for method in old.methods} | capability_book().methods.keys()
    if bare := [method.name for method in new.methods if not method.capability and method.name not in methods]:
        work = "name the capability that each needs, unless every peer may use it"
        yield ByHand(what=", ".join(bare), work=work, files=("schema/capabilities.toml",))
