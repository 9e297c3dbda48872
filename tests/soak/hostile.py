"""Hostile lines, generated from a seed: the same seed gives the same lines."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final

from mcp_runtime.core.json.values import is_array, is_object

JUNK: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, 2**53 + 1, 2**70, -(2**63), 1e308, 5e-324, -0.0),
    *("", " ", "0", "é\u0000\u202e", "\U0001f600" * 40, "notifications/cancelled", "../../etc/passwd"),
    *([], {}, [[]], {"": {}}, [None, 1, "x"], {"_meta": {"progressToken": True}}, {"jsonrpc": "2.0", "id": 1}),
)
RAW: Final = (
    *(
        b"",
        b" ",
        b"\r",
        b"\x00",
        b"{",
        b"}",
        b"[",
        b"[]",
        b"[[]]",
        b"null",
        b"true",
        b"1",
        b'"x"',
        b"{}",
        b"\xef\xbb\xbf{}",
    ),
    *(
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"-",
        b"01",
        b"'a'",
        b"{'a':1}",
        b'{"a":1,}',
        b"{}{}",
        b"/**/{}",
        b"\xff\xfe{\x00}\x00",
    ),
    *(
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b'"\xf5\x80\x80\x80"',
        b"GET / HTTP/1.1",
        b"Content-Length: 2",
        b"\x1b[2J",
        b"\x80" * 300,
    ),
)
IDS: Final[tuple[Any, ...]] = (
    *range(-2, 40),
    None,
    True,
    1.5,
    "",
    "1",
    "x" * 2000,
    2**70,
    [],
    {},
    "\u0000",
    "initialize",
)
METHODS: Final = (
    *("initialize", "ping", "notifications/initialized", "notifications/cancelled", "notifications/progress"),
    *(
        "tools/call",
        "tools/list",
        "",
        " ",
        "rpc.discover",
        "notifications/",
        "notifications/message",
        "a" * 3000,
        "\u2028",
    ),
)


class Hostile:
    """Makes lines.

    Args:
        seed: the seed of the random numbers.
        honest: valid messages of the peer; most lines are mutations of them.
    """

    def __init__(self, seed: int, honest: Sequence[dict[str, Any]]) -> None:
        self.random = Random(seed)
        self._honest = honest
        self._kinds: tuple[tuple[Callable[[], Sequence[bytes]], int], ...] = (
            (self._mutated, 30),
            (self._wrong_envelope, 12),
            (self._answer, 12),
            (self._torn, 10),
            (self._raw, 8),
            (self._cancel, 8),
            (self._given_up, 2),
            (self._progress, 6),
            (self._number, 5),
            (self._twice, 5),
            (self._batch, 5),
            (self._deep, 3),
            (self._flood, 1),
            (self._large, 1),
        )

    def lines(self) -> Sequence[bytes]:
        """Return the next line, or the next few that belong together."""
        kinds = [kind for kind, _ in self._kinds]
        return self.random.choices(kinds, [weight for _, weight in self._kinds])[0]()

    def message(self) -> dict[str, Any]:
        """Return an honest message with a hostile id."""
        message: dict[str, Any] = json.loads(json.dumps(self.random.choice(self._honest)))
        if "id" in message:
            message["id"] = deepcopy(self.random.choice(IDS))
        return message

    def _junk(self) -> Any:
        return deepcopy(self.random.choice(JUNK))

    def _mutated(self) -> Sequence[bytes]:
        message = self.message()
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            self._wound(message)
        return [_dump(message)]

    def _wound(self, node: Any) -> None:
        """Replace, remove, add or rename something somewhere below a node."""
        inner = [child for child in _members(node) if is_object(child) or is_array(child)]
        if inner and self.random.random() < 0.7:
            self._wound(self.random.choice(inner))
        elif is_object(node):
            key = self.random.choice([*node, "_meta", "params", "surprise"])
            match self.random.randrange(4):
                case 0:
                    node.pop(key, None)
                case 1:
                    node[key + self.random.choice(("", "s", "\u0000", "_"))] = node.pop(key, None)
                case _:
                    node[key] = self._junk()
        elif is_array(node):
            node.insert(0, self._junk())

    def _wrong_envelope(self) -> Sequence[bytes]:
        choose = self.random.choice
        members = ("jsonrpc", "id", "method", "params", "result", "error")
        message = {name: self._junk() for name in members if self.random.random() < 0.5}
        if self.random.random() < 0.8:
            message["jsonrpc"] = "2.0"
        if self.random.random() < 0.5:
            message["method"] = choose(METHODS)
        if self.random.random() < 0.5:
            message["id"] = deepcopy(choose(IDS))
        return [_dump(message)]

    def _answer(self) -> Sequence[bytes]:
        """Send an unsolicited, invalid or duplicate response."""
        choose = self.random.choice
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": deepcopy(choose(IDS))}
        results: tuple[Any, ...] = (self._junk(), {}, {"content": []}, {"roots": None})
        if self.random.random() < 0.5:
            message["result"] = choose(results)
        else:
            message["error"] = choose((self._junk(), {"code": -32603, "message": "no"}, {"code": "1", "message": 2}))
        return [_dump(message)] * choose((1, 1, 2))

    def _torn(self) -> Sequence[bytes]:
        text = bytearray(_dump(self.message()))
        place = self.random.randrange(len(text))
        match self.random.randrange(4):
            case 0:
                del text[place:]
            case 1:
                text[place] = self.random.randrange(256)
            case 2:
                del text[place]
            case _:
                text[place:place] = self.random.randbytes(self.random.randrange(1, 9))
        return [bytes(text)]

    def _raw(self) -> Sequence[bytes]:
        if self.random.random() < 0.3:
            return [self.random.randbytes(self.random.randrange(1, 200))]
        return [self.random.choice(RAW)]

    def _cancel(self) -> Sequence[bytes]:
        ids = IDS if self.random.random() < 0.2 else [deepcopy(self.random.choice(IDS))]
        reason: Any = self.random.choice((None, "", "because", 1, [1]))
        return [_dump(_notification("notifications/cancelled", {"requestId": id_, "reason": reason})) for id_ in ids]

    def _given_up(self) -> Sequence[bytes]:
        """Send a request, cancel it at once or after it has started, then send another with the same id."""
        message = self.random.choice([m for m in self._honest if "id" in m]) | {"id": self.random.randrange(5000)}
        cancel = _dump(_notification("notifications/cancelled", {"requestId": message["id"]}))
        between = [b'{"jsonrpc":"2.0","method":"notifications/none"}'] * self.random.choice((0, 25))
        return [_dump(message), *between, cancel, _dump(message)]

    def _progress(self) -> Sequence[bytes]:
        choose = self.random.choice
        params = {name: self._junk() for name in ("progress", "total", "message")} | {
            "progressToken": deepcopy(choose(IDS))
        }
        return [_dump(_notification("notifications/progress", params))]

    def _number(self) -> Sequence[bytes]:
        number = self.random.choice(
            (b"1e400", b"-1e400", b"NaN", b"Infinity", b"1e-999", b"9" * 400, b"9" * 5000, b"-0", b"0x1")
        )
        message = self.message()
        message[self.random.choice(("id", "params", "extra"))] = "@@"
        return [_dump(message).replace(b'"@@"', number)]

    def _twice(self) -> Sequence[bytes]:
        text = _dump(self.message())
        return [text.replace(b"{", b'{"jsonrpc":"2.0","a":1,"a":2,', self.random.choice((1, -1)))]

    def _batch(self) -> Sequence[bytes]:
        count = self.random.choice((0, 1, 2, 10))
        parts = [self.random.choice((_dump(self.message()), _dump(self._junk()))) for _ in range(count)]
        return [b"[" + b",".join(parts) + b"]"]

    def _deep(self) -> Sequence[bytes]:
        depth = self.random.choice((100, 127, 128, 129, 1000, 20_000))
        opening, closing = self.random.choice(((b"[", b"]"), (b'{"a":', b"}")))
        nested = opening * depth + b"1" + closing * self.random.choice((0, depth))
        message = self.message()
        message["params"] = {"x": "@@"}
        return [_dump(message).replace(b'"@@"', nested)]

    def _flood(self) -> Sequence[bytes]:
        message = self.random.choice([m for m in self._honest if "id" not in m])
        return [_dump(message)] * 200

    def _large(self) -> Sequence[bytes]:
        message = self.message()
        message["surplus"] = "\u00e9" * 50_000
        return [_dump(message)]


def _members(node: Any) -> list[Any]:
    if is_object(node):
        return list(node.values())
    return node if is_array(node) else []


def _notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def shrink(lines: Sequence[bytes], breaks: Callable[[Sequence[bytes]], bool], attempts: int = 200) -> Sequence[bytes]:
    """Return a minimal subset of the lines that still causes the failure."""
    size = max(1, len(lines) // 2)
    while size and attempts:
        start = 0
        while start < len(lines) and attempts:
            attempts -= 1
            fewer = [*lines[:start], *lines[start + size :]]
            if fewer and breaks(fewer):
                lines = fewer
            else:
                start += size
        size //= 2
    return lines
