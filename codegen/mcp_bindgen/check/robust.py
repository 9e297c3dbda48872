"""What a server takes: hostile lines, large and deep messages, many requests at once, a reader that is slow or gone."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Final

from mcp_bindgen.check.client import NotJudged, Peer, Process, Said, Silent
from mcp_bindgen.check.probe import Found

MANY: Final = 200
"""The number of requests that are sent at once."""
MAX_GROWTH: Final = 256 << 20
"""By how many bytes the memory of a server may grow while it gets hostile messages."""
GRACE: Final = 5.0
"""Seconds that a server has to end after its input is closed."""
PAUSE: Final = 1.0
"""Seconds in which a slow reader reads nothing."""
_PARTS: Final = ("survives", "memory", "many", "ends")
_HOSTILE: Final[Mapping[str, str]] = {
    "an empty line": "",
    "a line that is not JSON": "}{",
    "a number instead of a message": "1",
    "an empty array": "[]",
    "an empty object": "{}",
    "a method that is a number": '{"jsonrpc": "2.0", "id": 1000001, "method": 1}',
    "params that are a number": '{"jsonrpc": "2.0", "id": 1000002, "method": "tools/list", "params": 7}',
    "an id that is an object": '{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
    "an answer to nothing": '{"jsonrpc": "2.0", "id": 1000003, "result": {}}',
    "half a surrogate": '{"jsonrpc": "2.0", "id": 1000004, "method": "\\ud800"}',
    "a number without end": f'{{"jsonrpc": "2.0", "id": 1{"0" * 5_000}, "method": "x"}}',
    "a deep message": f'{{"jsonrpc": "2.0", "id": 1000005, "method": "x", "params": {"[" * 50_000 + "]" * 50_000}}}',
    "a large message": f'{{"jsonrpc": "2.0", "id": 1000006, "method": "x", "params": {{"a": "{"a" * (1 << 20)}"}}}}',
}


async def strain(
    open_: Callable[..., AbstractAsyncContextManager[Peer]],
    revision: str,
    add: Callable[[Found, str, Sequence[Said]], None],
    only: frozenset[str],
) -> None:
    """Send what a careless or hostile client may send, each in a conversation of its own, and report what breaks.

    Args:
        open_: starts or reaches the server.
        revision: the revision to speak.
        add: takes a finding, the revision, and messages that show it.
        only: the requirements to try; without any of `robust.*`, all of these.
    """
    wanted = {id_ for id_ in only if id_.startswith("robust.")} or {f"robust.{name}" for name in _PARTS}
    loop = asyncio.get_running_loop()
    for name, text in _HOSTILE.items() if wanted & {"robust.survives", "robust.memory"} else ():
        async with open_(revision, {}) as peer:
            if await _begun(peer, revision):
                before = _memory(peer)
                if problem := await _goes_on(peer, text):
                    add(Found("robust.survives", f"{name}: {problem}", name), revision, peer.said[-2:])
                elif (growth := _memory(peer) - before) > MAX_GROWTH:
                    add(Found("robust.memory", f"{name} takes {growth:,} bytes", name), revision, ())
    if "robust.many" in wanted:
        async with open_(revision, {}) as peer:
            if await _begun(peer, revision) and (missing := await _many(peer)):
                reason = f"{missing} of {MANY} requests at once are not answered"
                add(Found("robust.many", reason), revision, ())
    if "robust.ends" in wanted:
        async with open_(revision, {}, GRACE) as peer:
            is_begun, closed = await _begun(peer, revision), loop.time()
        # After that time, what is left was asked to end.
        if is_begun and isinstance(peer, Process) and loop.time() - closed >= GRACE:
            reason = f"it, or something that it started, still runs {GRACE:g} s after its input is closed"
            add(Found("robust.ends", reason), revision, ())


async def _begun(peer: Peer, revision: str) -> bool:
    with suppress(Silent, NotJudged):
        return not await peer.begin(revision)
    return False


async def _goes_on(peer: Peer, text: str) -> str:
    """Send a text; return what is wrong with the server then."""
    try:
        with suppress(NotJudged):  # over HTTP, a status may answer it
            await peer.send(text, is_valid=False)
        await peer.ask(peer.always)
    except Silent as silent:
        return str(silent)
    except NotJudged:
        pass
    return ""


async def _many(peer: Peer) -> int:
    """Send many requests, and read nothing before all are sent; return how many are not answered."""
    requests = [peer.request(peer.always) for _ in range(MANY)]
    missing = {each["id"] for each in requests}
    sending = asyncio.gather(*(peer.send(each) for each in requests), return_exceptions=True)
    deadline = asyncio.get_running_loop().time() + peer.timeout
    await asyncio.sleep(PAUSE)
    refused = 0
    with suppress(Silent):
        while len(missing) > refused:
            try:
                missing.discard((await peer.next(deadline)).get("id"))
            except NotJudged:  # a limit of rates
                refused += 1
    await sending
    return max(0, len(missing) - refused)


def _memory(peer: Peer) -> int:
    """Return the resident memory of a server's process in bytes; 0 if that is unknown."""
    with suppress(OSError, ValueError, IndexError):
        if isinstance(peer, Process):
            return int(Path(f"/proc/{peer.transport.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
