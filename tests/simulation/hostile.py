"""A client that sends anything, and how a server must react: a part of the oracle, without the runtime."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from simulation.duties import EPSILON, LEGACY, MODERN, PREFIX, Event

BATCHES: Final = "2025-03-26"
OMITS_IDS: Final = ("2025-11-25", MODERN)
"""The revisions in which the id of an answer may be absent; in the others it is null."""
PARSE, INVALID, NO_METHOD, PARAMS, UNSUPPORTED = -32700, -32600, -32601, -32602, -32022

REFUSED: Final = {
    **{"no such method": NO_METHOD, "no name": PARAMS, "initialize again": INVALID},
    **dict.fromkeys(("forged answer", "answer of another"), PARAMS),
}
"""The requests that are answered with an error."""
ANSWERS: Final[dict[str, tuple[bool, int] | None]] = {
    **dict.fromkeys(
        ("spaces", "cancel nothing", "cancel badly", "answer nothing", "fail nothing", "unknown news"), None
    ),
    **dict.fromkeys(("progress on nothing", "initialized again"), None),
    **dict.fromkeys(("no json", "duplicate key"), (False, PARSE)),
    **dict.fromkeys(("a number", "null id", "half id", "true id"), (False, INVALID)),
    **dict.fromkeys(("old jsonrpc", "list params"), (True, INVALID)),
}
"""What is answered in every revision: nothing, or an error, with the id of the request or without one."""

Expected = tuple[float, Any]

LINES: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "lines.json").read_text("utf-8"))
"""What the client may send; the id 0, ``TAG`` and ``OPEN`` stand for a new id, a tag, and the id of an open request."""
BARE: Final = ("ping", "call", "no such method", "cancel nothing", "answer nothing", "unknown news", "spaces")
"""What it sends without a session."""
STATELESS: Final = ("call", "slow call", "report", "text id", "no such method", "no name", "cancel", "same id")
ASKING: Final = ("ask", "ask", "answer", "answer", "forged answer", "answer of another")
FLOOD: Final = 1800
"""How many pings are a flood: their answers are more than a server lets a client leave unread."""
"""What it sends in the modern era, and with questions."""


def make(chance: random.Random, server: str, speaks: str) -> dict[str, Any]:
    """Return a script: whether and how the client begins, and the lines that follow, one every two seconds."""
    begins = chance.choice((None, "1999-01-01", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN, MODERN))
    spoken = (server,) if speaks == "own" else (MODERN, "2025-11-25")
    begins_nothing = begins not in (None, MODERN) and spoken == (MODERN,)
    is_bare = begins is None or begins_nothing or (begins == MODERN and MODERN not in spoken)
    own = tuple(set(LINES) - {*ASKING, *chance.choice((("flood",), (), ()))})
    known = BARE if is_bare else (*STATELESS, *ASKING) if begins == MODERN else sorted(own)
    kinds = [chance.choice(known) for _ in range(chance.randint(3, 12))]
    return {"begins": begins, "stumbles": chance.random() < 0.3, "kinds": kinds}


class Reference:
    """A server, as far as a client sees it: takes lines, and says what must be answered and when."""

    def __init__(self, world: dict[str, Any]) -> None:
        hostile, own = world["hostile"], world["server"]
        self.spoken = (own,) if world["speaks"] == "own" else (*LEGACY, MODERN)
        self.begins: str | None = hostile["begins"]
        self.kinds: list[str] = hostile["kinds"]
        self._stumbles: bool = hostile.get("stumbles", False)
        self.revision = ""
        if self.begins != MODERN and self.begins is not None and self.has_sessions:
            self.revision = self.begins if self.begins in self.spoken else max(set(self.spoken) - {MODERN})
        self.is_modern = self.begins == MODERN and MODERN in self.spoken
        self.open: dict[Any, float] = {}
        self.cancelled: list[str] = []
        self.asked = ""

    @property
    def has_sessions(self) -> bool:
        """Whether the server has sessions at all."""
        return self.spoken != (MODERN,)

    def lines(self) -> Iterator[tuple[float, str, list[Expected]]]:
        """Yield what the client sends, when, and what it must receive for it."""
        if self.begins is not None and self.begins != MODERN:
            params = {"protocolVersion": self.begins, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
            answer = ["hello", {"protocolVersion": self.revision}] if self.revision else ["hello", UNSUPPORTED]
            if self._stumbles:
                yield 0.0, _text({"id": "bad", "method": "initialize", "params": {}}), [
                    (0.0, ["bad", PARAMS if self.has_sessions else UNSUPPORTED])
                ]
            yield 0.0, _text({"id": "hello", "method": "initialize", "params": params}), [(0.0, answer)]
            yield 1.0, _text({"method": "notifications/initialized"}), []
        for number, kind in enumerate(self.kinds):
            at = 2.0 * (number + 1)
            self.open = {id_: until for id_, until in self.open.items() if until > at}
            value = self._filled(LINES[kind], number)
            text = value if isinstance(value, str) else _text(value)
            if kind == "flood":
                pings = [_text({"id": 10_000 * (number + 1) + one, "method": "ping"}) for one in range(FLOOD)]
                yield at, "\n".join(pings), [(at, [10_000 * (number + 1) + one, {}]) for one in range(FLOOD)]
            else:
                yield at, text, list(self._react(at, kind, value, f"tag {number}"))

    def _filled(self, line: Any, number: int) -> Any:
        spelled = json.dumps(line).replace('"TAG"', f'"tag {number}"').replace("ASKED", self.asked)
        value: Any = json.loads(spelled)
        for one in _objects(value):
            self._fill(one, number)
        return value

    def _fill(self, one: dict[str, Any], number: int) -> None:
        opened = next(iter(self.open), 31_337)
        params: dict[str, Any] = one.get("params", {})
        if one.get("id", 1) == 0:
            one["id"] = 100 + number
        if one.get("id") == "OPEN":
            one["id"] = opened
        if params.__class__ is dict and params.get("requestId") == "OPEN":
            params["requestId"] = opened
        if self.begins == MODERN and "method" in one and "id" in one:
            meta: dict[str, Any] = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}}
            one["params"] = {**params, "_meta": {**meta, **params.get("_meta", {})}}

    def _react(self, at: float, kind: str, value: Any, tag: str) -> Iterator[Expected]:
        id_: Any = next((one.get("id") for one in _objects(value)), None)
        if kind in ANSWERS:
            if (answer := ANSWERS[kind]) is not None:
                yield at, [id_ if answer[0] else self._no_id(), answer[1]]
        elif "batch" in kind:
            yield from self._batch(at, kind, value)
        elif kind == "cancel":
            self.cancelled.append(value["params"]["requestId"])
            self.open.pop(value["params"]["requestId"], None)
        elif kind == "same id" and id_ in self.open:
            yield at, [self._no_id(), INVALID]
        elif code := self._refusal(kind):
            yield at, [id_, code]
        elif kind in ("ping", "same id"):
            yield at, [id_, {}]
        elif kind == "ask":
            self.asked = tag
            yield at, [id_, {"asks": f"{tag}|0|0"}]
        else:
            if kind == "report":
                yield at, ["notifications/progress", tag]
            if kind == "answer":
                tag, self.asked = self.asked, ""
            if kind == "slow call":
                at += 5
                self.open[id_] = at
            yield at, [id_, {"text": tag}]

    def _refusal(self, kind: str) -> int:
        """Return the code of the error that answers a request; 0 for a result."""
        if not self.is_modern and (self.begins == MODERN or not self.revision):
            is_early = kind == "ping" and self.has_sessions
            return 0 if is_early else PARAMS if MODERN in self.spoken else INVALID
        if self.is_modern and kind in ("ping", "same id", "initialize again"):
            return NO_METHOD
        return PARAMS if kind == "answer" and not self.asked else REFUSED.get(kind, 0)

    def _batch(self, at: float, kind: str, value: Any) -> Iterator[Expected]:
        if self.revision != BATCHES or kind == "empty batch":
            yield at, [self._no_id(), INVALID]
        elif kind == "batch":
            yield at, [[one["id"], {}] for one in _objects(value) if "id" in one]

    def _no_id(self) -> Any:
        return "absent" if self.revision in OMITS_IDS else None


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the messages in a line."""
    found: list[Any] = value if value.__class__ is list else [value]
    return [one for one in found if one.__class__ is dict]


