"""The public API: the doors of the runtime and the packages of the revisions, with the names in their ``__all__``."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

DOORS = (
    "mcp_runtime",
    "mcp_runtime.auth",
    "mcp_runtime.client_features",
    "mcp_runtime.extensions.skills",
    "mcp_runtime.extensions.tasks",
    "mcp_runtime.gateway",
    "mcp_runtime.host",
    "mcp_runtime.http_api",
    "mcp_runtime.middleware",
    "mcp_runtime.testing",
    "mcp_runtime.transports",
)
"""The public modules of the runtime: the door, and the rooms with many names. All others are private."""


@cache
def doors() -> Mapping[str, tuple[str, ...]]:
    """Return the public modules of the runtime by name, each with the names that it exports."""
    return MappingProxyType({name: tuple(import_module(name).__all__) for name in DOORS})


@cache
def binding_packages() -> Mapping[str, tuple[str, ...]]:
    """Return the packages of the revisions by name, each with the names that it exports."""
    revisions: Mapping[str, str] = import_module("mcp_bindings.bridges").REVISIONS
    packages = (f"mcp_bindings.{package}" for package in revisions.values())
    return MappingProxyType({package: tuple(sorted(import_module(package).__all__)) for package in packages})


def public_objects() -> Mapping[str, object]:
    """Return every public object of the runtime by its full name; one that two modules export has two names."""
    return {
        f"{module}.{name}": getattr(import_module(module), name) for module, names in doors().items() for name in names
    }
