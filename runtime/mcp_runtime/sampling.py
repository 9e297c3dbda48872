"""Sampling with human review of what the model is asked and what it answers."""

from mcp_runtime.features.sampling import (
    REJECTED,
    Denied,
    MessagesOutOfOrder,
    SamplingRejected,
    check_messages,
    reviewed,
)

__all__ = ["REJECTED", "Denied", "MessagesOutOfOrder", "SamplingRejected", "check_messages", "reviewed"]
