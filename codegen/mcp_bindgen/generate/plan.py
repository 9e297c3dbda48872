"""From a request to the file trees that should be on disk, all in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from mcp_bindgen.emit.header import extension_header, revision_header
from mcp_bindgen.emit.python.extension import extension_pages, extension_view
from mcp_bindgen.emit.python.modules import categories
from mcp_bindgen.emit.python.package import (
    TYPED,
    emit_extensions_root,
    emit_root,
    package_pages,
    package_view,
)
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.tree import Extent, Tree, packages_in
from mcp_bindgen.ingest.extensions import ExtensionTable, shipped_structure
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ingest.sources import SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics, Location, refuse_endless_chains
from mcp_bindgen.ir.extensions import Extension
from mcp_bindgen.ir.history import History
from mcp_bindgen.ir.nodes import Protocol, Source
from mcp_bindgen.load.extension import extend, load_extension
from mcp_bindgen.load.protocol import door, history, load_released, load_sources
from mcp_bindgen.project.request import EXTENSIONS, Request, stable_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The bindings of one revision, or of an extension of it: their folder, and their files by relative path."""

    revision: str
    folder: Path
    files: dict[str, str]
    extension: str = ""
    exports: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The result of a request: the packages, the files of extra templates, and the trees that contain them."""

    packages: tuple[Package, ...]
    extra: tuple[Path, ...]
    trees: tuple[Tree, ...]


def plan(
    request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics, step: Callable[[str], None]
) -> Plan:
    """Generate everything that was requested; `step` is called with the name of each revision.

    Raises:
        InputError: something cannot be generated.
    """
    with refuse_endless_chains(sources[0].name if sources else "schema"):
        return _Planner(request, sources, diagnostics).plan(step)


class _Planner:
    def __init__(self, request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics) -> None:
        self._request = request
        self._sources = sources
        self._diagnostics = diagnostics
        self._templates = Templates(request.templates, [extra.template for extra in request.extra])
        self._extra: dict[str, str] = {}
        self._released = [load_released(revision) for revision in released()]
        self._categories = categories(self._released)

    def plan(self, step: Callable[[str], None]) -> Plan:
        if self._request.extension:
            package = self._own_extension(self._request.extension)
            return Plan(
                packages=(package,), extra=(), trees=(Tree(folder=package.folder, files=package.files | TYPED),)
            )
        protocols = [_named(protocol) for protocol in self._protocols()]
        known = history(*protocols)
        is_alone = self._request.chosen_place and len(protocols) == 1
        packages: list[Package] = []
        for protocol in protocols:
            step(protocol.revision)
            packages.append(self._package(protocol, "" if is_alone else revision_folder(protocol.revision), known))
        if is_alone:
            trees = [Tree(folder=package.folder, files=package.files | TYPED) for package in packages]
        else:
            extensions = [self._shipped_extension(table) for table in self._request.extensions]
            trees = list(self._trees(packages, extensions))
            packages += extensions
        if self._extra:
            trees.append(Tree(folder=self._request.project, files=self._extra, extent=Extent.LISTED))
        extra = tuple(self._request.project / path for path in self._extra)
        return Plan(packages=tuple(packages), extra=extra, trees=tuple(trees))

    def _protocols(self) -> Iterator[Protocol]:
        revisions = self._request.revisions
        if self._sources:
            yield load_sources(self._sources, revisions[0] if revisions else None, self._diagnostics)
        else:
            yield from map(load_released, revisions)

    def _package(self, protocol: Protocol, folder: str, known: History) -> Package:
        header = revision_header(protocol, self._request.command(protocol.revision))
        view = package_view(protocol, self._categories, self._diagnostics, known)
        view = replace(view, has_source_lines=self._request.source_lines)
        files = self._templates.render(package_pages(view), header)
        for extra in self._request.extra:
            page = Page(path=extra.path_of(protocol.revision), template=str(extra.template), context={"package": view})
            self._extra |= self._templates.render([page], header)
        exports = frozenset(export.name for export in view.exports)
        return Package(revision=protocol.revision, folder=self._request.home / folder, files=files, exports=exports)

    def _shipped_extension(self, table: ExtensionTable) -> Package:
        folder = self._request.home / EXTENSIONS / table.module
        command = f"mcp-bindgen generate {table.revision} --extension {table.id}"
        return self._extension_package(load_extension(table.id), folder, command)

    def _own_extension(self, table: ExtensionTable) -> Package:
        (revision,) = self._request.revisions
        source = self._sources[0] if self._sources else shipped_structure(table)
        extension = extend(table, revision, source, self._diagnostics)
        return self._extension_package(extension, self._request.home, self._request.command(revision))

    def _extension_package(self, extension: Extension, folder: Path, command: str) -> Package:
        named = replace(extension, protocol=_named(extension.protocol))
        view = replace(extension_view(named, self._diagnostics), has_source_lines=self._request.source_lines)
        files = self._templates.render(extension_pages(view), extension_header(named, command))
        return Package(revision=named.protocol.revision, folder=folder, files=files, extension=named.id)

    def _trees(self, packages: Sequence[Package], extensions: Sequence[Package]) -> Iterator[Tree]:
        home, command = self._request.home, self._request.root_command
        names = {package.folder.name for package in packages}
        there = {*names, *packages_in(home)} if self._request.partial else names
        bridges = self._bridges(there)
        passed_on = () if self._request.chosen_place else door().names
        for package in packages if passed_on else ():
            if package.folder.name == max(there):
                passed_on = door().beside(package.exports, package.revision)
        root = emit_root(sorted(there), command, self._templates, passed_on)
        if not self._request.partial:
            files = dict(root)
            for package in packages:
                files |= {f"{package.folder.name}/{name}": text for name, text in package.files.items()}
            files |= {f"{folder}/{name}": text for folder, texts in bridges.items() for name, text in texts.items()}
            for package in extensions:
                files |= {f"{EXTENSIONS}/{package.folder.name}/{name}": text for name, text in package.files.items()}
            if extensions:
                modules = sorted(package.folder.name for package in extensions)
                files |= {f"{EXTENSIONS}/__init__.py": emit_extensions_root(modules, command, self._templates)}
            yield Tree(folder=home, files=files)
            return
        for package in packages:
            yield Tree(folder=package.folder, files=package.files)
        for folder, texts in bridges.items():
            yield Tree(folder=home / folder, files=texts)
        yield Tree(folder=home, files=root, extent=Extent.TOP)

    def _bridges(self, folders: set[str]) -> dict[str, dict[str, str]]:
        """Return the folder of the bridges with its files, empty unless two released revisions are present.

        They lead from the oldest to the newest package present, including gaps.
        """
        there = [revision_folder(protocol.revision) in folders for protocol in self._released]
        if sum(there) < 2:
            return {}
        from mcp_bindgen.bridge.emit import FOLDER, emit_bridges  # loads the comparison of revisions

        bridged = self._released[there.index(True) : len(there) - there[::-1].index(True)]
        return {FOLDER: emit_bridges(bridged, self._request.root_command, self._templates)}


def _named(protocol: Protocol) -> Protocol:
    """Give the sources names that do not depend on the machine."""
    here = Path.cwd()
    sources = tuple(Source(name=stable_name(s.name, here), sha256=s.sha256, kind=s.kind) for s in protocol.sources)

    @cache
    def places() -> dict[str, Location]:
        found = protocol.places().items()
        return {path: replace(where, source=stable_name(where.source, here)) for path, where in found}

    return replace(protocol, sources=sources, places=places)
