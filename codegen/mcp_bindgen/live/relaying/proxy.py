"""Relay every byte between a client and a server over stdio, and validate each message."""

import asyncio
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from mcp_bindgen.ir.diagnostics import InputError, count
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.relaying.pump import Copies, Pump

if TYPE_CHECKING:
    from mcp_runtime.core.protocol.dispatch import Side
    from mcp_runtime.core.transports.process import Child
    from mcp_runtime.observe.observer import Finding, Observer

GRACE: Final = 2.0
"""The grace period, in seconds: for a server to exit after its client has left, and again after it was terminated."""
HURRY: Final = 0.4
"""The same once the proxy was terminated: after two seconds it is killed itself, which would leave the server."""
POLL: Final = 0.2
"""The interval, in seconds, of checks whether the client still exists after it closed its end."""
PATIENCE: Final = 5.0
"""The time, in seconds, in which at least one message is validated unless the report is stuck."""
SWITCH: Final = 0.0001
"""Seconds after which the thread that judges lets the others go on."""


Tell = Callable[[bytes, "Sequence[Finding]"], None]
"""Called for each message that violates the protocol, with its text and the findings."""

Record = Callable[[int, str, bytes], None]
"""Called for each message that passes, with the number of its conversation, its sender and its text."""


class Tally:
    """Counts, records and judges the messages that pass.

    Args:
        tell: is called for each message that violates the protocol.
        record: is called for each message.

    Attributes:
        messages: how many messages passed.
        broken: how many of them violate the protocol.
        warned: how many others do what the protocol advises against.
        unjudged: how many of them were not judged.
        ended: how the server ended, in words.
        is_stuck: whether the report is no longer being read.
    """

    def __init__(self, tell: Tell, record: Record | None) -> None:
        self._tell = tell
        self._record = record
        self._numbers: WeakKeyDictionary[Observer, int] = WeakKeyDictionary()
        self._conversations = 0
        self.messages = self.broken = self.warned = self.unjudged = 0
        self.ended = ""
        self.is_stuck = False

    @property
    def summary(self) -> str:
        """The counts, and how the server ended."""
        warned = f", {count(self.warned, 'warning')}" if self.warned else ""
        left = f", {self.unjudged:,} not judged" if self.unjudged else ""
        return f"{count(self.messages, 'message')}, {self.broken:,} broken{warned}{left}; {self.ended}"

    def take(self, observer: "Observer | None", sender: "Side", text: bytes) -> None:
        """Take a message of a conversation, which no observer follows where there are too many."""
        self.messages += 1
        if self._record is not None:
            self._record(self._number(observer), sender.value, text)
        if observer is not None and (found := observer.take(sender, text)):
            self.found(text, found)

    def skip(self) -> None:
        """Count a message that is too large to be judged."""
        self.messages += 1
        self.unjudged += 1

    def found(self, text: bytes, found: "Sequence[Finding]") -> None:
        """Take a message that violates the protocol, or does what it advises against."""
        is_broken = not all(each.is_warning for each in found)
        self.broken += is_broken
        self.warned += not is_broken
        self._tell(text, found)

    def _number(self, observer: "Observer | None") -> int:
        """Return the number of a conversation; 0 for those that are not followed."""
        if observer is None:
            return 0
        if observer not in self._numbers:
            self._conversations += 1
        return self._numbers.setdefault(observer, self._conversations)


class Watcher(threading.Thread):
    """Judges what passed, behind the bytes.

    Args:
        copies: the bytes.
        tell: is told of each broken message.
        record: is told of each message.
    """

    def __init__(self, copies: "Copies[Side]", tell: Tell, record: Record | None) -> None:
        from mcp_runtime.core.protocol.dispatch import Side
        from mcp_runtime.core.transports.reader import LineFramer
        from mcp_runtime.observe.observer import MAX_JUDGED, Observer

        super().__init__(name="mcp-proxy-watcher", daemon=True)
        self._observer = Observer(package.BINDING for package in packages_of(revisions()))
        self._framers = {side: LineFramer(MAX_JUDGED) for side in Side}
        self._copies = copies
        self.tally = Tally(tell, record)
        self.defect: Exception | None = None

    @property
    def unjudged(self) -> int:
        """How many messages were not judged."""
        return self._observer.unjudged

    def finish(self) -> None:
        """Wait until all is judged, or nobody takes the report any more."""
        seen = -1
        while self.is_alive() and self.tally.messages > seen:
            seen = self.tally.messages
            self.join(PATIENCE)

    def run(self) -> None:
        """Judge until there is no more."""
        while taken := self._copies.take():
            for sender, data in taken if self.defect is None else ():
                try:
                    self._take(sender, data)
                except Exception as error:  # a bug of ours must not block messages
                    self.defect = error
                    break

    def _take(self, sender: "Side", data: bytes) -> None:
        if data:
            self._judge(sender, data)
        elif self._framers[sender].unfinished:
            self.tally.found(b"", [self._observer.cut_off(sender)])

    def _judge(self, sender: "Side", data: bytes) -> None:
        for line in self._framers[sender].feed(data):
            if isinstance(line, bytes):
                self.tally.take(self._observer, sender, line)
            else:
                self.tally.messages += 1
                self._observer.skip(sender, line.start, line.end)


