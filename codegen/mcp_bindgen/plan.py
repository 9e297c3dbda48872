"""From a request to the file trees that should be on disk, all in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_bindgen.bridge.emit import FOLDER as BRIDGES
from mcp_bindgen.bridge.emit import emit_bridges
from mcp_bindgen.diagnostics import Diagnostics, refuse_endless_chains
from mcp_bindgen.emit.header import revision_header
from mcp_bindgen.emit.python.modules import categories
from mcp_bindgen.emit.python.package import TYPED, emit_root, package_pages, package_view, revision_folder
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.tree import Extent, Tree, packages_in
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceText
from mcp_bindgen.ir.nodes import Protocol, Source
from mcp_bindgen.load import load_released, load_sources
from mcp_bindgen.request import Request, stable_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The bindings of one revision: their folder, and their files by relative path."""

    revision: str
    folder: Path
    files: dict[str, str]


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
        protocols = [_named(protocol) for protocol in self._protocols()]
        is_alone = self._request.chosen_place and len(protocols) == 1
        packages: list[Package] = []
        for protocol in protocols:
            step(protocol.revision)
            packages.append(self._package(protocol, "" if is_alone else revision_folder(protocol.revision)))
        if is_alone:
            trees = [Tree(folder=package.folder, files=package.files | TYPED) for package in packages]
        else:
            trees = list(self._trees(packages))
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

    def _package(self, protocol: Protocol, folder: str) -> Package:
        header = revision_header(protocol, self._request.command(protocol.revision))
        view = package_view(protocol, self._categories, self._diagnostics)
        files = self._templates.render(package_pages(view), header)
        for extra in self._request.extra:
            page = Page(path=extra.path_of(protocol.revision), template=str(extra.template), context={"package": view})
            self._extra |= self._templates.render([page], header)
        return Package(revision=protocol.revision, folder=self._request.home / folder, files=files)

    def _trees(self, packages: Sequence[Package]) -> Iterator[Tree]:
        home, command = self._request.home, self._request.root_command
        names = {package.folder.name for package in packages}
        there = {*names, *packages_in(home)} if self._request.partial else names
        bridges = emit_bridges(self._bridged(there), command, self._templates)
        root = emit_root(sorted(there), command, self._templates)
        if not self._request.partial:
            files = dict(root)
            for package in packages:
                files |= {f"{package.folder.name}/{name}": text for name, text in package.files.items()}
            files |= {f"{BRIDGES}/{name}": text for name, text in bridges.items()}
            yield Tree(folder=home, files=files)
            return
        for package in packages:
            yield Tree(folder=package.folder, files=package.files)
        if bridges:
            yield Tree(folder=home / BRIDGES, files=bridges)
        yield Tree(folder=home, files=root, extent=Extent.TOP)

    def _bridged(self, folders: set[str]) -> list[Protocol]:
        """Return the released revisions from the oldest to the newest package present, including gaps."""
        there = [revision_folder(protocol.revision) in folders for protocol in self._released]
        if sum(there) < 2:
            return []
        return self._released[there.index(True) : len(there) - there[::-1].index(True)]


def _named(protocol: Protocol) -> Protocol:
    """Give the sources names that do not depend on the machine."""
    sources = tuple(Source(name=stable_name(s.name, Path.cwd()), sha256=s.sha256) for s in protocol.sources)
    return replace(protocol, sources=sources)
