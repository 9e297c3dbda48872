"""The interface between a transport and the runtime."""

from mcp_runtime.connection.transport import Channel, HalfOpen, Receiver, Resumable, Transport, TransportError
from mcp_runtime.protocol.outcome import ACCEPTED, Outcome, Verdict

__all__ = [
    "ACCEPTED",
    "Channel",
    "HalfOpen",
    "Outcome",
    "Receiver",
    "Resumable",
    "Transport",
    "TransportError",
    "Verdict",
]
