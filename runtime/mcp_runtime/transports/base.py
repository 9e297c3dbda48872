"""The interface between a transport and the runtime."""

from mcp_runtime.connection.transport import (
    Channel,
    Finite,
    HalfOpen,
    Identifying,
    LostRequestReceiver,
    Probing,
    Receiver,
    Resumable,
    Transport,
    TransportError,
)
from mcp_runtime.protocol.outcome import ACCEPTED, Outcome, Verdict

__all__ = [
    "ACCEPTED",
    "Channel",
    "Finite",
    "HalfOpen",
    "Identifying",
    "LostRequestReceiver",
    "Outcome",
    "Probing",
    "Receiver",
    "Resumable",
    "Transport",
    "TransportError",
    "Verdict",
]
