"""Time and randomness: the runtime takes them from here alone, so that a simulation can replace all of them at once.

Timeouts use the clock of the event loop, which a simulation owns anyway.
"""

import base64
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where time and randomness come from; by default the system.

    Attributes:
        now: returns the time in seconds since any moment; it never goes back.
        wall: returns the time in seconds since the epoch.
        token: returns as many random bytes as it is asked for, which nobody can guess.
        jitter: returns a random number between two others.
    """

    now: Callable[[], float] = time.perf_counter
    wall: Callable[[], float] = time.time
    token: Callable[[int], bytes] = secrets.token_bytes
    jitter: Callable[[float, float], float] = random.uniform


in_use = Sources()
"""The sources of the whole process; tests and simulations set others."""


def now() -> float:
    """Return the time in seconds since any moment; it never goes back."""
    return in_use.now()


def wall() -> float:
    """Return the time in seconds since the epoch."""
    return in_use.wall()


def token_bytes(size: int) -> bytes:
    """Return a number of random bytes that nobody can guess."""
    return in_use.token(size)


def token_hex(size: int) -> str:
    """Return a number of random bytes as hexadecimal digits, two for each byte."""
    return in_use.token(size).hex()


def token_urlsafe(size: int) -> str:
    """Return a number of random bytes as letters, digits, hyphens and underscores, four for three bytes."""
    return base64.urlsafe_b64encode(in_use.token(size)).rstrip(b"=").decode()


def jitter(lowest: float, highest: float) -> float:
    """Return a random number between two others."""
    return in_use.jitter(lowest, highest)
