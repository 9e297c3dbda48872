"""The import graph of a package, read from its sources: lazy and type-checking imports count like all others."""

import ast
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path


@cache
def import_graph(root: Path, package: str) -> Mapping[str, frozenset[str]]:
    """Return which modules each module of a package imports, wherever in its file; a package is read once per process.

    Importing a module also loads its package, so the package counts too, except within that package.

    Args:
        root: the source root that holds the package.
        package: its name.
    """
    paths = {_module(root, path): path for path in sorted((root / package).rglob("*.py"))}
    return {name: frozenset(_imports(name, path, paths)) for name, path in paths.items()}


def cycles(graph: Mapping[str, AbstractSet[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or by way of others."""
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]
    }
    return sorted(sorted(group) for group in groups)


def folder_graph(graph: Mapping[str, AbstractSet[str]], depth: int = 1) -> dict[str, set[str]]:
    """Return which folders of a package import which; a file outside of them counts as a folder.

    Args:
        graph: what `import_graph` returned.
        depth: how deep in the package the folders are: 1 for those at its top.
    """
    found: dict[str, set[str]] = {}
    for name, imported in graph.items():
        own = _folder(name, depth)
        found.setdefault(own, set()).update(folder for other in imported if (folder := _folder(other, depth)) != own)
    return found


def _folder(module: str, depth: int) -> str:
    return ".".join(module.split(".")[: depth + 1])


def _module(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imports(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    here = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = here.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
            named = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names]
        else:
            continue
        for module in named:
            yield from (part for part in _with_packages(module) if part in known and not _is_within(name, part, module))


def _with_packages(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _is_within(importer: str, package: str, module: str) -> bool:
    """Whether a package is already loaded because it contains the importer."""
    return package != module and (importer == package or importer.startswith(f"{package}."))


def _reachable(graph: Mapping[str, AbstractSet[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(graph.get(name, ()))
    return found
