"""The programs of tools/scripts/, as modules."""

import importlib.util
from types import ModuleType

from support.documents import ROOT


def script(name: str) -> ModuleType:
    """Return a program of tools/scripts/ as a module, without running it."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
