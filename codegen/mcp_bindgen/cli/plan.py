"""From a request to the trees that should stand on disk; everything happens in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_bindgen.bridge.emit import FOLDER as BRIDGES
from mcp_bindgen.bridge.emit import emit_bridges
from mcp_bindgen.cli.request import Request, stable_name
from mcp_bindgen.diagnostics import Diagnostics, InputError, Location, refuse_endless_chains
from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindgen.emit.package import TYPED, emit, emit_root, revision_folder
from mcp_bindgen.emit.tree import Tree, packages_in
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceText
from mcp_bindgen.ir.nodes import Protocol, Source
from mcp_bindgen.load import load_released, load_sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The bindings of one revision: where they belong, and their files by relative path."""

    revision: str
    folder: Path
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a request comes to: the packages, and the trees that hold them."""

    packages: tuple[Package, ...]
    trees: tuple[Tree, ...]


def plan(
    request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics, step: Callable[[str], None]
) -> Plan:
    """Generate everything that was asked for; `step` is told which revision comes next.

    Raises:
        InputError: something cannot be generated.
    """
    with refuse_endless_chains(sources[0].name if sources else "schema"):
        return _plan(request, sources, diagnostics, step)


def _plan(
    request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics, step: Callable[[str], None]
) -> Plan:
    protocols = [_named(protocol) for protocol in _protocols(request, sources, diagnostics)]
    if request.chosen_place and len(protocols) == 1:
        step(protocols[0].revision)
        package = _package(protocols[0], request, "", diagnostics)
        return Plan(packages=(package,), trees=(Tree(folder=package.folder, files=package.files | TYPED),))
    packages: list[Package] = []
    for protocol in protocols:
        step(protocol.revision)
        packages.append(_package(protocol, request, revision_folder(protocol.revision), diagnostics))
    return Plan(packages=tuple(packages), trees=tuple(_trees(request, packages)))


def _protocols(request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics) -> Iterator[Protocol]:
    if sources:
        yield load_sources(sources, request.revisions[0] if request.revisions else None, diagnostics)
    else:
        for revision in request.revisions:
            yield load_released(revision)


def _named(protocol: Protocol) -> Protocol:
    """Give the sources names that do not tell on which machine the bindings were made."""
    sources = tuple(Source(name=stable_name(s.name, Path.cwd()), sha256=s.sha256) for s in protocol.sources)
    return replace(protocol, sources=sources)


def _package(protocol: Protocol, request: Request, folder: str, diagnostics: Diagnostics) -> Package:
    files = emit(
        protocol,
        command=request.command(protocol.revision),
        templates=request.templates,
        diagnostics=diagnostics,
    )
    diagnostics.raise_errors()
    _check(files)
    return Package(revision=protocol.revision, folder=request.home / folder, files=files)


def _check(files: dict[str, str]) -> None:
    """A file that lacked our header, as a template of the user's may make it, could never be replaced again."""
    for name, text in files.items():
        if text and not text.startswith(HEADER_MARK):
            where = Location(source=name)
            raise InputError.at(where, f"the templates give a file that does not begin with {HEADER_MARK!r}")


def _trees(request: Request, packages: Sequence[Package]) -> Iterator[Tree]:
    names = {package.folder.name for package in packages}
    there = {*names, *packages_in(request.home)} if request.partial else names
    bridges = emit_bridges(_bridged(there), request.root_command, request.templates)
    if not request.partial:
        files = emit_root(sorted(names), request.root_command, request.templates)
        for package in packages:
            files |= {f"{package.folder.name}/{name}": text for name, text in package.files.items()}
        files |= {f"{BRIDGES}/{name}": text for name, text in bridges.items()}
        yield Tree(folder=request.home, files=files)
        return
    for package in packages:
        yield Tree(folder=package.folder, files=package.files)
    if bridges:
        yield Tree(folder=request.home / BRIDGES, files=bridges)
    yield Tree(
        folder=request.home,
        files=emit_root(sorted(there), request.root_command, request.templates),
        shallow=True,
    )


def _bridged(folders: set[str]) -> list[Protocol]:
    """Return the released revisions from the oldest to the newest package that is there, gaps included."""
    known = {revision_folder(revision): revision for revision in released()}
    there = sorted(known[folder] for folder in folders & known.keys())
    between = [revision for revision in released() if there and there[0] <= revision <= there[-1]]
    return [load_released(revision) for revision in between] if len(there) > 1 else []
