"""`mcp-bindgen generate`: write bindings, or with --check compare them with those on disk.

The JSON output of a run that writes: ``revisions`` and ``extensions`` (each with ``revision``, ``extension``,
``folder``, ``files``), ``extra`` (the files of extra templates), ``written`` (the folders and extra files that changed,
empty if all were up to date), ``removed`` (files that are no longer generated), ``warnings``. That of --check:
``up_to_date``, ``missing``, ``changed``, ``orphaned``, ``warnings``. Paths below the current folder are relative to it.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_bindgen.cli.options import (
    CheckOption,
    ExtensionOption,
    FormatOption,
    QuietOption,
    SchemaOption,
    StrictOption,
    TemplatesOption,
    VerboseOption,
    revision_argument,
)
from mcp_bindgen.cli.output import (
    Format,
    answer_as,
    answer_json,
    diagnostic_from_json,
    diagnostic_json,
    print_diff,
    progress,
    report,
    shown,
    warnings_json,
)
from mcp_bindgen.diagnostics import Diagnostics, count
from mcp_bindgen.emit import cache
from mcp_bindgen.emit.header import tool_version
from mcp_bindgen.emit.swap import write_trees
from mcp_bindgen.emit.tree import compare, diff, packages_in
from mcp_bindgen.ingest.sources import SourceText, read_source
from mcp_bindgen.request import Request, settle
from mcp_bindgen.settings import Settings, find_settings

if TYPE_CHECKING:
    from mcp_bindgen.plan import Plan


def generate(
    *,
    revisions: Annotated[
        list[str] | None, revision_argument("REVISION...", "Revisions; by default, all released ones.")
    ] = None,
    schema: SchemaOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to write the package to.")] = None,
    package: Annotated[str | None, typer.Option(metavar="NAME", help="The package to write, such as acme.mcp.")] = None,
    templates: TemplatesOption = None,
    extension: ExtensionOption = None,
    check: CheckOption = False,
    strict: StrictOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Write the bindings of revisions, or those of an extension.

    They are written to generated/mcp_bindings/ in the current folder, or as set by --out, --package or
    [tool.mcp-bindgen] in pyproject.toml. A folder is replaced only if all its files were generated.
    """
    asked = Settings(
        revisions=tuple(revisions or ()), schema=tuple(schema or ()), out=out, package=package, templates=templates
    )
    request = settle(asked, find_settings(Path.cwd()), extension)
    sources = [read_source(place) for place in request.schema]
    if check:
        raise typer.Exit(
            _check(request, sources, Diagnostics(strict=strict), quiet=quiet, verbose=verbose, format_=format_)
        )
    inputs = _digest_inputs(request, sources)
    known = None if strict else _recalled(request.home, inputs)
    result = known or _write(request, sources, inputs, Diagnostics(strict=strict), quiet=quiet)
    answer_as(format_, result.as_json, lambda: "\n".join(result.lines(own=request.chosen_place)), quiet=quiet)
    report(result.diagnostics, verbose=verbose, quiet=quiet)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What a run did; `packages` has the JSON output of each revision, `extra` the files of extra templates."""

    packages: Sequence[Mapping[str, Any]]
    extra: Sequence[str]
    diagnostics: Diagnostics
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        done = {"written": list(self.written), "removed": list(self.removed)}
        return {
            "revisions": [package for package in self.packages if not package["extension"]],
            "extensions": [package for package in self.packages if package["extension"]],
            "extra": list(self.extra),
            **done,
            "warnings": warnings_json(self.diagnostics),
        }

    def lines(self, *, own: bool) -> Iterator[str]:
        for package in self.packages:
            state = "wrote" if package["folder"] in self.written else "up to date:"
            name = package["extension"] or package["revision"]
            yield f"{state} {package['folder']} ({name}, {count(len(package['files']), 'file')})"
        for path in self.extra:
            yield f"{'wrote' if path in self.written else 'up to date:'} {path}"
        if self.removed:
            yield f"removed {count(len(self.removed), 'file')} that are no longer generated"
        if own and self.written:
            yield f'add to the dependencies of the package: "mcp-bindgen>={tool_version()}"'


def _plan(request: Request, sources: Sequence[SourceText], diagnostics: Diagnostics, *, quiet: bool) -> "Plan":
    from mcp_bindgen.plan import plan  # importing it takes longer than a run with nothing to do

    with progress(max(1, len(request.revisions)), quiet=quiet) as step:
        return plan(request, sources, diagnostics, step)


def _write(
    request: Request, sources: Sequence[SourceText], inputs: str, diagnostics: Diagnostics, *, quiet: bool
) -> _Result:
    plan = _plan(request, sources, diagnostics, quiet=quiet)
    drifts = [(tree, compare(tree)) for tree in plan.trees]
    write_trees(plan.trees, request.home)
    stale = [tree.folder / name for tree, drift in drifts for name in drift.paths]
    result = _Result(
        packages=[
            {
                "revision": package.revision,
                "extension": package.extension,
                "folder": shown(package.folder),
                "files": sorted(package.files),
            }
            for package in plan.packages
        ],
        extra=[shown(path) for path in plan.extra],
        diagnostics=diagnostics,
        written=tuple(
            shown(place)
            for place in (*(package.folder for package in plan.packages), *plan.extra)
            if any(path.is_relative_to(place) for path in stale)
        ),
        removed=tuple(shown(tree.folder / name) for tree, drift in drifts for name in drift.orphaned),
    )
    cache.remember(
        request.home,
        inputs=inputs,
        trees=plan.trees,
        answer={
            "revisions": result.packages,
            "extra": result.extra,
            "diagnostics": [diagnostic_json(d) for d in diagnostics],
        },
    )
    return result


def _digest_inputs(request: Request, sources: Sequence[SourceText]) -> str:
    neighbours = packages_in(request.home) if request.partial else ()
    options = {name: str(value) for name, value in asdict(request).items()} | {"neighbours": neighbours}
    read = [source.data for source in sources] + [extra.template.read_bytes() for extra in request.extra]
    return cache.digest_inputs(options, read, request.templates)


def _recalled(home: Path, inputs: str) -> _Result | None:
    answer = cache.recall(home, inputs)
    if answer is None:
        return None
    diagnostics = Diagnostics({diagnostic_from_json(found): None for found in answer["diagnostics"]})
    return _Result(packages=answer["revisions"], extra=answer["extra"], diagnostics=diagnostics)


def _check(
    request: Request,
    sources: Sequence[SourceText],
    diagnostics: Diagnostics,
    *,
    quiet: bool,
    verbose: bool,
    format_: Format,
) -> int:
    """Print how the files on disk differ; return the exit status."""
    trees = _plan(request, sources, diagnostics, quiet=quiet).trees
    drifts = [(tree, compare(tree)) for tree in trees]
    drifted = any(drift.paths for _, drift in drifts)
    if format_ is Format.JSON:
        kinds = {
            kind: [shown(tree.folder / name) for tree, drift in drifts for name in getattr(drift, kind)]
            for kind in ("missing", "changed", "orphaned")
        }
        answer_json({"up_to_date": not drifted, **kinds, "warnings": warnings_json(diagnostics)})
    elif not quiet:
        for tree, drift in drifts:
            print_diff(diff(tree, drift, shown(tree.folder)))
        total = sum(len(drift.paths) for _, drift in drifts)
        print(
            f"{count(total, 'file')} {'differs' if total == 1 else 'differ'}" if total else "up to date",
            file=sys.stderr,
        )
    report(diagnostics, verbose=verbose, quiet=quiet)
    return 1 if drifted else 0
