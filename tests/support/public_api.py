"""The public API: what the modules of the runtime, and the packages of the revisions, export by ``__all__``."""

import ast
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from support.documents import ROOT

RUNTIME = ROOT / "runtime"


@cache
def runtime_modules() -> Mapping[str, tuple[str, ...]]:
    """Return the public modules of the runtime by name, each with the names that it exports."""
    exported = {
        ".".join(file.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__"): _exported(
            file.read_text("utf-8")
        )
        for file in sorted(RUNTIME.rglob("*.py"))
    }
    return MappingProxyType({name: names for name, names in exported.items() if names})


@cache
def binding_packages() -> Mapping[str, tuple[str, ...]]:
    """Return the packages of the revisions by name, each with the names that it exports."""
    revisions: Mapping[str, str] = import_module("mcp_bindings.bridges").REVISIONS
    packages = (f"mcp_bindings.{package}" for package in revisions.values())
    return MappingProxyType({package: tuple(sorted(import_module(package).__all__)) for package in packages})


def public_objects() -> Mapping[str, object]:
    """Return every public object of the runtime by its full name; one that two modules export has two names."""
    return {
        f"{module}.{name}": getattr(import_module(module), name)
        for module, names in runtime_modules().items()
        for name in names
    }


def _exported(code: str) -> tuple[str, ...]:
    """Return the names in ``__all__`` of a module; may be empty."""
    for node in ast.parse(code).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return tuple(ast.literal_eval(value))
            case _:
                pass
    return ()
