"""Schemas and results in the forms of three providers of models. No SDK is imported."""

from mcp_runtime.host.dialects import anthropic, gemini, openai

__all__ = ["anthropic", "gemini", "openai"]
