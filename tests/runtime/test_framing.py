"""Splits bytes into lines, however the bytes arrive."""

import random
import tracemalloc
from collections.abc import Iterable

import pytest

from mcp_runtime.core.transports.reader import LineFramer, TooLong

MEGA = 1_000_000


def feed(framer: LineFramer, chunks: Iterable[bytes]) -> list[bytes | TooLong]:
    return [line for chunk in chunks for line in framer.feed(chunk)]


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    """Cut bytes at random places, some of them next to each other."""
    ends = sorted(rng.choices(range(len(data) + 1), k=rng.choice([0, 1, 3, 10, len(data)])))
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@pytest.mark.parametrize("text", [b"", b"\n\n", b"\r\n \t\r\n"])
def test_empty_lines_are_ignored(text: bytes) -> None:
    assert LineFramer(100).feed(text + b"1\n") == [b"1"]


def test_windows_line_ends_are_not_part_of_a_message() -> None:
    framer = LineFramer(100)
    assert feed(framer, [b"1\r\n2\r", b"\n3\r\n"]) == [b"1", b"2", b"3"]


def test_invalid_utf_8_passes_framing() -> None:
    assert LineFramer(100).feed(b"\xff\xfe\x00\n") == [b"\xff\xfe\x00"]


def test_any_cut_gives_the_same_messages() -> None:
    rng = random.Random(20251125)
    pieces = [
        b"",
        b"\r",
        b" ",
        b"{}",
        b'{"id":1}\r',
        b"\xff\x00",
        b"x" * 39,
        b"x" * 40,
        b"x" * 40 + b"\r",
        b"x" * 41,
        b"y" * 99,
    ]
    for _ in range(1000):
        data = b"\n".join(rng.choices(pieces, k=rng.randrange(12)))
        whole = LineFramer(40)
        expected = whole.feed(data)
        framer = LineFramer(40)
        chunks = cut(data, rng)
        assert feed(framer, chunks) == expected, chunks
        assert framer.unfinished == whole.unfinished, chunks


def test_a_message_up_to_the_limit_passes() -> None:
    assert LineFramer(5).feed(b"12345\n12345\r\n") == [b"12345", b"12345"]


@pytest.mark.parametrize("chunks", [[b"123456\n7\n"], [b"123", b"456\n7\n"], [b"123456", b"789" * 10, b"\n7\n"]])
def test_a_message_over_the_limit_is_skipped(chunks: list[bytes]) -> None:
    assert feed(LineFramer(5), chunks) == [TooLong(5), b"7"]


def test_a_message_over_the_limit_is_reported_before_it_ends() -> None:
    framer = LineFramer(5)
    assert framer.feed(b"123456") == [TooLong(5)]
    assert framer.feed(b"789") == []
    assert "5 bytes" in str(TooLong(5))


def test_a_limit_is_positive() -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        LineFramer(0)


@pytest.mark.parametrize(
    ("data", "unfinished"), [(b"", False), (b"1\n", False), (b"1\n2", True), (b"1\n\r", False), (b"x" * 50, True)]
)
def test_unfinished_messages_are_detected(data: bytes, unfinished: bool) -> None:
    framer = LineFramer(40)
    framer.feed(data)
    assert framer.unfinished is unfinished


def test_a_large_message_costs_memory_in_proportion() -> None:
    piece = b"x" * 65536
    framer = LineFramer(100 * MEGA)
    tracemalloc.start()
    try:
        for _ in range(10 * MEGA // 65536):
            framer.feed(piece)
        (message,) = framer.feed(b"\n")
        peak = tracemalloc.get_traced_memory()[1]
        del message
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert peak < 2.3 * 10 * MEGA
    assert after < MEGA


def test_skipped_bytes_are_not_kept() -> None:
    framer = LineFramer(MEGA)
    piece = b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(1000):
            framer.feed(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MEGA


def test_a_message_over_the_limit_is_reported_at_its_end_if_its_id_may_be_there() -> None:
    text = b'{"result":{"t":"' + b"x" * 9000 + b'"},"jsonrpc":"2.0","id":1}'
    for step in (1, 7, 4096, 5000, len(text)):
        framer = LineFramer(100)
        assert feed(framer, [text[at : at + step] for at in range(0, len(text), step)]) == []
        (refused,) = framer.feed(b"\n")
        assert isinstance(refused, TooLong) and refused.end == text[-4096:]
        assert len(refused.start) > 100 and text.startswith(refused.start)
    refused, after = LineFramer(100).feed(b'{"id":1,"result":{"t":"' + b"x" * 100 + b"\n2\n")
    assert isinstance(refused, TooLong) and refused.start.startswith(b'{"id":1') and not refused.end and after == b"2"
