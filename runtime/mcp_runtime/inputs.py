"""How handlers of the modern era wait for what they ask their client (2026-07-28, basic/patterns/mrtr)."""

from dataclasses import dataclass

__all__ = ["Suspended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Lets handlers wait in this process: each is suspended until the client comes back with the answers.

    Attributes:
        expiry: seconds in which a client must come back; then the handler is cancelled.
        per_peer: how many handlers may wait for one peer (a principal, or whoever is at the other end of a connection).
        overall: how many may wait for all clients of one server object.
    """

    expiry: float = 600.0
    per_peer: int = 100
    overall: int = 10_000
