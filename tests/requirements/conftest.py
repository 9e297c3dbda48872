"""Tests that name requirements run in each revision in which these apply."""

import pytest

from mcp_bindgen.check.requirements import REVISIONS, rows
from support.samples import LEGACY


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `revision` in all revisions of the requirements that it names."""
    if "revision" not in metafunc.fixturenames:
        return
    ids = [str(id_) for mark in metafunc.definition.iter_markers("requirement") for id_ in mark.args]
    held = [revision for revision in REVISIONS if all(revision in rows()[id_].revisions for id_ in ids)]
    is_dear = any(metafunc.definition.iter_markers("dear"))
    slow = {revision for revision in held if is_dear and revision not in (LEGACY[-1], held[-1])}
    marks = {revision: [pytest.mark.slow] if revision in slow else [] for revision in held}
    metafunc.parametrize("revision", [pytest.param(revision, marks=marks[revision]) for revision in held])