def _text(value: Any) -> str:
    messages = [{"jsonrpc": "2.0", **one} for one in _objects(value)]
    return json.dumps(messages if value.__class__ is list else messages[0])


def simplified(message: Any) -> Any:
    """Return an answer in the form that the reference states."""
    if message.__class__ is list:
        return [simplified(one) for one in message]
    if "method" in message:
        return [message["method"], message["params"].get("progressToken")]
    id_ = message.get("id", "absent")
    if "error" in message:
        return [id_, message["error"]["code"]]
    result = message.get("result", {})
    if asked := result.get("inputRequests"):
        [[_, question]] = asked.items()
        return [id_, {"asks": question["params"]["messages"][0]["content"]["text"]}]
    if "content" in result:
        return [id_, {"text": result["content"][0]["text"]}]
    return [id_, {name: result[name] for name in ("protocolVersion",) if name in result}]


def judge(world: dict[str, Any], history: Sequence[Event]) -> list[str]:
    """Return what a server did that the reference would not have."""
    expected: list[Expected] = []
    reference = Reference(world)
    for at, _, answers in reference.lines():
        stopped, reference.cancelled = reference.cancelled, []
        expected = [one for one in expected if one[0] < at or one[1][0] not in stopped] + answers
    got = [(at, simplified(message)) for at, who, what, message in history if who == "client 0" and what == "received"]
    faults = [f"{at:.3f} {what}: {data}" for at, who, what, data in history if who == "world" and _is_bad(what, data)]
    for (due, wanted), (at, found) in zip(sorted(expected, key=lambda one: one[0]), got, strict=False):
        if wanted != found or not due - EPSILON < at < due + EPSILON:
            return [f"{at:.3f} the server answers {found}, not {wanted} at {due:.3f}"]
    if len(expected) != len(got):
        faults.append(f"{len(got)} answers instead of {len(expected)}: {expected} {got}")
    return faults


def _is_bad(what: str, data: Any) -> bool:
    return what != "ends" or any(data.values())
