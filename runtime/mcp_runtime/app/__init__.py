"""Servers made of decorated functions: the base of the generated `App` of each revision."""

from mcp_runtime.app.application import Application, F
from mcp_runtime.app.dependencies import Depends
from mcp_runtime.app.errors import DefinitionError, NotFound, ToolFailure
from mcp_runtime.app.files import safe_join
from mcp_runtime.app.uri_templates import Raw
from mcp_runtime.core.handlers import StateT

__all__ = [
    "Application",
    "DefinitionError",
    "Depends",
    "F",
    "NotFound",
    "Raw",
    "StateT",
    "ToolFailure",
    "safe_join",
]
