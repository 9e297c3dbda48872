"""How handlers of the modern era wait for what they ask their client (2026-07-28, basic/patterns/mrtr)."""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Protocol

__all__ = ["InputState", "MemorySpentStates", "SpentStates", "Suspended"]

KEY_BYTES: Final = 32
"""How long a key is: AES-256."""
_INSTALL: Final = "sealed states need cryptography: pip install 'mcp-bindgen[sealed]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Lets handlers wait in this process: each is suspended until the client comes back with the answers.

    Attributes:
        expiry: seconds in which a client must come back; then the handler is cancelled.
        per_peer: how many handlers may wait for one peer (a principal, or whoever is at the other end of a connection).
        overall: how many may wait for all clients of one server object.
        shared: whether clients may come back over another connection to the same server object. A handler then outlives
            the connection that it began on, and all clients without a principal are one peer.
    """

    expiry: float = 600.0
    per_peer: int = 100
    overall: int = 10_000
    shared: bool = False


class SpentStates(Protocol):
    """Remembers which sealed states were used, for all processes that share the keys."""

    async def spend(self, state: str, until: float) -> bool:
        """Note that a state is used now; returns whether this is the first time.

        Of two calls at the same moment, exactly one returns true.

        Args:
            state: what tells the state apart: 32 hexadecimal digits.
            until: when it expires, as Unix time in seconds; it need not be remembered for longer.

        Raises:
            Exception: this cannot be known. The call then fails; so it does if the answer takes longer than 5 seconds.
        """
        ...


class MemorySpentStates:
    """Remembers used states in this process: enough where there is only one, and in tests.

    Args:
        limit: how many are remembered at once. States that have not expired are never forgotten for others.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._ends: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._known)

    async def spend(self, state: str, until: float) -> bool:
        """Note that a state is used now; returns whether this is the first time.

        Raises:
            OverflowError: too many are remembered.
        """
        now = time.time()
        while self._ends and self._ends[0][0] <= now:
            self._known.discard(heapq.heappop(self._ends)[1])
        if state in self._known:
            return False
        if len(self._known) >= self._limit:
            raise OverflowError(f"{self._limit:,} used states are remembered already, which is the limit")
        self._known.add(state)
        heapq.heappush(self._ends, (until, state))
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class InputState:
    """Lets any process that has the keys go on: the answers so far travel with the client, encrypted.

    Nothing waits in between. When the client comes back, its handler runs again from the beginning and gets the answers
    that are recorded: everything that it does before a question is repeated, except work that it does by way of
    `Context.recorded`. Without `spent`, a client can send the same state several times, and the handler goes on from
    there as often.

    Attributes:
        keys: secrets of 32 random bytes each (``secrets.token_bytes(32)``), the same in all processes. The first one
            encrypts, all of them decrypt.
        expiry: seconds in which a client must come back.
        rounds: how often a handler may ask before it answers.
        max_bytes: how long a state may be.
        spent: lets each state be used once; None to let it be used until it expires.

    Raises:
        ModuleNotFoundError: `cryptography` is not installed (``mcp-bindgen[sealed]``).
        TypeError: a key is not made of bytes.
        ValueError: there is no key, one has another length or comes twice, or a limit is not positive.
    """

    keys: Sequence[bytes] = field(repr=False)
    expiry: float = 600.0
    rounds: int = 16
    max_bytes: int = 65_536
    spent: SpentStates | None = None

    def __post_init__(self) -> None:
        keys: Any = self.keys
        if isinstance(keys, bytes | str) or not all(isinstance(key, bytes) for key in keys):
            raise TypeError("keys: give a list of keys, each of which is made of bytes")
        if not self.keys:
            raise ValueError("keys: at least one key is needed; secrets.token_bytes(32) makes one")
        for number, key in enumerate(self.keys):
            if len(key) != KEY_BYTES:
                raise ValueError(f"keys[{number}]: a key has {KEY_BYTES} bytes, not {len(key)}")
        if len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: the same key is given twice")
        for name, limit in (("expiry", self.expiry), ("rounds", self.rounds), ("max_bytes", self.max_bytes)):
            if not limit > 0:
                raise ValueError(f"{name}: must be more than 0, not {limit:g}")
        if find_spec("cryptography") is None:
            raise ModuleNotFoundError(_INSTALL)
