"""Observes a conversation between its two sides, and reports what violates the protocol."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.text import ENDS, MIN_COUNTED, has_too_many_values
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import Side, State, check_batch
from mcp_runtime.core.protocol.jsonrpc import Fault, Id, is_modern
from mcp_runtime.core.protocol.names import INITIALIZE
from mcp_runtime.core.protocol.rules import Broken
from mcp_runtime.observe.judge import Judge
from mcp_runtime.observe.talk import LegacyTalk, ModernTalk, Talk

__all__ = ["Finding", "Observer"]

MAX_JUDGED: Final = 16 << 20
"""The maximum size in bytes of a message that is checked; its values are limited as those of the runtime."""
MAX_NAME: Final = 1_000
"""The maximum length of a remembered id, token or method in characters; a longer one is replaced by its hash."""

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
    """What is wrong with one message, at one location.

    Attributes:
        sender: the side that sent the message.
        revision: the revision that it violates; empty if none was agreed on.
        method: its method; for an answer, that of the request; None if unknown.
        id: its id; None if it has none.
        pointer: the location in the message, as a JSON pointer; empty for the whole message.
        reason: what is wrong there. It may quote the message, made printable and clipped.
        is_warning: whether the specification only advises against it (SHOULD NOT).
    """

    sender: Side
    revision: str
    method: str | None
    id: Id | None
    pointer: str
    reason: str
    is_warning: bool = False


class Observer:
    """Checks the messages of one conversation in the order in which they pass.

    The sessions of both ends determine what a message means. The runtime's own
    clients and servers use the same, so other implementations are checked as its own peers are.

    Args:
        bindings: the known revisions.
        is_joined: whether messages may have passed before, so that unknown cursors and states are not reported.

    Attributes:
        unjudged: how many messages were too long to be checked, or of an unknown revision.
    """

    def __init__(self, bindings: Iterable[Binding], *, is_joined: bool = False) -> None:
        judges = {binding.revision: Judge(binding) for binding in bindings}
        self._legacy = LegacyTalk({r: judge for r, judge in judges.items() if judge.binding.era == "legacy"})
        self._modern = ModernTalk({r: judge for r, judge in judges.items() if judge.binding.era == "modern"})
        self._legacy.known.is_incomplete = self._modern.known.is_incomplete = is_joined
        self.unjudged = 0
        self._unread: set[Side] = set()

    @property
    def revision(self) -> str:
        """The revision in use; empty before one is agreed on."""
        return self._legacy.revision or self._modern.revision

    def take(self, sender: Side, text: bytes) -> list[Finding]:
        """Check one message, and return what is wrong with it.

        Args:
            sender: the side that sent it.
            text: the message.
        """
        if is_too_much(text):
            self.skip(sender, text[:ENDS], text[-ENDS:])
            return []
        try:
            value = jsonrpc.parse(text)
        except Fault as error:
            return [self._unreadable(sender, error)]
        if not is_array(value):
            return list(self._take_one(sender, value))
        receiver = self._legacy.ends[sender.other]
        try:
            check_batch(value, receiver.revision, accepts=receiver.accepts_batches)
        except Fault as error:
            return [self._unreadable(sender, error)]
        found = [self._finding(sender, broken) for broken in _mixed(value)]
        for index, part in enumerate(value):
            inner = self._take_one(sender, part, in_batch=True)
            found += [replace(finding, pointer=f"/{index}{finding.pointer}") for finding in inner]
        return found

    def skip(self, sender: Side, start: bytes, end: bytes) -> None:
        """Record that a message passed that is too long to be checked.

        Args:
            sender: the side that sent it.
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
            # The violation that no request has this answer must not be reported.
            self._begun().ends[sender].sent(jsonrpc.Request(id_, "", None), None, may_reuse=True)

    def cut_off(self, sender: Side) -> Finding:
        """Return the finding for a stream that ended in the middle of a message.

        Args:
            sender: the side whose stream ended.
        """
        return self._finding(sender, Broken("", "the stream ends in the middle of a message"))

    def _take_one(self, sender: Side, value: Any, *, in_batch: bool = False) -> Iterator[Finding]:
        value = shortened(value)
        try:
            message = jsonrpc.classify(value)
        except Fault as error:
            yield self._unreadable(sender, error)
            return
        if isinstance(message, jsonrpc.Failure) and message.id is None and sender.other not in self._unread:
            yield self._finding(
                sender, Broken("/id", f"the error names no request, but the {sender.other} sent only readable messages")
            )
        talk = self._talk(sender, value)
        checked = talk.take(sender, value, message, in_batch=in_batch)
        if checked.judge is None and checked.method:
            self.unjudged += talk.is_unknown
        revision = checked.judge.binding.revision if checked.judge is not None else talk.revision
        for broken in checked.broken:
            yield _finding(sender, revision, broken, checked.method, value.get("id"))
        for broken in checked.warnings:
            yield replace(_finding(sender, revision, broken, checked.method, value.get("id")), is_warning=True)

    def _talk(self, sender: Side, value: Mapping[str, Any]) -> Talk:
        """Return the conversation that a message belongs to: both eras may share one line."""
        if "method" not in value:
            return self._answered(sender, value.get("id"))
        if is_modern(value) and sender is Side.CLIENT:
            return self._modern
        if value["method"] == INITIALIZE and not self._modern.is_spoken:
            return self._legacy  # after a probe that the server did not answer, or answered with an error
        if "id" not in value and self._modern.knows(sender, value):
            return self._modern
        return self._begun()

    def _answered(self, sender: Side, id_: Any) -> Talk:
        is_asked = jsonrpc.is_id(id_) and id_ in self._modern.ends[sender.other].asked
        return self._modern if is_asked else self._begun()

    def _begun(self) -> Talk:
        is_legacy = self._legacy.ends[Side.CLIENT].state is not State.NEW or not self._modern.revision
        return self._legacy if is_legacy else self._modern

    def _unreadable(self, sender: Side, error: Fault) -> Finding:
        """Return the finding for a text that is not a message; it may have replaced the answer to a request."""
        method = None
        self._unread.add(sender)
        if error.id is not None:
            error.id = _short(error.id)
            end = self._answered(sender, error.id).ends[sender.other]
            asked = end.asked.get(error.id)
            if asked is not None and end.malformed(error).failed is not None:
                method = asked.name
                end.answered(error.id)
        return self._finding(sender, Broken("", error.reason), method, error.id)

    def _finding(self, sender: Side, broken: Broken, method: str | None = None, id_: Id | None = None) -> Finding:
        return _finding(sender, self.revision, broken, method, id_)


def is_too_much(text: bytes) -> bool:
    """Whether a message is too long, or contains too many values, to be checked."""
    return len(text) > MAX_JUDGED or (len(text) > MIN_COUNTED and has_too_many_values(text))


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
    """Check that a batch contains only calls or only answers (2025-03-26, basic, "Batching")."""
    kinds = {"method" in value for value in values if is_object(value)}
    return [Broken("", "a batch must not mix calls and answers")] if len(kinds) > 1 else []


def _short(name: Id) -> Id:
    if isinstance(name, str) and len(name) > MAX_NAME:
        return f"sha256:{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return name


def shortened(value: Any) -> Any:
    """Return a message whose ids and names are short enough to be remembered."""
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
