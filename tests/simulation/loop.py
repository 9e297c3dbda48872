"""An event loop whose time, order and inputs a seed decides: nothing outside the process takes part.

Time stands still while callbacks run, and jumps to what comes next otherwise; stalls let several timers become due at
once. asyncio promises the order of callbacks that are ready, but not that of timers or descriptors that become ready
together: the seed decides the latter.
"""

import asyncio
import heapq
import random
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack, cast

from mcp_runtime.core import sources
from mcp_runtime.core.sources import Sources

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LATENESS: Final = 1e-6
"""Seconds by which timers are late, as with a real clock: a sleep never ends too early because of rounding."""
EPOCH: Final = 1_800_000_000.0
"""The wall clock, in seconds, when a simulation begins."""
NEVER: Final = float("inf")
MOST_TURNS: Final = 200_000
"""After so many turns of the loop, a world does not end by itself."""


class Stuck(Exception):
    """Nothing will ever happen any more, or things happen endlessly, and the main coroutine has not ended."""


class Loop(asyncio.BaseEventLoop):
    """The event loop of one world.

    Args:
        seed: decides everything that asyncio leaves open.
        stalls: the longest time in seconds for which the process stops now and then; 0 for never.

    Attributes:
        random: the source of everything that happens by chance.
        failures: what the loop's exception handler was called with.
        stalled: when the process stopped, and for how long.
    """

    def __init__(self, seed: int, stalls: float = 0.0) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.failures: list[str] = []
        self.stalled: list[tuple[float, float]] = []
        self._stalls = stalls
        self._now, self._drawn_at = 0.0, -1.0
        self._turns = 0
        self._arrivals: list[tuple[float, float, Callable[[], None]]] = []
        self._ready_if: dict[int, Callable[[], bool]] = {}
        self._watched: dict[tuple[int, str], Callable[[], None]] = {}
        self._selector: Any = self
        self._scheduled: list[asyncio.TimerHandle]
        self.set_exception_handler(self._failed)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def arrive(self, at: float, event: Callable[[], None]) -> None:
        """Let something happen outside the process, at a time; events of the same time have no order."""
        heapq.heappush(self._arrivals, (at, self.random.random(), event))

    def add_descriptor(self, fd: int, is_ready: Callable[[], bool]) -> None:
        """Let `add_reader` and `add_writer` watch a descriptor that exists only here."""
        self._ready_if[fd] = is_ready

    def add_reader(self, fd: Any, callback: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
        """Call back whenever a descriptor can be read."""
        self._watched[int(fd), "r"] = cast("Callable[[], None]", partial(callback, *args))

    def add_writer(self, fd: Any, callback: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
        """Call back whenever a descriptor can be written."""
        self._watched[int(fd), "w"] = cast("Callable[[], None]", partial(callback, *args))

    def remove_reader(self, fd: Any) -> bool:
        """Stop watching."""
        return self._watched.pop((int(fd), "r"), None) is not None

    def remove_writer(self, fd: Any) -> bool:
        """Stop watching."""
        return self._watched.pop((int(fd), "w"), None) is not None

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back at a time; the order of callbacks at the same time is left to chance."""
        return super().call_at(when + LATENESS * self.random.random(), callback, *args, context=context)

    def select(self, timeout: float | None) -> list[tuple[int, str]]:
        """Return what can be read or written, after up to `timeout` seconds without anything."""
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise Stuck
        until = NEVER if timeout is None else self._now + timeout + (LATENESS if timeout > 0 else 0)
        # Once per time, since Pythons take more or fewer turns for the same work.
        if self._stalls and self._now > self._drawn_at:
            self._drawn_at = self._now
            if self.random.random() < 0.04:
                self._stall(self.random.uniform(0, self._stalls))
        self._take_arrivals(self._now)
        while not (ready := self._ready_descriptors()) and until > self._now:
            following = self._arrivals[0][0] if self._arrivals else NEVER
            if following == until == NEVER:
                raise Stuck
            self._now = max(self._now, min(following, until))
            self._take_arrivals(self._now)
        self.random.shuffle(ready)
        return ready

    @property
    def timers(self) -> int:
        """How many timers have not ended."""
        return sum(not timer.cancelled() for timer in self._scheduled)

    def close(self) -> None:
        """End the world."""
        self._watched.clear()
        super().close()

    def _process_events(self, event_list: list[tuple[int, str]]) -> None:
        for key in event_list:
            self.call_soon(self._fire, key, self._watched[key], context=Context())

    def _fire(self, key: tuple[int, str], callback: Callable[[], None]) -> None:
        if self._watched.get(key) is callback:
            callback()

    def _write_to_self(self) -> None: ...

    def _stall(self, seconds: float) -> None:
        self.stalled.append((self._now, seconds))
        self._now += seconds

    def _take_arrivals(self, until: float) -> None:
        while self._arrivals and self._arrivals[0][0] <= until:
            heapq.heappop(self._arrivals)[2]()

    def _ready_descriptors(self) -> list[tuple[int, str]]:
        return [key for key in self._watched if self._ready_if[key[0]]()]

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")


def simulate(main: Callable[[Loop], Coroutine[Any, Any, T]], seed: int, stalls: float = 0.0) -> T:
    """Run a coroutine in a world of its own: time and randomness of the runtime are part of it.

    Args:
        main: returns the coroutine.
        seed: decides everything that happens by chance.
        stalls: see `Loop`.
    """
    # The runtime's own draws do not disturb the rest: some happen once per process.
    loop, own = Loop(seed, stalls), random.Random(f"runtime {seed}")
    before = sources.in_use
    clocks: dict[str, Any] = {"now": loop.time, "wall": lambda: EPOCH + loop.time()}
    sources.in_use = Sources(**clocks, token=own.randbytes, jitter=own.uniform)
    try:
        return loop.run_until_complete(main(loop))
    finally:
        sources.in_use = before
        loop.close()
