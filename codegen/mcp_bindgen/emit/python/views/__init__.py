"""The templates' context: typed data with all decisions made, and no Python text except names, types and defaults.

These classes are the documented context of user templates (docs/templates.md is written from their docstrings).
"""

from mcp_bindgen.emit.python.views.marked import (
    MarkedClass,
    MarkedField,
    MarkedFunction,
    MarkedModule,
    MarkedSide,
    Way,
)
from mcp_bindgen.emit.python.views.models import Alias, Class, Field, Module
from mcp_bindgen.emit.python.views.package import Export, Extension, Import, Imported, Mixin, Package, Sibling
from mcp_bindgen.emit.python.views.stubs import Argument, Decorator, Function, Parameter, Params, Side, Signature
from mcp_bindgen.emit.python.views.tables import Bridge, Call, Constant, Error, Lookup, Method
from mcp_bindgen.emit.python.views.tools import Tool, ToolClient

__all__ = [
    "Alias",
    "Argument",
    "Bridge",
    "Call",
    "Class",
    "Constant",
    "Decorator",
    "Error",
    "Export",
    "Extension",
    "Field",
    "Function",
    "Import",
    "Imported",
    "Lookup",
    "MarkedClass",
    "MarkedField",
    "MarkedFunction",
    "MarkedModule",
    "MarkedSide",
    "Method",
    "Mixin",
    "Module",
    "Package",
    "Parameter",
    "Params",
    "Sibling",
    "Side",
    "Signature",
    "Tool",
    "ToolClient",
    "Way",
]
