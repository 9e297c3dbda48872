"""The interface between a transport and the runtime."""

from mcp_runtime.connection.transport import (
    Channel,
    HalfOpen,
    Identifying,
    Receiver,
    Resumable,
    Transport,
    TransportError,
)
from mcp_runtime.protocol.outcome import ACCEPTED, Outcome, Verdict

__all__ = [
    "ACCEPTED",
    "Channel",
    "HalfOpen",
    "Identifying",
    "Outcome",
    "Receiver",
    "Resumable",
    "Transport",
    "TransportError",
    "Verdict",
]
