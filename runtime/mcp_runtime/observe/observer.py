"""Watches a conversation from between its two sides, and tells what breaks the protocol."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from mcp_runtime.binding import Binding
from mcp_runtime.observe.judge import Judge
from mcp_runtime.observe.talk import LegacyTalk, ModernTalk, Talk
from mcp_runtime.protocol import jsonrpc
from mcp_runtime.protocol.batches import check_batch
from mcp_runtime.protocol.envelope import ENDS
from mcp_runtime.protocol.jsonrpc import Id, MalformedMessage, is_array, is_object
from mcp_runtime.protocol.legacy import Side, State
from mcp_runtime.protocol.modern import is_modern
from mcp_runtime.protocol.rules import Broken
from mcp_runtime.protocol.text import clipped

__all__ = ["Finding", "Observer"]

MAX_JUDGED: Final = 16 << 20
"""How many bytes a message may have to be judged."""
MAX_VALUES: Final = 2_000_000
"""About how many values it may hold: each takes many times the bytes that it is written in."""
MAX_NAME: Final = 1_000
"""How many characters of an id, a token or a method are kept; a longer one is known by its hash."""

_NAMES: Final = (
    ("id",),
    ("method",),
    ("params", "requestId"),
    ("params", "progressToken"),
    ("params", "_meta", "progressToken"),
)
"""Where messages have ids and names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with one message, at one place.

    Attributes:
        sender: who sent the message.
        revision: the revision that it breaks; empty if none was agreed upon.
        method: its method; of an answer, that of the request; None if it is not known.
        id: its id, None if it has none.
        pointer: where in the message, as a JSON pointer; empty for all of it.
        reason: what is wrong there. It may repeat words of the message, made printable and clipped.
    """

    sender: Side
    revision: str
    method: str | None
    id: Id | None
    pointer: str
    reason: str


class Observer:
    """Judges the messages of one conversation in the order in which they pass.

    What a message means follows from the sessions of both ends (`mcp_runtime.protocol.session`). The runtime's own
    clients and servers have the same, so that others are judged as its own peers are.

    Args:
        bindings: the revisions that are known.

    Attributes:
        unjudged: how many messages were too long to be judged, or of a revision that is not known.
    """

    def __init__(self, bindings: Iterable[Binding]) -> None:
        judges = {binding.revision: Judge(binding) for binding in bindings}
        self._legacy = LegacyTalk({r: judge for r, judge in judges.items() if judge.binding.era == "legacy"})
        self._modern = ModernTalk({r: judge for r, judge in judges.items() if judge.binding.era == "modern"})
        self.unjudged = 0
        self._unread: set[Side] = set()

    @property
    def revision(self) -> str:
        """The revision that is spoken, empty before one is agreed upon."""
        return self._legacy.revision or self._modern.revision

    def take(self, sender: Side, text: bytes) -> list[Finding]:
        """Take one message; returns what is wrong with it."""
        if is_too_much(text):
            self.skip(sender, text[:ENDS], text[-ENDS:])
            return []
        try:
            value = jsonrpc.parse(text)
        except MalformedMessage as error:
            return [self._unreadable(sender, error)]
        if not is_array(value):
            return list(self._take_one(sender, value))
        receiver = self._legacy.ends[sender.other]
        try:
            check_batch(value, receiver.revision, accepts=receiver.accepts_batches)
        except MalformedMessage as error:
            return [self._unreadable(sender, error)]
        found = [self._finding(sender, broken) for broken in _mixed(value)]
        for index, part in enumerate(value):
            inner = self._take_one(sender, part, in_batch=True)
            found += [replace(finding, pointer=f"/{index}{finding.pointer}") for finding in inner]
        return found

    def skip(self, sender: Side, start: bytes, end: bytes) -> None:
        """Learn that a message passed that is too long to be judged.

        Args:
            sender: who sent it.
            start: its first bytes.
            end: its last bytes.
        """
        self.unjudged += 1
        self._unread.add(sender)
        error = jsonrpc.unreadable(jsonrpc.INVALID_REQUEST, "", start, end)
        if error.id is None:
            return
        id_ = _short(error.id)
        if error.is_answer:
            talk = self._answered(sender, id_)
            talk.ends[sender.other].answered(id_)
            talk.known.is_incomplete = True
        else:
            # Nobody is told that the answer to it comes for nothing.
            self._begun().ends[sender].sent(jsonrpc.Request(id_, "", None), None, may_reuse=True)

    def cut_off(self, sender: Side) -> Finding:
        """Return what it means that a side ended in the middle of a message."""
        return self._finding(sender, Broken("", "the stream ends in the middle of a message"))

    def _take_one(self, sender: Side, value: Any, *, in_batch: bool = False) -> Iterator[Finding]:
        value = shortened(value)
        try:
            message = jsonrpc.classify(value)
        except MalformedMessage as error:
            yield self._unreadable(sender, error)
            return
        if isinstance(message, jsonrpc.Failure) and message.id is None and sender.other not in self._unread:
            yield self._finding(
                sender, Broken("/id", f"all that the {sender.other} said could be read: it names no request")
            )
        talk = self._talk(sender, value)
        told = talk.take(sender, value, message, in_batch=in_batch)
        if told.judge is None and told.method:
            self.unjudged += talk.is_unknown
        for broken in told.broken:
            revision = told.judge.binding.revision if told.judge is not None else talk.revision
            yield _finding(sender, revision, broken, told.method, value.get("id"))

    def _talk(self, sender: Side, value: Mapping[str, Any]) -> Talk:
        """Return the conversation that a message belongs to: both eras may go over one line."""
        if "method" not in value:
            return self._answered(sender, value.get("id"))
        if is_modern(value) and sender is Side.CLIENT:
            return self._modern
        if "id" not in value and self._modern.knows(sender, value):
            return self._modern
        return self._begun()

    def _answered(self, sender: Side, id_: Any) -> Talk:
        is_asked = jsonrpc.is_id(id_) and id_ in self._modern.ends[sender.other].asked
        return self._modern if is_asked else self._begun()

    def _begun(self) -> Talk:
        is_legacy = self._legacy.ends[Side.CLIENT].state is not State.NEW or not self._modern.revision
        return self._legacy if is_legacy else self._modern

    def _unreadable(self, sender: Side, error: MalformedMessage) -> Finding:
        """Tell what is wrong with a text that is no message; it may have spoiled the answer to a request."""
        method = None
        self._unread.add(sender)
        if error.id is not None:
            error.id = _short(error.id)
            end = self._answered(sender, error.id).ends[sender.other]
            asked = end.asked.get(error.id)
            if asked is not None and end.malformed(error).failed is not None:
                method = asked.method
                end.answered(error.id)
        return self._finding(sender, Broken("", error.reason), method, error.id)

    def _finding(self, sender: Side, broken: Broken, method: str | None = None, id_: Id | None = None) -> Finding:
        return _finding(sender, self.revision, broken, method, id_)


def is_too_much(text: bytes) -> bool:
    """Whether a message is too long, or holds too many values, to be judged."""
    return len(text) > MAX_JUDGED or (len(text) > MAX_VALUES and sum(map(text.count, (b",", b"{", b"["))) > MAX_VALUES)


def _finding(sender: Side, revision: str, broken: Broken, method: str | None, id_: Any) -> Finding:
    return Finding(
        sender=sender,
        revision=clipped(revision, 100),
        method=None if method is None else clipped(method, 100),
        id=id_ if type(id_) is int else clipped(id_, 100) if type(id_) is str else None,
        pointer=broken.pointer,
        reason=clipped(broken.reason),
    )


def _mixed(values: list[Any]) -> list[Broken]:
    """Judge whether a batch holds calls or answers, but not both (2025-03-26, basic, "Batching")."""
    kinds = {"method" in value for value in values if is_object(value)}
    return [Broken("", "a batch holds calls or answers, not both")] if len(kinds) > 1 else []


def _short(name: Id) -> Id:
    if isinstance(name, str) and len(name) > MAX_NAME:
        return f"sha256:{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return name


def shortened(value: Any) -> Any:
    """Return a message whose ids and names are short enough to be kept."""
    for *holders, name in _NAMES:
        held = value
        for holder in holders:
            held = held.get(holder) if is_object(held) else None
        found: Any = held.get(name) if is_object(held) else None
        if isinstance(found, str) and len(found) > MAX_NAME:
            value = _replaced(value, (*holders, name), _short(found))
    return value


def _replaced(value: dict[str, Any], path: tuple[str, ...], new: Id) -> dict[str, Any]:
    name, *rest = path
    return {**value, name: _replaced(value[name], tuple(rest), new) if rest else new}
