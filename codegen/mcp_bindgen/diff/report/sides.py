"""From what the user named to a report: both sides are loaded, compared, and described."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.compatibility import compatibility
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.inputs import UNNAMED, load_sides, side_source
from mcp_bindgen.diff.report.model import Report, Side, make_report
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.diff.report.places import SourceFile
from mcp_bindgen.diff.report.story import story
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.types.methods import has_roots
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.ingest.paths import shown
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import is_url, public_name
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, refuse_endless_chains
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.extension import extend
from mcp_bindgen.project.request import extension_table
from mcp_bindgen.project.settings import find_settings

Loader: TypeAlias = Callable[[str, Diagnostics], Protocol]


def extension_loader(extension: str | None, revision: str | None, new: str) -> Loader:
    """Return how the states of an extension are loaded; rows of its table that fit only one state are notes.

    Raises:
        InputError: there is no such extension, or the revision that it extends is not known.
    """
    if extension is None:
        raise InputError.at("--revision", "only an extension has one; add --extension ID")
    table = extension_table(f"{extension}={new}", find_settings(Path.cwd()))
    base = revision or table.revision
    if not base:
        raise InputError.at(extension, "name the revision that it extends: --revision REVISION")
    return lambda side, found: extend(table, base, side_source(side), found, is_current=False).protocol


def compared(
    names: tuple[str, str],
    options: Options,
    baseline: Baseline,
    diagnostics: Diagnostics,
    load: Loader | None = None,
) -> Report:
    """Return the report on two sides that the user named.

    Raises:
        InputError: one of them cannot be loaded.
    """
    with refuse_endless_chains(" and ".join(map(public_name, names))):
        sides = (load(names[0], diagnostics), load(names[1], diagnostics)) if load else load_sides(*names, diagnostics)
        return report_on(names, sides, compare(*sides), options, baseline)


def report_on(
    names: tuple[str, str],
    sides: tuple[Protocol, Protocol],
    findings: Sequence[Finding],
    options: Options,
    baseline: Baseline,
) -> Report:
    """Return the report on the findings about two sides that the user named."""
    old, new = map(_side, names, sides)
    verdict = compatibility(findings)
    made = make_report(findings, old=old, new=new, options=options, baseline=baseline, compatibility=verdict)
    return made if options.view is View.SOURCE else replace(made, story=story(*sides, findings))


def _side(name: str, protocol: Protocol) -> Side:
    file: SourceFile | None = None
    if name not in released() and not is_url(name) and (":" in name or Path(name).exists()):
        file = SourceFile(shown(name if Path(name).exists() else name.partition(":")[2]), side_source(name))
    return Side(
        name=public_name(name),
        revision=protocol.revision,
        sources=protocol.sources,
        file=file,
        dated=protocol.revision != UNNAMED,
        has_roots=has_roots(protocol),
    )
