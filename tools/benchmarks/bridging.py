"""Bridging: microseconds of CPU to convert one message between bytes and the types of another revision.

The floor is the codec alone: the same message if both sides use one revision.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import messages
from measure import Row, at_most, in_turn, ratio

from mcp_bindings import v2024_11_05, v2025_11_25
from mcp_runtime.core.binding import Wire
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.jsonrpc import parse
from mcp_runtime.core.protocol.validation import Reader

OLDEST, NEWEST = v2024_11_05.BINDING, v2025_11_25.BINDING
AUDIO: dict[str, Any] = {"content": [{"type": "audio", "data": "AAAA" * 300, "mimeType": "audio/wav"}]}
RESULTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "small tools/call": ("tools/call", messages.CALL_RESULT),
    "tools/call with audio": ("tools/call", AUDIO),
    "tools/list, 100 tools": ("tools/list", messages.TOOLS_RESULT),
    "tools/call, 1 MB text": ("tools/call", messages.TEXT_RESULT),
}


def measure(quick: bool) -> Iterator[Row]:
    """Iterate over the rows: a server of the newest revision whose client speaks the oldest, then the other way."""
    rounds, target = (5, 0.004) if quick else (15, 0.02)
    for what, (method, result) in RESULTS.items():
        sent, plain = _sending(method, result)
        # The oldest revision has no audio: such a result is read, converted and written again.
        most = 4 if result is AUDIO else 2
        yield _row(f"bridge {what} result, sent to 2024-11-05", sent, plain, rounds, target, most=most)
    for what, (method, result) in RESULTS.items():
        if result is not AUDIO:
            taken, plain = _taking(method, result)
            yield _row(f"bridge {what} result, from 2024-11-05", taken, plain, rounds, target)


def _row(
    what: str, ours: Callable[[], object], floor: Callable[[], object], rounds: int, target: float, *, most: float = 2
) -> Row:
    runs = {"ours": _batch(ours, target), "floor": _batch(floor, target)}
    samples = in_turn(runs, rounds)
    times = ratio(samples["ours"], samples["floor"])
    return Row(
        what=what,
        unit="us",
        ours=median(samples["ours"]),
        floor=median(samples["floor"]),
        judged=((times, at_most(most, "x codec")),),
    )


def _batch(run: Callable[[], object], target: float) -> Callable[[], float]:
    run()
    start = process_time()
    run()
    count = max(1, int(target / max(process_time() - start, 1e-6)))
    return partial(_timed, run, count)


def _timed(run: Callable[[], object], count: int) -> float:
    start = process_time()
    for _ in range(count):
        run()
    return (process_time() - start) / count * 1e6


def _wire() -> Wire:
    wire = NEWEST.bridging.bridges(NEWEST).wire(OLDEST.revision)
    assert wire is not None
    return wire


def _method(name: str) -> RequestMethod[Any, Any]:
    method = NEWEST.methods[name]
    assert isinstance(method, RequestMethod)
    return method


def _sending(name: str, result: dict[str, Any]) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return a server's work for a bridged client, and for a client of its own revision."""
    wire, method = _wire(), _method(name)
    encode, value = method.result.compile().encode, method.result.validate(result)
    return lambda: wire.outgoing(method, "result", encode(value)), lambda: encode(value)


def _taking(name: str, result: dict[str, Any]) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return a client's work on messages of a bridged server, and of a server of its own revision."""
    wire, method = _wire(), _method(name)
    text = json.dumps(result, separators=(",", ":")).encode()
    reader = Reader(OLDEST.revision, lenient=True, report=print)

    def bridged() -> object:
        found = wire.incoming(method, "result", parse(text), text, reader)
        return reader.read(method.result, found, name)

    return bridged, lambda: reader.read(method.result, parse(text), name)
