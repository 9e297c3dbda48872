"""What a server takes: hostile lines, large and deep messages, many requests at once, a reader that is slow or gone."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.check.client import GRACE, Peer, Process, Said, Silent

MANY: Final = 200
"""The number of requests that are sent at once."""
MAX_GROWTH: Final = 256 << 20
"""By how many bytes the memory of a server may grow while it gets hostile messages."""
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
    "a number without end": '{"jsonrpc": "2.0", "id": 1' + "0" * 5_000 + ', "method": "x"}',
    "a deep message": '{"jsonrpc": "2.0", "id": 1000005, "method": "x", "params": {"a": '
    + "[" * 50_000
    + "]" * 50_000
    + "}}",
    "a large message": '{"jsonrpc": "2.0", "id": 1000006, "method": "x", "params": {"a": "' + "a" * (1 << 20) + '"}}',
}


async def strain(
    open_: Callable[[str, Mapping[str, Any]], AbstractAsyncContextManager[Peer]],
    revision: str,
    add: Callable[[str, str, str, str, Sequence[Said]], None],
    only: frozenset[str],
) -> None:
    """Send what a careless or hostile client may send, each in a conversation of its own, and report what breaks.

    Args:
        open_: starts or reaches the server.
        revision: the revision to speak.
        add: takes a finding: the requirement, what it is about, the revision, the reason, and messages.
        only: the requirements to try; without any of `robust.*`, all of these.
    """
    wanted = {id_ for id_ in only if id_.startswith("robust.")} or {f"robust.{name}" for name in _PARTS}
    for name, text in _HOSTILE.items() if wanted & {"robust.survives", "robust.memory"} else ():
        async with open_(revision, {}) as peer:
            if await _begun(peer, revision):
                before = _memory(peer)
                problem = await _goes_on(peer, text)
                if problem:
                    add("robust.survives", name, revision, f"{name}: {problem}", peer.said[-2:])
                elif _memory(peer) - before > MAX_GROWTH:
                    add("robust.memory", name, revision, f"{name} takes {_memory(peer) - before:,} bytes", ())
    if "robust.many" in wanted:
        async with open_(revision, {}) as peer:
            if await _begun(peer, revision) and (missing := await _many(peer)):
                add("robust.many", "", revision, f"{missing} of {MANY} requests at once are not answered", ())
    if "robust.ends" in wanted:
        async with open_(revision, {}) as peer:
            if isinstance(peer, Process) and await _begun(peer, revision) and (left := await _left(peer)):
                reason = f"{len(left)} processes are left {GRACE:g} s after the input is closed"
                add("robust.ends", "", revision, reason, ())


async def _begun(peer: Peer, revision: str) -> bool:
    with suppress(Silent):
        return await peer.begin(revision)
    return False


async def _goes_on(peer: Peer, text: str) -> str:
    """Send a text; return what is wrong with the server then."""
    try:
        with suppress(ValueError):  # over HTTP, only JSON is posted
            await peer.send(text, is_valid=False)
        await peer.ask("ping" if peer.is_legacy else "server/discover")
    except Silent as silent:
        return str(silent)
    return ""


async def _many(peer: Peer) -> int:
    """Send many requests, and read nothing before all are sent; return how many are not answered."""
    requests = [peer.request("ping" if peer.is_legacy else "server/discover") for _ in range(MANY)]
    missing = {each["id"] for each in requests}
    sending = asyncio.gather(*(peer.send(each) for each in requests), return_exceptions=True)
    deadline = asyncio.get_running_loop().time() + peer.timeout
    await asyncio.sleep(GRACE / 2)  # a slow reader
    with suppress(Silent):
        while missing:
            missing.discard((await peer.next(deadline)).get("id"))
    await sending
    return len(missing)


async def _left(peer: Process) -> list[int]:
    """Close the input; return the processes of the server that are still there some time later."""
    await peer.end_input(GRACE)
    return list(_group(peer.process.pid))


def _group(leader: int) -> Iterator[int]:
    """Yield the processes of a group that run; none on a machine without /proc."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
            if int(group) == leader and state != "Z":
                yield int(path.parent.name)


def _memory(peer: Peer) -> int:
    """Return the resident memory of a server's process in bytes; 0 if that is unknown."""
    with suppress(OSError, ValueError, IndexError):
        if isinstance(peer, Process):
            return int(Path(f"/proc/{peer.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
