"""Scan a user's code: read every module until nothing new is learned, then note its uses."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.modules import Module, Modules
from mcp_bindgen.impact.project import Project
from mcp_bindgen.impact.statements import Statements
from mcp_bindgen.impact.surface import Surface
from mcp_bindgen.impact.types import Environment
from mcp_bindgen.impact.uses import Uses

MAX_PASSES = 8
"""The maximum number of passes: each pass propagates what is known one step further."""


def scan(
    surface: Surface,
    paths: Sequence[Path],
    packages: frozenset[str],
    watched: frozenset[str],
    diagnostics: Diagnostics,
) -> tuple[Uses, Modules]:
    """Return the uses of the bindings in the Python files in and below some paths.

    Args:
        surface: the bindings that the code is written for.
        paths: files and folders.
        packages: the dotted names under which the code may import the bindings.
        watched: attributes and keywords to record even if the type of a value is unknown.
        diagnostics: receives the files that cannot be read.

    Raises:
        InputError: a path does not exist, or contains no Python file.
    """
    modules = Modules.read(paths, diagnostics)
    project = Project(surface=surface, packages=packages, modules=modules, uses=Uses(watched=watched))
    related = _related(project)
    for _ in range(MAX_PASSES):
        project.facts.changed = False
        project.uses.forget()
        for module in list(related):
            try:
                _read(project, module)
            except RecursionError:
                related.remove(module)
                modules.unread.append(module.source.path)
                where = Location(source=str(module.source.path))
                diagnostics.warning(where, "skipped: its expressions are nested too deeply")
        if not project.facts.changed:
            break
    return project.uses, modules


def _related(project: Project) -> list[Module]:
    """Return the modules that are connected to the bindings by imports, in either direction.

    Protocol objects only reach other modules through imports, so the rest need not be read.
    """
    ways: dict[str, set[str]] = {module.id: set() for module in project.modules.listed}
    needs: dict[str, list[Module]] = {module.id: [] for module in project.modules.listed}
    pending: list[str] = []
    for module in project.modules.listed:
        for name in _imported(module):
            if project.is_bindings(name) or project.leads_to_bindings(name):
                pending.append(module.id)
            other = project.modules.find(name, module)
            if other is not None:
                needs[module.id].append(other)
                ways[module.id].add(other.id)
                ways[other.id].add(module.id)
    found: set[str] = set()
    while pending:
        current = pending.pop()
        if current not in found:
            found.add(current)
            pending += ways[current]
    return [module for module in _in_order(project.modules.listed, needs) if module.id in found]


def _in_order(modules: Sequence[Module], needs: Mapping[str, Sequence[Module]]) -> Iterator[Module]:
    """Iterate over modules in dependency order, so that the second pass has little left to learn."""
    done: set[str] = set()
    pending: list[tuple[Module, bool]] = [(module, False) for module in reversed(modules)]
    while pending:
        module, ready = pending.pop()
        if ready:
            yield module
        elif module.id not in done:
            done.add(module.id)
            pending.append((module, True))
            pending += [(other, False) for other in needs[module.id] if other.id not in done]


def _imported(module: Module) -> Iterator[str]:
    """Iterate over the dotted names that a module imports, or imports from."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = module.absolute(node.module, node.level)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _read(project: Project, module: Module) -> None:
    frame = Frame(project=project, module=module, env=Environment())
    Statements(frame).block(module.tree.body)
    for name, type_ in frame.env.types.items():
        if "." not in name:
            project.facts.learn(project.facts.variables, (module.id, name), type_)
