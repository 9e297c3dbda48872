"""Find the user's Python files, and resolve imports between them."""

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindgen.impact.uses import Source

MAX_BYTES = 4_000_000
"""The maximum size of a file that is read, in bytes."""
_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file: `name` is its import name, with its package; `id` is unique."""

    id: str
    name: str
    is_package: bool
    source: Source
    tree: ast.Module

    def absolute(self, module: str | None, level: int) -> str:
        """Return the absolute name of a relative import in this module."""
        if not level:
            return module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - level + self.is_package]
        return ".".join([*kept, *([module] if module else [])])


@dataclass(slots=True)
class Modules:
    """The modules of a scan; `unread` are the files that could not be read."""

    listed: list[Module] = field(default_factory=list[Module])
    unread: list[Path] = field(default_factory=list[Path])
    _by_name: dict[str, Module] = field(default_factory=dict[str, Module])
    _by_path: dict[Path, Module] = field(default_factory=dict[Path, Module])
    _found: dict[tuple[str, Path], Module | None] = field(default_factory=dict[tuple[str, Path], "Module | None"])
    _roots: list[Path] = field(default_factory=list[Path])

    @classmethod
    def read(cls, paths: Sequence[Path], diagnostics: Diagnostics) -> "Modules":
        """Read all Python files in and below some paths; generated ones are left out.

        Raises:
            InputError: a path does not exist, or contains no Python file.
        """
        modules = cls()
        seen: set[Path] = set()
        for root in paths:
            if not root.exists():
                raise InputError.at(Location(source=str(root)), "no such file or folder")
            modules._roots.append(root.resolve() if root.is_dir() else root.resolve().parent)
            for path in _python_files(root):
                if path.resolve() not in seen:
                    seen.add(path.resolve())
                    modules._add(path, diagnostics)
        if not seen:
            shown = ", ".join(str(path) for path in paths)
            raise InputError.at(Location(source=shown), "contains no Python file")
        return modules

    def find(self, name: str, importer: Module) -> Module | None:
        """Resolve an absolute import: in a package, next to the importer, or below a root."""
        if name in self._by_name:
            return self._by_name[name]
        key = (name, Path(importer.id).parent)
        if key not in self._found:
            self._found[key] = self._beside(*key)
        return self._found[key]

    def _beside(self, name: str, home: Path) -> Module | None:
        parts = name.split(".")
        for folder in (home, *self._roots):
            place = folder.joinpath(*parts)
            for path in (place.with_suffix(".py"), place / "__init__.py"):
                if path in self._by_path:
                    return self._by_path[path]
        return None

    def _add(self, path: Path, diagnostics: Diagnostics) -> None:
        where = Location(source=str(path))
        try:
            data = path.read_bytes()
            if len(data) > MAX_BYTES:
                self.unread.append(path)
                diagnostics.warning(where, f"skipped: larger than {MAX_BYTES} bytes")
                return
            if data.startswith(HEADER_MARK.encode()):
                return
            tree = ast.parse(data, filename=str(path))
            text = data.decode("utf-8", "replace")
        except OSError as error:
            self.unread.append(path)
            diagnostics.warning(where, f"skipped: {error.strerror}")
            return
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unread.append(path)
            reason = error.msg if isinstance(error, SyntaxError) else "it cannot be parsed"
            line = error.lineno if isinstance(error, SyntaxError) else None
            diagnostics.warning(Location(source=str(path), line=line), f"skipped: not valid Python: {reason}")
            return
        resolved = path.resolve()
        name = _module_name(resolved)
        source = Source(path=path, lines=tuple(text.split("\n")))
        module = Module(id=str(resolved), name=name, is_package=path.name == "__init__.py", source=source, tree=tree)
        self.listed.append(module)
        self._by_path[resolved] = module
        if "." in name or module.is_package:
            self._by_name.setdefault(name, module)


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
