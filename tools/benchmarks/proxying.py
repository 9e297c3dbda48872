"""What `mcp-bindgen proxy` adds to a ping: it goes to a server and its answer comes back, directly or through it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from statistics import median
from time import perf_counter

import messages
from measure import Row, at_most, in_turn

ANSWER = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message:
        result = json.loads(sys.argv[1]) if message["method"] == "initialize" else {"_meta": message["params"]["_meta"]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
SERVER = (sys.executable, "-c", ANSWER, json.dumps(messages.INITIALIZE_RESULT))
PROXY = (sys.executable, "-m", "mcp_bindgen", "proxy", "--", *SERVER)


def measure(quick: bool) -> Iterator[Row]:
    """Measure both lengths; the proxy judges each message and finds nothing."""
    for what, length in (("small", 1), ("10 KB", 9_900)):
        with ExitStack() as stack:
            runs = {name: _pings(stack, words, length) for name, words in (("floor", SERVER), ("ours", PROXY))}
            found = in_turn(runs, 100 if quick else 1_500)
        ours, floor = median(found["ours"]), median(found["floor"])
        judged = ((ours - floor, at_most(1, " ms more")),)
        yield Row(what=f"proxy, {what} there and back, wall clock", unit="ms", ours=ours, floor=floor, judged=judged)


def _pings(stack: ExitStack, words: tuple[str, ...], length: int) -> "partial[float]":
    """Begin a session; return a function that sends a ping and waits for its answer."""
    pipe = subprocess.PIPE
    process = stack.enter_context(
        subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0)
    )
    stack.callback(process.kill)
    _round_trip(process, count(), "initialize", messages.INITIALIZE_PARAMS)
    assert process.stdin is not None
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    return partial(_round_trip, process, count(1), "ping", {"_meta": {"x": "x" * length}})


def _round_trip(process: "subprocess.Popen[bytes]", ids: "count[int]", method: str, params: object) -> float:
    """Return how many milliseconds a request and its answer take together."""
    assert process.stdin is not None and process.stdout is not None
    message = json.dumps({"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params}).encode()
    begun = perf_counter()
    process.stdin.write(message + b"\n")
    read = b""
    while not read.endswith(b"\n"):
        read = process.stdout.read(1 << 16)
        assert read, "the server has ended"
    return (perf_counter() - begun) * 1e3
