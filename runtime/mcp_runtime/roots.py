"""Roots: the directories and files that a server may work on."""

from mcp_runtime.features.roots import PathRefused, Root, Roots, inside

__all__ = ["PathRefused", "Root", "Roots", "inside"]
