"""The reader of the runtime against the standard library's, with hooks for all that I-JSON refuses, on hostile texts.

Both must accept the same texts and return the same values, whichever way the reader processes a text.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from pydantic import ValidationError

from differential.values import MAX_DEPTH, any_value, deep, depth_of, is_list, is_map, write
from mcp_runtime.core.json.text import NotIJson, read, read_as

pytestmark = pytest.mark.differential

TEXTS_PER_CASE = 10
LONG = 70_000
"""A size in bytes above which a text is not written back."""
MAX_SHOWN = 10
REFUSED = object()

NESTED = [(depth, lists) for depth in (126, 127, 128, 129, 130) for lists in (0, 1, 2, 60, 120, 126)]
"""How deep, and how many of the levels are lists."""

HOSTILE: tuple[bytes, ...] = (
    *(b'{"a":1,"a":1}', b'{"a":1,"\\u0061":2}', b'{"a":{"b":1,"c":2,"b":3}}', b'{"":0,"":0}', b'{"a, ":1,"a,":1}'),
    *(b'{"a":1, "a":1e2}', b'{"k":"x, ","k":"x,"}', b'[{"a":"", "a":""}]', b'{"a":[],"b":{},"a":[]}'),
    *(b"NaN", b"-NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1E400", b"1" * 400 + b".0", b"9" * 4301),
    *(b"9" * 4300, b"9" * 400, b"18446744073709551616", b"-9223372036854775809", b"1e30", b"1" + b"0" * 308),
    *(b"-0", b"-0.0", b"0.0", b"1.0", b"1e5", b"1E+2", b"5e-324", b"1e-400", b"00", b"-01", b"1.", b".5", b"1e", b"-"),
    *(b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"', b'"\\ud83d\\ude00"', b'"\\ud800abcdef"', b'"\\udfff\\ud800"'),
    *(b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf4\x90\x80\x80"', b'"\x01"', b'"\x7f"', b'"\t"', b'"\\x41"'),
    *(
        b"\xef\xbb\xbf1",
        b"1\x00",
        b"\x00",
        b"\x0b1",
        b"1\x0c",
        b"\xc2\xa01",
        b" 1\r\n\t",
        b"",
        b" ",
        b"[1,]",
        b'{"a":1,}',
    ),
    *(b"{'a':1}", b"{1:2}", b"[1 2]", b"{} {}", b"// x\n1", b"nul", b"True", b'{"a" 1}', b'"\\', b'"\\u12', b"[", b"}"),
    *(b"[" * depth + b"]" * depth for depth in (127, 128, 129, 199, 200, 201, 254, 255, 300, 5000)),
    *(b'{"a":' * depth + b"1" + b"}" * depth for depth in (127, 128, 129, 200, 255, 5000)),
    # As short as such texts can be: around the size up to which brackets need not be counted.
    *(b'{"":' * (depth - lists) + b"[" * lists + b"]" * lists + b"}" * (depth - lists) for depth, lists in NESTED),
    *(b"[" * lists + b'{"":' * (depth - lists) + b"{}" + b"}" * (depth - lists) for depth, lists in NESTED),
    *(b'"' + b"[" * 300 + b'"', b"[" + b"[]," * 300 + b"[]]", b"[" * 128 + b'"[[["' + b"]" * 128, b"[" * 100_000),
)
PIECES: tuple[bytes, ...] = (
    *(b'"a":1,', b'"', b"\\", b"\\u", b"\\ud800", b"\\udc00", b"1e400", b"e", b".", b"-", b"0", b"9" * 30, b",", b":"),
    *(b"[", b"]", b"{", b"}", b" ", b"\n", b"\x00", b"\xff", b"\xe2\x82\xac", b"NaN", b"Infinity", b"null", b"true"),
)


def expected(text: bytes) -> Any:
    """Return the value of a text as the standard library reads it, `REFUSED` if the text is not I-JSON."""
    try:
        decoded = text.decode()
        value = json.loads(decoded, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()  # fails for lone surrogates
        return value if depth_of(value) <= MAX_DEPTH else REFUSED
    except (ValueError, RecursionError):  # Python's depth limit depends on its release; it is above ours.
        return REFUSED


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(text: str) -> float:
    if abs(number := float(text)) == float("inf"):
        raise ValueError(text)
    return number


def actual(text: bytes) -> Any:
    try:
        return read(text)
    except NotIJson as error:
        assert 0 < len(str(error)) < 200
        return REFUSED


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in type, order and content: `1` is neither `1.0` nor `true`."""
    if is_map(one) and is_map(other):
        return list(one) == list(other) and all(same(value, other[name]) for name, value in one.items())
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def mutated(text: bytes, rng: random.Random) -> bytes:
    """Change, cut, double or insert a few bytes."""
    changed = bytearray(text)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5))):
        place = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0:
                changed[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del changed[place : place + rng.randrange(1, 8)]
            case 2:
                changed[place:place] = changed[place : place + rng.randrange(30)]
            case 3:
                changed[place:place] = rng.choice(PIECES)
            case _:
                other = rng.randrange(len(changed) + 1)
                changed[place:place] = changed[min(place, other) : max(place, other)][:30]
    return bytes(changed)


def texts(rng: random.Random, number: int) -> Iterator[bytes]:
    """Make hostile texts: of a list, of values in all spellings, most of them with a few bytes changed."""
    yield from HOSTILE
    for _ in range(number):
        choice = rng.random()
        if choice < 0.1:
            yield mutated(rng.choice(HOSTILE)[:2000], rng)
        elif choice < 0.12:
            yield write(deep(rng, rng.randrange(120, 140)), rng).encode()
        else:
            value = {"jsonrpc": "2.0", "id": rng.randrange(9), "params": any_value(rng, 0)}
            text = write(rng.choice((value, any_value(rng, 0))), rng).encode("utf-8", "surrogatepass")
            yield mutated(text[:5000], rng)


def padded(text: bytes) -> bytes:
    """Make a text too long to be written back."""
    return b'["%b",%b]' % (b"x" * LONG, text)


@pytest.mark.parametrize(("form", "share"), [(bytes, 1), (padded, 20)], ids=["short", "long"])
def test_the_reader_agrees_with_the_standard_library(form: Callable[[bytes], bytes], share: int, cases: int) -> None:
    rng = random.Random(20251125)
    verdicts: Counter[bool] = Counter()
    wrong: list[str] = []
    for original in texts(rng, cases * TEXTS_PER_CASE // share):
        text = form(original)
        theirs, ours = expected(text), actual(text)
        verdicts[theirs is not REFUSED] += 1
        if not same(theirs, ours):
            verdict = {True: "refused", False: "accepted"}[ours is REFUSED]
            wrong.append(f"{verdict}: {original[:200]!r}")
    assert not wrong, f"{len(wrong)} of {sum(verdicts.values())} texts\n" + "\n".join(wrong[:MAX_SHOWN])
    assert min(verdicts.values()) > sum(verdicts.values()) // 5, f"the test is one-sided: {verdicts}"


def test_a_str_is_read_like_its_bytes() -> None:
    def decoded(text: str) -> Any:
        try:
            return read_as("text", text)
        except ValidationError:
            return REFUSED

    for text in HOSTILE:
        assert same(decoded(text.decode("utf-8", "surrogateescape")), expected(text)), text[:100]
    assert decoded('"\ud800"') is REFUSED
