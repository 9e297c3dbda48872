"""The imports of a page, derived from what its templates print.

Printed expressions, and names that a template requests with ``use("typing.Any")``, are recorded here. An import keeps
its name unless the page binds that name itself: then it gets an underscore, so that a definition named `Literal` and a
field named `list` keep their names.
"""

import sys
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from itertools import groupby
from typing import Any, cast

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.expressions import Defined, Expression, Part, Symbol

_BUILTINS = "builtins"
_VIEWS: list[Any] = [kind for kind in vars(views).values() if is_dataclass(kind)]
_ATTRIBUTES: Mapping[object, tuple[str, ...]] = {kind: tuple(one.name for one in fields(kind)) for kind in _VIEWS}
"""View -> the names of its attributes."""


class Scope:
    """The names that a page imports.

    Args:
        bound: the names that the page itself binds: classes, fields, functions, parameters.
        reaches_models: whether the page accesses the models through the module `models`, which imports each at its
        first use;
            otherwise it imports them from the modules that define them.
    """

    def __init__(self, bound: Collection[str] = (), *, reaches_models: bool = False) -> None:
        self._bound = bound
        self._reaches_models = reaches_models
        self._imports: dict[str, views.Imported] = {}
        self._siblings: dict[str, set[str]] = {}

    def use(self, path: str) -> str:
        """Return the page's name for something that it imports, such as ``typing.Any``, ``typing``, ``.methods``."""
        module, _, name = path.rpartition(".")
        local = f"_{name}" if name in self._bound else name
        if not (module == _BUILTINS and local == name):
            self._imports.setdefault(path, views.Imported(name=name, local=local))
        return local

    def spell(self, expression: Expression) -> str:
        """Return the text of an expression, and record its imports."""
        return "".join(map(self._spell, expression.parts))

    def _spell(self, part: Part) -> str:
        match part:
            case str():
                return part
            case Symbol(path):
                return self.use(path)
            case Defined(_, name) if self._reaches_models:
                return f"{self.use('.models')}.{name}"
            case Defined(module, name):
                self._siblings.setdefault(module, set()).add(name)
                return name

    def imports(self) -> list[list[views.Import]]:
        """Return the imports so far: from the standard library, from installed packages, from the package itself."""
        names: dict[str, list[views.Imported]] = {}
        for path, imported in sorted(self._imports.items()):
            module = path.rpartition(".")[0] or ("." if path.startswith(".") else "")
            names.setdefault(module, []).append(imported)
        statements = [views.Import(module=module, names=tuple(found)) for module, found in names.items()]
        ordered = sorted(statements, key=lambda one: (_section(one), one.module))
        return [list(section) for _, section in groupby(ordered, key=_section)]

    def siblings(self, own: str = "") -> list[views.Sibling]:
        """Return the names used so far from modules of the same package, except from the page's `own`."""
        modules = sorted(self._siblings.keys() - {own})
        return [views.Sibling(module=module, names=tuple(sorted(self._siblings[module]))) for module in modules]


def names_in(*given: object) -> frozenset[str]:
    """Return the names that a page defines, from its views and those inside them."""
    found: set[str] = set()
    rest: list[object] = list(given)
    while rest:
        value = rest.pop()
        if isinstance(value, tuple):
            rest.extend(cast(tuple[object, ...], value))
            continue
        for attribute in _ATTRIBUTES.get(type(value), ()):
            inner: object = getattr(value, attribute)
            if attribute == "name" and isinstance(inner, str):
                found.add(inner)
            else:
                rest.append(inner)
    return frozenset(found)


def _section(statement: views.Import) -> int:
    root = (statement.module or statement.names[0].name).partition(".")[0]
    return 2 if not root else 0 if root in sys.stdlib_module_names else 1
