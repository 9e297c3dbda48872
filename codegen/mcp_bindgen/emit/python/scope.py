"""What a page imports: it follows from what its templates print.

An expression that is printed, and a name that a template asks for with ``use("typing.Any")``, are recorded here.
"""

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.expressions import Defined, Expression, Part, Symbol

_LOCALS = {"mcp_runtime.model": "_m"}
"""Local names that are shorter than the rule would have them."""
_GROUPS = ("builtins", "collections", "types", "typing", "pydantic", "typing_extensions", "mcp_runtime", "")
_ORDER = ("bool", "dict", "int", "float", "list", "str", "type")


class Scope:
    """The names that a page uses from elsewhere."""

    def __init__(self) -> None:
        self._imports: dict[str, views.Import] = {}
        self._siblings: dict[str, set[str]] = {}

    def use(self, path: str) -> str:
        """Return what the page calls something that it imports, such as ``typing.Any``, ``typing``, ``.methods``."""
        if path not in self._imports:
            module, _, name = path.rpartition(".")
            module = module or ("." if path.startswith(".") else "")
            self._imports[path] = views.Import(module=module, name=name, local=_LOCALS.get(path, f"_{name}"))
        return self._imports[path].local

    def spell(self, expression: Expression) -> str:
        """Return the text of an expression, and record what it needs."""
        return "".join(map(self._spell, expression.parts))

    def _spell(self, part: Part) -> str:
        match part:
            case str():
                return part
            case Symbol(path):
                return self.use(path)
            case Defined(module, name):
                self._siblings.setdefault(module, set()).add(name)
                return name

    def imports(self) -> list[views.Import]:
        """Return what has been imported so far, in the order of import statements."""
        return sorted(self._imports.values(), key=_import_order)

    def siblings(self, own: str = "") -> list[views.Sibling]:
        """Return what has been used so far from modules of the same package, but for the page's `own`."""
        modules = sorted(self._siblings.keys() - {own})
        return [views.Sibling(module=module, names=tuple(sorted(self._siblings[module]))) for module in modules]


def _import_order(statement: views.Import) -> tuple[int, str, int, str]:
    root = (statement.module or statement.name).partition(".")[0]
    rank = _ORDER.index(statement.name) if statement.module == "builtins" else 0
    group = _GROUPS.index(root) if root in _GROUPS else len(_GROUPS) - 1
    return group, statement.module, rank, statement.local
