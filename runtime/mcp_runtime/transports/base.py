"""The interface between a transport and the runtime."""

from mcp_runtime.connection.transport import (
    Channel,
    Finite,
    HalfOpen,
    Identifying,
    LosesRequests,
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
    "LosesRequests",
    "Outcome",
    "Receiver",
    "Resumable",
    "Transport",
    "TransportError",
    "Verdict",
]
