"""How handlers of the modern era wait for input from their client (2026-07-28, basic/patterns/mrtr)."""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Protocol

__all__ = ["InputState", "MemorySpentStates", "SpentStates", "Suspended"]

KEY_BYTES: Final = 32
"""The length of a key in bytes: AES-256."""
_INSTALL: Final = "sealed states need cryptography: pip install 'mcp-bindgen[sealed]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Keep handlers that wait for input suspended in this process until the client comes back with the answers.

    Attributes:
        expiry: seconds within which a client must come back; after that the handler is cancelled.
        per_peer: how many handlers may wait for one peer (a principal, or the other end of a connection).
        overall: how many handlers may wait in total for one server object.
        shared: whether a client may come back on another connection to the same server object. Handlers then outlive
            their connection, and all clients without a principal count as one peer.
    """

    expiry: float = 600.0
    per_peer: int = 100
    overall: int = 10_000
    shared: bool = False


class SpentStates(Protocol):
    """Remembers which sealed states were used, across all processes that share the keys."""

    async def spend(self, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time.

        If two calls race, exactly one returns True.

        Args:
            state: identifies the state: 32 hexadecimal digits.
            until: when the state expires, as Unix time in seconds. It may be forgotten after that.

        Raises:
            Exception: whether the state was used cannot be determined. The call then fails, as it does if the answer
                takes longer than 5 seconds.
        """
        ...


class MemorySpentStates:
    """Remembers used states in this process only: for tests and single-process servers.

    Args:
        limit: how many states are remembered at once. Unexpired states are never evicted.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._ends: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._known)

    async def spend(self, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time.

        Args:
            state: identifies the state: 32 hexadecimal digits.
            until: when the state expires, as Unix time in seconds.

        Raises:
            OverflowError: the limit is reached.
        """
        now = time.time()
        while self._ends and self._ends[0][0] <= now:
            self._known.discard(heapq.heappop(self._ends)[1])
        if state in self._known:
            return False
        if len(self._known) >= self._limit:
            raise OverflowError(f"the limit of {self._limit:,} remembered states is reached")
        self._known.add(state)
        heapq.heappush(self._ends, (until, state))
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class InputState:
    """Let any process that has the keys continue: the answers so far travel with the client, encrypted.

    No handler stays suspended. When the client comes back, its handler runs again from the beginning and receives the
    recorded answers. Everything before a question is repeated, except work done through `Context.recorded`. Without
    `spent`, a client can replay a state, and the handler continues from it each time.

    Attributes:
        keys: secrets of 32 random bytes each (``secrets.token_bytes(32)``), the same in all processes. The first one
            encrypts; all of them decrypt.
        expiry: seconds within which a client must come back.
        rounds: how often a handler may ask before it answers.
        max_bytes: the maximum size of a state in bytes.
        spent: lets each state be used only once; None allows reuse until it expires.

    Raises:
        ModuleNotFoundError: `cryptography` is not installed (``mcp-bindgen[sealed]``).
        TypeError: a key is not bytes.
        ValueError: there is no key, a key has the wrong length or is repeated, or a limit is not positive.
    """

    keys: Sequence[bytes] = field(repr=False)
    expiry: float = 600.0
    rounds: int = 16
    max_bytes: int = 65_536
    spent: SpentStates | None = None

    def __post_init__(self) -> None:
        keys: Any = self.keys
        if isinstance(keys, bytes | str) or not all(isinstance(key, bytes) for key in keys):
            raise TypeError("keys: must be a sequence of bytes objects")
        if not self.keys:
            raise ValueError("keys: at least one key is needed; secrets.token_bytes(32) makes one")
        for number, key in enumerate(self.keys):
            if len(key) != KEY_BYTES:
                raise ValueError(f"keys[{number}]: a key must have {KEY_BYTES} bytes, not {len(key)}")
        if len(set(self.keys)) < len(self.keys):
            raise ValueError("keys: the same key is given twice")
        for name, limit in (("expiry", self.expiry), ("rounds", self.rounds), ("max_bytes", self.max_bytes)):
            if not limit > 0:
                raise ValueError(f"{name}: must be more than 0, not {limit:g}")
        if find_spec("cryptography") is None:
            raise ModuleNotFoundError(_INSTALL)
