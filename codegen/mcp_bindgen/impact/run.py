"""From two revisions and some folders to the lines that the differences affect."""

from collections.abc import Sequence
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.impact.python_names import PythonNames
from mcp_bindgen.impact.report import Impact
from mcp_bindgen.impact.scan import scan
from mcp_bindgen.impact.surface import Surface
from mcp_bindgen.impact.touch import Touches
from mcp_bindgen.ir.nodes import Protocol


def touches(findings: Sequence[Finding], old: Protocol, new: Protocol) -> Touches:
    """Return the test for which uses of the old bindings the findings affect."""
    return Touches(findings, (Surface(old), PythonNames(old)), (Surface(new), PythonNames(new)))


def impact(found: Touches, paths: Sequence[Path], packages: Sequence[str], diagnostics: Diagnostics) -> Impact:
    """Return how the differences between two revisions affect Python code.

    Args:
        found: the test for affected uses.
        paths: files and folders of the code.
        packages: the dotted names under which the code imports the bindings of the old revision.
        diagnostics: receives the files that cannot be read.

    Raises:
        InputError: a path does not exist, or contains no Python file.
    """
    uses, modules = scan(found.old, paths, frozenset(packages), found.watched, diagnostics)
    return Impact(
        old=found.old.revision,
        new=found.new.revision,
        packages=tuple(packages),
        files=len(modules.listed),
        touched=tuple(found.of(list(uses.found))),
        unresolved=tuple(sorted(uses.unresolved)),
        sources={module.source.path: module.source for module in modules.listed},
        imports=len(uses.found),
        unread=tuple(sorted(modules.unread)),
    )
