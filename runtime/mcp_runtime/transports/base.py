"""The interface between a transport and the runtime."""

from mcp_runtime.connection.transport import HalfOpen, Receiver, Transport, TransportError

__all__ = ["HalfOpen", "Receiver", "Transport", "TransportError"]
