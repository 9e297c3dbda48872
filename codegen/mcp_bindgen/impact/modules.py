"""Find the user's Python files, and resolve the names that they import."""

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.emit.header import HEADER_MARK

MAX_BYTES = 4_000_000
"""The maximum size of a file that is read, in bytes."""
_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))
_MAX_STEPS = 20
"""How many imports a name is followed through."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One file: `name` is its import name, with its package; `home` its resolved path.

    `names` maps the names that it imports, and aliases of them, to what they stand for; `stars` are the modules from
    which it imports everything; `classes` are its own classes with the expressions of their bases, `lines` the
    lines of its text.
    """

    path: Path
    home: Path
    name: str
    text: str
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict[str, str])
    stars: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    classes: dict[str, list[ast.expr]] = field(default_factory=dict[str, list[ast.expr]])

    def absolute(self, module: str | None, level: int) -> str:
        """Return the absolute name of a relative import in this module."""
        if not level:
            return module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - level + (self.home.name == "__init__.py")]
        return ".".join([*kept, *([module] if module else [])])

    def read_names(self) -> None:
        """Collect what the module's names stand for."""
        pending: list[ast.AST] = [self.tree]
        while pending:
            for node in ast.iter_child_nodes(pending.pop()):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        self.names[alias.asname or alias.name.partition(".")[0]] = (
                            alias.name if alias.asname else alias.name.partition(".")[0]
                        )
                elif isinstance(node, ast.ImportFrom):
                    home = self.absolute(node.module, node.level)
                    for alias in node.names:
                        if alias.name == "*":
                            self.stars.append(home)
                        else:
                            self.names[alias.asname or alias.name] = f"{home}.{alias.name}"
                elif isinstance(node, ast.ClassDef):
                    self.classes[node.name] = node.bases
                if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                    pending.append(node)
        for node in self.tree.body:
            self._read_alias(node)

    def _read_alias(self, node: ast.stmt) -> None:
        """Record ``name = other.name``, annotated or not."""
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = dotted(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else None
        if isinstance(target, ast.Name) and value:
            first, dot, rest = value.partition(".")
            if first in self.names and first != target.id:
                self.names[target.id] = f"{self.names[first]}{dot}{rest}"


class Modules:
    """The modules of a scan; `unread` are the files that could not be read."""

    def __init__(self, paths: Sequence[Path], diagnostics: Diagnostics) -> None:
        """Read all Python files in and below some paths; generated ones are left out.

        Raises:
            InputError: a path does not exist, or contains no Python file.
        """
        self.listed: list[Module] = []
        self.unread: list[Path] = []
        self._by_name: dict[str, Module] = {}
        self._by_path: dict[Path, Module] = {}
        self._found: dict[tuple[str, Path], Module | None] = {}
        self._roots: list[Path] = []
        seen: set[Path] = set()
        for root in paths:
            if not root.exists():
                raise InputError.at(root, "no such file or folder")
            self._roots.append(root.resolve() if root.is_dir() else root.resolve().parent)
            for path in _python_files(root):
                if path.resolve() not in seen:
                    seen.add(path.resolve())
                    self._add(path, diagnostics)
        if not seen:
            shown = ", ".join(str(path) for path in paths)
            raise InputError.at(shown, "contains no Python file")

    def resolve(self, module: Module, name: str, packages: frozenset[str], steps: int = 0) -> tuple[Module | None, str]:
        """Follow a dotted name through imports.

        Returns:
            The module of the user that defines it and its name there, or None and its absolute name.
        """
        first, dot, rest = name.partition(".")
        if first not in module.names:
            if first not in module.classes and steps < _MAX_STEPS:
                for star in module.stars:
                    found = self._absolute(f"{star}.{name}", module, packages, steps)
                    if found[0] is None or found[1] in found[0].classes:
                        return found
            return module, name
        return self._absolute(f"{module.names[first]}{dot}{rest}", module, packages, steps)

    def _absolute(self, name: str, importer: Module, packages: frozenset[str], steps: int) -> tuple[Module | None, str]:
        if steps < _MAX_STEPS and not is_within(name, packages):
            parts = name.split(".")
            for size in range(len(parts) - 1, 0, -1):
                found = self._find(".".join(parts[:size]), importer)
                if found is not None and found is not importer:
                    return self.resolve(found, ".".join(parts[size:]), packages, steps + 1)
        return None, name

    def related(self, packages: frozenset[str]) -> list[Module]:
        """Return the modules that are connected to the bindings by imports, in either direction.

        Protocol objects only reach other modules through imports, so the rest need not be read.
        """
        ways: dict[Module, set[Module]] = {module: set() for module in self.listed}
        pending: list[Module] = []
        for module in self.listed:
            for name in (*module.names.values(), *module.stars):
                if is_within(name, packages) or any(package.startswith(f"{name}.") for package in packages):
                    pending.append(module)
                other = self._find(name, module) or self._find(name.rpartition(".")[0], module)
                if other is not None:
                    ways[module].add(other)
                    ways[other].add(module)
        found: set[Module] = set()
        while pending:
            current = pending.pop()
            if current not in found:
                found.add(current)
                pending += ways[current]
        return [module for module in self.listed if module in found]

    def _find(self, name: str, importer: Module) -> Module | None:
        """Find a module by its absolute name: in a package, next to the importer, or below a root."""
        if name in self._by_name or not name:
            return self._by_name.get(name)
        key = (name, importer.home.parent)
        if key not in self._found:
            places = [folder.joinpath(*name.split(".")) for folder in (key[1], *self._roots)]
            paths = [path for place in places for path in (place.with_suffix(".py"), place / "__init__.py")]
            self._found[key] = next((self._by_path[path] for path in paths if path in self._by_path), None)
        return self._found[key]

    def _add(self, path: Path, diagnostics: Diagnostics) -> None:
        line = None
        try:
            data = path.read_bytes()
            if data.startswith(HEADER_MARK.encode()):
                return
            if len(data) > MAX_BYTES:
                raise ValueError
            tree = ast.parse(data, filename=str(path))
            text = data.decode("utf-8", "replace")
        except OSError as error:
            reason = str(error.strerror)
        except SyntaxError as error:
            line, reason = error.lineno, f"not valid Python: {error.msg}"
        except (ValueError, RecursionError, MemoryError):
            too_large = path.stat().st_size > MAX_BYTES
            reason = f"larger than {MAX_BYTES} bytes" if too_large else "not valid Python: it cannot be parsed"
        else:
            self._keep(Module(path=path, home=path.resolve(), name=_module_name(path.resolve()), text=text, tree=tree))
            return
        self.unread.append(path)
        diagnostics.warning(Location(source=str(path), line=line), f"skipped: {reason}")

    def _keep(self, module: Module) -> None:
        module.lines.extend(module.text.split("\n"))
        module.read_names()
        self.listed.append(module)
        self._by_path[module.home] = module
        if "." in module.name or module.home.name == "__init__.py":
            self._by_name.setdefault(module.name, module)


def dotted(node: ast.expr | None) -> str | None:
    """Return a name or a chain of attributes as text, None for any other expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else None


def is_within(name: str, packages: frozenset[str]) -> bool:
    """Whether a dotted name is one of some packages, or in one of them."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _python_files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(folder, name, "pyvenv.cfg").exists()
        )
        for name in sorted(files):
            if name.endswith(".py"):
                yield Path(folder, name)


def _module_name(path: Path) -> str:
    """Name a module relative to its topmost package."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) or path.stem
