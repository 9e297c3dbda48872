"""Find the user's Python files, and resolve the names that they import."""

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindgen.ingest.paths import read_regular
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.ir.names import closure

MAX_BYTES = 4_000_000
"""The maximum size of a file that is read, in bytes."""
_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One file of the user.

    Attributes:
        path: its path as given.
        home: its resolved path.
        lines: the lines of its text.
        tree: its syntax tree.
        names: the names that it imports, and aliases of them, each with the dotted name that it stands for.
        stars: the modules from which it imports everything.
        classes: the bases of its own classes.
    """

    path: Path
    home: Path
    lines: list[str]
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict[str, str])
    stars: list[str] = field(default_factory=list[str])
    classes: dict[str, list[ast.expr]] = field(default_factory=dict[str, list[ast.expr]])

    @property
    def dotted(self) -> str:
        """The path as a dotted name: that of a package is its folder."""
        return ".".join((self.home.parent if self.home.name == "__init__.py" else self.home.with_suffix("")).parts[1:])

    def read_names(self) -> None:
        """Collect what the module's names stand for."""
        pending: list[ast.AST] = [self.tree]
        while pending:
            for node in ast.iter_child_nodes(pending.pop()):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        first = alias.name.partition(".")[0]
                        self.names[alias.asname or first] = alias.name if alias.asname else first
                elif isinstance(node, ast.ImportFrom):
                    self._read_import(node)
                elif isinstance(node, ast.ClassDef):
                    self.classes[node.name] = node.bases
                elif isinstance(node, ast.Assign | ast.AnnAssign):
                    self._read_alias(node)
                if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                    pending.append(node)

    def _read_import(self, node: ast.ImportFrom) -> None:
        home = node.module or ""
        if node.level:
            parts = self.dotted.split(".")
            parts = parts[: len(parts) - node.level + (self.home.name == "__init__.py")]
            home = ".".join(["", *parts, *([home] if home else [])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(home)
            else:
                self.names[alias.asname or alias.name] = f"{home}.{alias.name}"

    def _read_alias(self, node: ast.Assign | ast.AnnAssign) -> None:
        """Record ``name = other.name``, annotated or not."""
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        first, dot, rest = dotted(node.value).partition(".")
        if isinstance(target, ast.Name) and first in self.names and first != target.id:
            self.names[target.id] = f"{self.names[first]}{dot}{rest}"


class Modules:
    """The modules of the user that can be read; `unread` are the other files."""

    def __init__(self, paths: Sequence[Path], packages: frozenset[str], diagnostics: Diagnostics) -> None:
        """Read all Python files in and below some paths; generated ones are left out.

        Raises:
            InputError: a path does not exist, or contains no Python file.
        """
        self.packages = packages
        self.listed: list[Module] = []
        self.unread: list[Path] = []
        self._resolved: dict[tuple[Module, str], tuple[Module | None, str]] = {}
        seen: set[Path] = set()
        for root in paths:
            if not root.exists():
                raise InputError.at(root, "no such file or folder")
            for path in _python_files(root):
                if (home := Path(os.path.realpath(path))) not in seen:
                    seen.add(home)
                    self._read(path, home, root, diagnostics)
        if not seen:
            raise InputError.at(", ".join(map(str, paths)), "contains no Python file")

    def package_of(self, name: str) -> str:
        """Return the package of the bindings that a dotted name is in; empty if it is in none."""
        found = (package for package in self.packages if name == package or name.startswith(f"{package}."))
        return next(found, "")

    def resolve(self, module: Module, name: str) -> tuple[Module | None, str]:
        """Follow a dotted name of a module through imports.

        Returns:
            The module of the user that defines it and its name there, or None and its absolute name.
        """
        key = module, name
        if key not in self._resolved:
            self._resolved[key] = module, name  # In a cycle of imports, it is the name itself.
            first, dot, rest = name.partition(".")
            if first in module.names:
                self._resolved[key] = self._absolute(module, f"{module.names[first]}{dot}{rest}")
            elif first not in module.classes:
                found = (self._absolute(module, f"{star}.{name}") for star in module.stars)
                of_star = ((home, name) for home, name in found if home is None or name in home.classes)
                self._resolved[key] = next(of_star, (module, name))
        return self._resolved[key]

    @cached_property
    def related(self) -> list[Module]:
        """The modules that imports connect to the bindings, in either direction.

        Protocol objects only reach other modules through imports, so the rest need not be read.
        """
        ways: dict[Module, set[Module]] = {module: set() for module in self.listed}
        using: list[Module] = []
        for module in self.listed:
            for name in (*module.names.values(), *module.stars):
                if self.package_of(name) or any(package.startswith(f"{name}.") for package in self.packages):
                    using.append(module)
                other = self._find(name, module) or self._find(name.rpartition(".")[0], module)
                if other is not None:
                    ways[module].add(other)
                    ways[other].add(module)
        found = closure(using, ways.__getitem__)
        return [module for module in self.listed if module in found]

    def _absolute(self, importer: Module, name: str) -> tuple[Module | None, str]:
        parts = name.split(".")
        for size in range(len(parts) - 1, 0, -1) if not self.package_of(name) else ():
            found = self._find(".".join(parts[:size]), importer)
            if found is not None and found is not importer:
                return self.resolve(found, ".".join(parts[size:]))
        return None, name

    @cached_property
    def _by_name(self) -> dict[str, Module]:
        """The modules by path, and those of packages also by their names."""
        packages = {module.home.parent for module in self.listed if module.home.name == "__init__.py"}
        found: dict[str, Module] = {}
        for module in self.listed:
            outside = sum(folder not in packages for folder in module.home.parents) - 1
            if module.home.parent in packages:
                found[".".join(module.dotted.split(".")[outside:])] = module
        return found | {f".{module.dotted}": module for module in self.listed}

    def _find(self, name: str, importer: Module) -> Module | None:
        """Find a module by its name: an absolute one is below the importer's folder or one above it, or a package."""
        if name.startswith("."):
            return self._by_name.get(name)
        above = importer.home.parent.parts[1:]
        names = (".".join(["", *above[:size], name]) for size in range(len(above), -1, -1))
        return next((self._by_name[each] for each in (*names, name) if each in self._by_name), None)

    def _read(self, path: Path, home: Path, root: Path, diagnostics: Diagnostics) -> None:
        line = None
        try:
            if path != root and not home.is_relative_to(root.resolve()):
                raise ValueError("a link that leads out of the folder")
            str(path).encode()  # A name that is not UTF-8 cannot be reported as it is.
            data = read_regular(path, MAX_BYTES)
            if data.startswith(HEADER_MARK.encode()):
                return
            module = Module(
                path=path, home=home, lines=data.decode("utf-8", "replace").split("\n"), tree=ast.parse(data)
            )
        except OSError as error:
            reason = str(error.strerror)
        except UnicodeEncodeError:
            reason = "its name is not UTF-8"
            path = Path(os.fsencode(path).decode("utf-8", "backslashreplace"))
        except SyntaxError as error:
            line, reason = error.lineno, f"not valid Python: {error.msg}"
        except (ValueError, RecursionError, MemoryError) as error:
            reason = str(error) if isinstance(error, ValueError) else "not valid Python: it is nested too deeply"
        else:
            module.read_names()
            self.listed.append(module)
            return
        self.unread.append(path)
        diagnostics.warning(Location(source=str(path), line=line), f"skipped: {reason}")


def dotted(node: ast.expr | None) -> str:
    """Return a name or a chain of attributes as text, and nothing for any other expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _python_files(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not Path(folder, name, "pyvenv.cfg").exists()
        )
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))
