"""Servers made of decorated functions: the base of the generated `App` of each revision."""

from mcp_runtime.app.application import Application, F
from mcp_runtime.app.asking import ask, sample
from mcp_runtime.app.dependencies import Depends
from mcp_runtime.app.errors import DefinitionError, NotFound, ToolFailure

__all__ = ["Application", "DefinitionError", "Depends", "F", "NotFound", "ToolFailure", "ask", "sample"]
