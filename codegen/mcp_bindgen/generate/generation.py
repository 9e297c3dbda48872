"""A run of the generator: it is recalled if nothing changed, or planned and then written or compared with the files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mcp_bindgen.emit import cache
from mcp_bindgen.emit.header import tool_version
from mcp_bindgen.emit.swap import write_trees
from mcp_bindgen.emit.tree import Drift, Tree, compare, packages_in
from mcp_bindgen.ingest.paths import shown
from mcp_bindgen.ingest.sources import SourceText
from mcp_bindgen.ir.diagnostics import (
    Diagnostics,
    count,
    diagnostic_from_json,
    diagnostic_json,
    warnings_json,
)
from mcp_bindgen.project.request import Request

if TYPE_CHECKING:
    from mcp_bindgen.generate.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a run did; `packages` has the JSON output of each revision, `extra` the files of extra templates."""

    packages: Sequence[Mapping[str, Any]]
    extra: Sequence[str]
    diagnostics: Diagnostics
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the JSON output."""
        done = {"written": list(self.written), "removed": list(self.removed)}
        return {
            "revisions": [package for package in self.packages if not package["extension"]],
            "extensions": [package for package in self.packages if package["extension"]],
            "extra": list(self.extra),
            **done,
            "warnings": warnings_json(self.diagnostics),
        }

    def lines(self, *, own: bool) -> Iterator[str]:
        """Iterate over what people read; `own` adds what the package depends on."""
        for package in self.packages:
            state = "wrote" if package["folder"] in self.written else "up to date:"
            name = package["extension"] or package["revision"]
            yield f"{state} {package['folder']} ({name}, {count(len(package['files']), 'file')})"
        for path in self.extra:
            yield f"{'wrote' if path in self.written else 'up to date:'} {path}"
        if self.removed:
            yield f"removed {count(len(self.removed), 'file')} that are no longer generated"
        if own and self.written:
            yield f'add to the dependencies of the package: "mcp-bindings>={tool_version()}"'


class Run:
    """One run.

    Args:
        request: what is generated.
        sources: the schemas that it names.
        diagnostics: gets what is wrong with them.

    Attributes:
        diagnostics: what is wrong with them.
        drifts: how the files on disk differ from those that are planned.
    """

    def __init__(self, request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics) -> None:
        self._request = request
        self._sources = sources
        self._inputs = ""
        self.diagnostics = diagnostics
        self.drifts: list[tuple[Tree, Drift]] = []
        self._plan: Plan

    def recalled(self) -> Result | None:
        """Return the result of the last run if neither inputs nor outputs have changed since."""
        answer = cache.recall(self._request.home, self._digest())
        if answer is None:
            return None
        diagnostics = Diagnostics({diagnostic_from_json(found): None for found in answer["diagnostics"]})
        return Result(packages=answer["revisions"], extra=answer["extra"], diagnostics=diagnostics)

    def plan(self, step: Callable[[str], None]) -> None:
        """Generate everything in memory; `step` is called with the name of each revision.

        Raises:
            InputError: something cannot be generated.
        """
        from mcp_bindgen.generate.plan import plan  # importing it takes longer than a run with nothing to do

        self._plan = plan(self._request, self._sources, self.diagnostics, step)
        self.drifts = [(tree, compare(tree)) for tree in self._plan.trees]

    def drifted(self) -> dict[str, list[str]]:
        """Return the paths that differ from the plan, by how."""
        return {
            kind: [shown(tree.folder / name) for tree, drift in self.drifts for name in getattr(drift, kind)]
            for kind in ("missing", "changed", "orphaned")
        }

    def write(self) -> Result:
        """Write what was planned, and remember it."""
        inputs, made = self._digest(), self._plan
        write_trees(made.trees, self._request.home)
        stale = [tree.folder / name for tree, drift in self.drifts for name in drift.paths]
        result = Result(
            packages=[
                {
                    "revision": package.revision,
                    "extension": package.extension,
                    "folder": shown(package.folder),
                    "files": sorted(package.files),
                }
                for package in made.packages
            ],
            extra=[shown(path) for path in made.extra],
            diagnostics=self.diagnostics,
            written=tuple(
                shown(place)
                for place in (*(package.folder for package in made.packages), *made.extra)
                if any(path.is_relative_to(place) for path in stale)
            ),
            removed=tuple(self.drifted()["orphaned"]),
        )
        answer = {
            "revisions": result.packages,
            "extra": result.extra,
            "diagnostics": [diagnostic_json(found) for found in self.diagnostics],
        }
        cache.remember(self._request.home, inputs=inputs, trees=made.trees, answer=answer)
        return result

    def _digest(self) -> str:
        """Return a digest of the inputs as they were before anything is written."""
        if not self._inputs:
            request = self._request
            neighbours = packages_in(request.home) if request.partial else ()
            given = {name: str(value) for name, value in asdict(request).items()} | {"neighbours": neighbours}
            read = [source.data for source in self._sources] + [extra.template.read_bytes() for extra in request.extra]
            self._inputs = cache.digest_inputs(given, read, request.templates)
        return self._inputs
