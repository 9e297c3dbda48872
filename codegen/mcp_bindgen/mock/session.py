"""Read a recorded session: what a server answered, sent and asked for each message of its client."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, refuse_os_errors
from mcp_bindgen.ir.json_values import NOT_JSON, is_list, is_object
from mcp_bindgen.live.bindings import revisions
from mcp_bindgen.live.recording.record import FORMAT

MAX_LINE: Final = 64 << 20
"""The longest line, in bytes."""
MAX_LINES: Final = 1_000_000
"""How many messages a session may have."""
OWN: Final = frozenset(("initialize", "logging/setLevel", "ping", "server/discover", "subscriptions/listen"))
"""The requests that the runtime answers."""
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_INFO: Final = "io.modelcontextprotocol/serverInfo"
_UNHEARD: Final = frozenset(("notifications/cancelled", "notifications/progress"))


@dataclass(slots=True)
class Round:
    """A message of the client, and what the server sent for it.

    Attributes:
        line: the number of its line.
        method: its method.
        params: its params.
        revision: the revision of the conversation; empty if none was agreed on.
        before: the calls that the server made before its answer.
        answer: the answer; None for a notification, and if the session ended before.
        after: the calls that it made after that.
        is_cancelled: whether the client cancelled it.
    """

    line: int
    method: str
    params: Mapping[str, Any]
    revision: str
    before: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answer: dict[str, Any] | None = None
    after: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    is_cancelled: bool = False

    @property
    def result(self) -> dict[str, Any]:
        """The result; may be empty."""
        result: Any = (self.answer or {}).get("result")
        return result if is_object(result) else {}


@dataclass(slots=True)
class Session:
    """A recorded session in one revision.

    Attributes:
        revision: the revision.
        info: the server's name, version and so on.
        capabilities: those of the server.
        instructions: how to use the server.
        rounds: the messages of the client, except those that the runtime answers, in order.
        left_out: the numbers of messages in other revisions.
        unreadable: lines that are not a message of a conversation, which are left out.
    """

    revision: str
    info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str | None
    rounds: list[Round]
    left_out: Mapping[str, int]
    unreadable: Diagnostics


class _Conversation:
    """The state of one conversation while it is read."""

    def __init__(self) -> None:
        self.revision = ""
        self.open: dict[Any, Round] = {}
        self.last: Round | None = None

    def client(self, line: int, message: Mapping[str, Any]) -> Round | None:
        """Take a message of the client; return its round if it begins one."""
        method, given = message.get("method"), message.get("params")
        if not isinstance(method, str):
            return None
        params: Mapping[str, Any] = given if is_object(given) else {}
        if method == "notifications/cancelled" and (ended := self.open.pop(_key(params.get("requestId")), None)):
            ended.is_cancelled = True
        if method in _UNHEARD:
            return None
        meta: Any = params.get("_meta")
        named: Any = meta.get(_VERSION) if is_object(meta) else None
        found = Round(line, method, params, named if isinstance(named, str) else self.revision)
        if "id" in message:
            self.open[_key(message["id"])] = found
        elif method not in OWN:
            self.last = found
        return found

    def server(self, message: dict[str, Any]) -> None:
        """Take a message of the server."""
        if "method" in message:
            waiting = [each for each in self.open.values() if each.method not in OWN]
            owner = next((each for each in waiting if _token(each) == _token_of(message)), None)
            if owner is not None or waiting:
                (owner or waiting[-1]).before.append(message)
            elif self.last is not None:
                self.last.after.append(message)
            return
        answered = self.open.pop(_key(message.get("id")), None)
        if answered is None:
            return
        answered.answer = message
        if answered.method == "initialize":
            answered.revision = self.revision = str(answered.result.get("protocolVersion", ""))
        elif answered.method not in OWN:
            self.last = answered


def _key(id_: Any) -> Any:
    return id_ if isinstance(id_, str | int) else None


def _token(asked: Round) -> Any:
    meta: Any = asked.params.get("_meta")
    return meta.get("progressToken", "") if is_object(meta) else ""


def _token_of(message: Mapping[str, Any]) -> Any:
    params: Any = message.get("params")
    return params.get("progressToken") if is_object(params) else None


def read_session(path: Path, revision: str = "") -> Session:
    """Read the conversations in one revision from a file that ``mcp-bindgen proxy --record`` wrote.

    Args:
        path: the file.
        revision: the revision; by default the one of most messages.

    Raises:
        InputError: it is not a recorded session, or has no conversation in the revision, or in a released one.
    """
    conversations: dict[int, _Conversation] = defaultdict(_Conversation)
    rounds: list[Round] = []
    unreadable = Diagnostics()
    for line, entry in _entries(path, unreadable):
        conversation = conversations[entry["conversation"]]
        message: Any = entry.get("message")
        for each in message if is_list(message) else [message]:
            if not is_object(each):
                continue
            if entry.get("from") == "server":
                conversation.server(each)
            elif (found := conversation.client(line, each)) is not None:
                rounds.append(found)
    known = Counter(each.revision for each in rounds if each.revision in revisions())
    if not known:
        for first in [*unreadable][:1]:
            raise InputError.at(first.where, first.message)
        raise InputError.at(path, "has no conversation in a released revision")
    revision = revision or known.most_common(1)[0][0]
    if revision not in known:
        raise InputError.at(path, f"has no conversation in {revision}, but in {', '.join(sorted(known))}")
    del known[revision]
    return _session(revision, [each for each in rounds if each.revision == revision], known, unreadable)


def _session(revision: str, rounds: list[Round], left_out: Mapping[str, int], unreadable: Diagnostics) -> Session:
    begun = [each.result for each in rounds if each.method in ("initialize", "server/discover") and each.result]
    first: dict[str, Any] = begun[0] if begun else {}
    metas: list[Any] = [first.get("_meta"), *(each.result.get("_meta") for each in rounds)]
    infos: list[Any] = [first.get("serverInfo"), *(meta.get(_INFO) for meta in metas if is_object(meta))]
    capabilities, instructions = first.get("capabilities"), first.get("instructions")
    return Session(
        revision=revision,
        info=next((dict(info) for info in infos if is_object(info)), dict[str, Any]()),
        capabilities=capabilities if is_object(capabilities) else {},
        instructions=instructions if isinstance(instructions, str) else None,
        rounds=[each for each in rounds if each.method not in OWN],
        left_out=left_out,
        unreadable=unreadable,
    )


def _entries(path: Path, unreadable: Diagnostics) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the lines of a session after the first one, with their numbers."""
    with refuse_os_errors(path), path.open("rb") as file:
        for number in range(1, MAX_LINES + 1):
            line = file.readline(MAX_LINE + 1)
            if not line:
                return
            place = Location(source=str(path), line=number)
            if len(line) > MAX_LINE:
                raise InputError.at(place, f"longer than {MAX_LINE >> 20} MiB")
            try:
                entry: Any = json.loads(line)
            except (ValueError, RecursionError):
                entry = NOT_JSON
            if number == 1:
                if not is_object(entry) or entry.get("session") != FORMAT:
                    reason = "is not a recorded session: record it with mcp-bindgen proxy --record FILE"
                    raise InputError.at(place, reason)
            elif not is_object(entry) or not isinstance(entry.get("conversation"), int):
                reason = "is cut off in the middle" if entry is NOT_JSON else "has no message of a conversation"
                unreadable.warning(place, reason)
            else:
                yield number, entry
    raise InputError.at(path, f"has more than {MAX_LINES:,} lines")
