"""How each revision reads a message, and why others refuse it; results are read by their requests."""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.ir.diagnostics import clip
from mcp_bindgen.ir.json_values import as_list, as_object, is_list, is_object, spell_pointer
from mcp_bindgen.live.bindings import package_of

if TYPE_CHECKING:
    from mcp_runtime.core.protocol.jsonrpc import Notification, Request
    from mcp_runtime.core.protocol.rules import Broken

MAX_OPEN: Final = 10_000
"""How many requests are remembered that were not answered yet."""
MAX_SAME: Final = 16
"""How many of them have the same id."""
INITIALIZE: Final = "initialize"
MAX_REASONS = 3
"""The number of reasons shown per revision."""
MAX_SHOWN = 100
"""The number of characters of a name from a message that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one message is.

    Attributes:
        kind: request, notification, result, error or batch; ``unreadable`` if it is not a message.
        method: its method; of an answer, that of the request if the log has it; None if it is not known.
        id: its id, or None.
        asked_on: the line of the request that it answers, None if the log has none.
        revision: the revision that it must conform to; None if the log does not say.
        accepted: revision -> what it takes the message for.
        refused: revision -> where it refuses the message, and why.
        warnings: what other clients of its revision may refuse.
    """

    kind: str
    method: str | None = None
    id: Any = None
    asked_on: int | None = None
    revision: str | None = None
    accepted: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: Mapping[str, "Sequence[Broken]"] = field(default_factory=dict[str, "Sequence[Broken]"])
    warnings: "Sequence[Broken]" = ()

    @property
    def is_valid(self) -> bool:
        """Whether its revision accepts it; if that is not known, whether any does."""
        is_judged = self.revision in (*self.accepted, *self.refused)
        return self.revision in self.accepted if is_judged else bool(self.accepted)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that was not answered yet: its method, its line, and whether it may become a task."""

    method: str
    line: int
    wants_task: bool


class Reader:
    """Reads the messages of one log, in order.

    Args:
        revisions: the revisions that judge them, oldest first.
        pinned: the revision that all of them are of; None to learn it from the log.
    """

    def __init__(self, revisions: Sequence[str], pinned: str | None = None) -> None:
        from mcp_runtime.observe.judge import Judge

        self._judges = {revision: Judge(package_of(revision).BINDING) for revision in revisions}
        self._revision = self._pinned = pinned
        self._open: OrderedDict[Any, list[_Asked]] = OrderedDict()

    def read(self, text: bytes, line: int) -> Reading:
        """Read a message, or a batch of them.

        Args:
            text: the message.
            line: the number of its line.
        """
        from mcp_runtime.core.protocol import jsonrpc
        from mcp_runtime.core.protocol.rules import Broken

        try:
            value = jsonrpc.parse(text)
            return self._read_batch(value, line) if is_list(value) else self._read(value, line)
        except jsonrpc.Fault as error:
            refused: dict[str, Sequence[Broken]] = dict.fromkeys(self._judges, (Broken("", error.reason),))
            return Reading(kind="unreadable", id=error.id, revision=self._revision, refused=refused)

    def _read(self, value: Any, line: int) -> Reading:
        from mcp_runtime.core.protocol.jsonrpc import Failure, Notification, Request, classify
        from mcp_runtime.observe.observer import shortened

        value = shortened(value)
        message = classify(value)
        match message:
            case Request() | Notification():
                return self._read_call(value, message, line)
            case Failure():
                found = {revision: judge.failure(message) for revision, judge in self._judges.items()}
                asked = self._answered(message.id, None)
                return self._reading("error", found, dict.fromkeys(found, "an error"), message.id, asked)
            case _:
                return self._read_result(message.id, message.result)

    def _read_call(self, value: dict[str, Any], message: "Request | Notification", line: int) -> Reading:
        found = {revision: judge.call(value) for revision, judge in self._judges.items()}
        as_what = {r: judge.method(message.method) for r, judge in self._judges.items()}
        id_ = value.get("id")
        if id_ is not None:
            asked = _Asked(message.method, line, "task" in (message.params or {}))
            waiting = self._open.setdefault(id_, [])
            waiting.append(asked)
            del waiting[:-MAX_SAME]
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        names = {revision: method.message for revision, method in as_what.items() if method is not None}
        kind = "request" if "id" in value else "notification"
        own = _own_revision(message.method, message.params or {})
        return self._reading(kind, found, names, id_, None, method=message.method, own=own)

    def _read_result(self, id_: Any, result: dict[str, Any]) -> Reading:
        asked = self._answered(id_, result)
        found: dict[str, list[Broken]] = {}
        names: dict[str, str] = {}
        for revision, judge in self._judges.items():
            method = judge.request(asked.method) if asked is not None else None
            if asked is None:
                found[revision], names[revision] = judge.any_result(result)
            elif method is None:
                found[revision] = judge.unknown(asked.method)
            else:
                found[revision] = judge.result(method, result, wants_task=asked.wants_task)
                names[revision] = method.result.name
        if asked is not None and asked.method == INITIALIZE and self._pinned is None:
            chosen = result.get("protocolVersion")
            self._revision = chosen if isinstance(chosen, str) else self._revision
        reading = self._reading("result", found, names, id_, asked)
        era = next((judge.binding.era for name, judge in self._judges.items() if name == reading.revision), "")
        warnings = () if era == "modern" else tuple(boolean_schemas(as_list(result.get("tools"))))
        return replace(reading, warnings=warnings)

    def _read_batch(self, values: list[Any], line: int) -> Reading:
        from mcp_runtime.core.protocol.dispatch import check_batch
        from mcp_runtime.core.protocol.jsonrpc import Fault
        from mcp_runtime.core.protocol.rules import Broken

        found: dict[str, list[Broken]] = {}
        for revision, judge in self._judges.items():
            try:
                check_batch(values, "", accepts=judge.binding.has_batches)
                found[revision] = []
            except Fault as error:
                found[revision] = [Broken("", error.reason)]
        allowed = [revision for revision in found if not found[revision]]
        for index, value in enumerate(values if allowed else ()):
            try:
                refused: Mapping[str, Sequence[Broken]] = self._read(value, line).refused
            except Fault as error:
                refused = dict.fromkeys(allowed, (Broken("", error.reason),))
            for revision in allowed:
                inner = refused.get(revision, ())
                found[revision] += [Broken(f"/{index}{broken.pointer}", broken.reason) for broken in inner]
        return self._reading("batch", found, dict.fromkeys(found, f"a batch of {len(values)}"), None, None)

    def _reading(
        self,
        kind: str,
        found: "Mapping[str, Sequence[Broken]]",
        names: Mapping[str, str],
        id_: Any,
        asked: _Asked | None,
        *,
        method: str | None = None,
        own: str | None = None,
    ) -> Reading:
        return Reading(
            kind=kind,
            method=asked.method if asked is not None else method,
            id=id_,
            asked_on=asked.line if asked is not None else None,
            revision=self._pinned or own or self._revision,
            accepted={revision: names[revision] for revision, broken in found.items() if not broken},
            refused={revision: broken for revision, broken in found.items() if broken},
        )

    def _answered(self, id_: Any, result: dict[str, Any] | None) -> _Asked | None:
        """Return the request that an answer is for; both sides may have asked under its id."""
        waiting = self._open.get(id_, []) if id_ is not None else []
        fitting = [asked for asked in waiting if result is not None and self._fits(asked, result)]
        found = next(iter(fitting or waiting), None)
        if found is not None:
            waiting.remove(found)
            if not waiting:
                del self._open[id_]
        return found

    def _fits(self, asked: _Asked, result: dict[str, Any]) -> bool:
        methods = [(judge, judge.request(asked.method)) for judge in self._judges.values()]
        return any(method is not None and not judge.result(method, result) for judge, method in methods)


def boolean_schemas(tools: Sequence[Any]) -> "Iterator[Broken]":
    """Iterate over properties of tools whose schema is true or false, an object up to 2025-11-25 (schema.ts, Tool)."""
    from mcp_runtime.core.protocol.rules import Broken

    for index, tool in enumerate(tools):
        for name in ("inputSchema", "outputSchema"):
            for key, value in as_object(as_object(as_object(tool).get(name)).get("properties")).items():
                if isinstance(value, bool):
                    place = spell_pointer(("result", "tools", index, name, "properties", key))
                    yield Broken(place, "is a boolean, over which clients up to 2025-11-25 may lose all tools")


def _own_revision(method: str, params: Mapping[str, Any]) -> str | None:
    """Return the revision that a call itself names."""
    from mcp_runtime.core.protocol.names import VERSION

    meta: Any = params.get("_meta")
    named: Any = meta.get(VERSION) if is_object(meta) else None
    named = params.get("protocolVersion") if method == INITIALIZE else named
    return named if isinstance(named, str) else None


def lines_of(file: str, line: int, reading: Reading) -> Iterator[str]:
    """Iterate over the lines about a message; revisions with the same verdict share a line."""
    mark = "" if reading.is_valid else "INVALID "
    yield f"{file}:{line}: {mark}{_title(reading)}"
    for what, revisions in _grouped(reading.accepted):
        yield f"  accepted by {_span(revisions, reading)} as {what}"
    told = {revision: tuple(broken) for revision, broken in reading.refused.items()}
    for broken, revisions in _grouped(told):
        reasons = [f"{place.pointer or '/'}: {place.reason}" for place in broken]
        yield f"  refused by {_span(revisions, reading)}: {reasons[0]}"
        yield from (f"    {reason}" for reason in reasons[1:MAX_REASONS])
    for place in reading.warnings[:MAX_REASONS]:
        yield f"  warning: {clip(place.pointer, MAX_SHOWN)}: {place.reason}"


def _title(reading: Reading) -> str:
    words = [reading.kind]
    if reading.method is not None:
        words.append(f"{'of ' if reading.kind in ('result', 'error') else ''}{clip(reading.method, MAX_SHOWN)}")
    if reading.id is not None:
        words.append(f"with id {clip(json.dumps(reading.id), MAX_SHOWN)}")
    if reading.asked_on is not None:
        words.append(f"to line {reading.asked_on}")
    elif reading.kind == "result":
        words.append("to a request that is not in the log")
    of = f", in a session of {clip(reading.revision, MAX_SHOWN)}" if reading.revision else ""
    return " ".join(words) + of


def _grouped(told: Mapping[str, Any]) -> list[tuple[Any, list[str]]]:
    """Group revisions by verdict."""
    found: dict[Any, list[str]] = {}
    for revision, what in told.items():
        found.setdefault(what, []).append(revision)
    return list(found.items())


def _span(revisions: list[str], reading: Reading) -> str:
    """Format revisions, consecutive ones as a range."""
    judged = sorted({*reading.accepted, *reading.refused})
    first = judged.index(revisions[0])
    if len(revisions) > 2 and judged[first : first + len(revisions)] == revisions:
        return "every revision" if len(revisions) == len(judged) else f"{revisions[0]} to {revisions[-1]}"
    return ", ".join(revisions)


def facts_of(file: str, line: int, reading: Reading) -> dict[str, Any]:
    """Return the JSON output about a message."""
    return {
        "source": file,
        "line": line,
        **{name: getattr(reading, name) for name in ("kind", "method", "id", "asked_on", "revision")},
        "valid": reading.is_valid,
        "accepted": dict(reading.accepted),
        "refused": {
            revision: [broken._asdict() for broken in found][:MAX_REASONS]
            for revision, found in reading.refused.items()
        },
        "warnings": [place._asdict() for place in reading.warnings[:MAX_REASONS]],
    }