def run_proxy(words: Sequence[str], tell: Tell, record: Record | None = None) -> Tally:
    """Start a server and relay between it and the client on standard input and output, until one of them ends.

    Errors are raised after everything has been relayed.

    Raises:
        InputError: the server cannot be started.
    """
    sys.setswitchinterval(SWITCH)
    return asyncio.run(_run(tuple(words), tell, record))


async def _run(words: tuple[str, ...], tell: Tell, record: Record | None) -> Tally:
    from mcp_runtime.core.connection.transport import TransportError
    from mcp_runtime.core.protocol.dispatch import Side
    from mcp_runtime.core.transports.process import Child, how_it_ended, on_signals

    copies: Copies[Side] = Copies()
    watcher = Watcher(copies, tell, record)
    loop, over, left = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    grace = GRACE

    def stop() -> None:
        nonlocal grace
        grace = HURRY
        over.set()

    def client_left(_: bool) -> None:
        loop.call_soon_threadsafe(left.set)

    def server_left(_: bool) -> None:
        loop.call_soon_threadsafe(over.set)

    # Before starting a server that could be left running.
    with on_signals(loop, stop, lambda: None):
        try:
            child = Child(words, env=dict(os.environ), cwd=None, capture=False)
        except TransportError as error:
            raise InputError.at(words[0], str(error)) from None
        into, out = _detached(child)
        pumps = (Pump(Side.CLIENT, 0, into, copies, client_left), Pump(Side.SERVER, out, 1, copies, server_left))
        for thread in (watcher, *pumps):
            thread.start()
        leaving = asyncio.create_task(_gone(left, over))
        await over.wait()
        leaving.cancel()
        await _end(child, grace)
    pumps[1].join(grace)
    copies.close()
    await asyncio.to_thread(watcher.finish)
    if watcher.defect is not None:
        raise watcher.defect
    ended = how_it_ended(child.exited.result() if child.exited.done() else None)
    tally = watcher.tally
    tally.ended, tally.unjudged, tally.is_stuck = f"the server {ended}", watcher.unjudged, watcher.is_alive()
    return tally


def _detached(child: "Child") -> tuple[int, int]:
    """Return the descriptors of a child's standard input and output, which now belong to the caller."""
    assert child.process.stdin is not None and child.process.stdout is not None
    into, out = os.dup(child.process.stdin.fileno()), os.dup(child.process.stdout.fileno())
    child.process.stdin.close()
    child.process.stdout.close()
    return into, out


async def _gone(left: asyncio.Event, over: asyncio.Event) -> None:
    """Wait until the client has exited, not only closed its output: it may still read responses."""
    await left.wait()
    while not _is_unread(1):
        await asyncio.sleep(POLL)
    await asyncio.sleep(GRACE)
    over.set()


def _is_unread(fd: int) -> bool:
    """Whether a descriptor no longer has a reader, as far as the system reports that."""
    if not hasattr(select, "poll"):
        return False
    asked = select.poll()
    with suppress(OSError):
        asked.register(fd, 0)
        return any(event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, event in asked.poll(0))
    return True


async def _end(child: "Child", grace: float) -> None:
    """Terminate a server that does not exit by itself."""
    if child.exited.done() and await child.wait_gone(0.1):
        return
    for stop in (child.terminate, child.kill):
        if await child.wait_gone(grace):
            return
        stop()
    await child.wait_gone(grace)
