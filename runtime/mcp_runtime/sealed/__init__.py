"""Sealed states: any process with the keys continues a handler that asked its client; the answers travel encrypted."""

from mcp_runtime.sealed.inputs import InputState, MemorySpentStates, SpentStates

__all__ = ["InputState", "MemorySpentStates", "SpentStates"]
