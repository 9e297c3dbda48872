"""Examples that read the same in both eras run in both: with another import, and nothing else changed."""

import shutil
from pathlib import Path

import pytest

from support.at_terminal import EXAMPLES
from support.samples import REVISIONS

LEGACY, MODERN = (f"v{revision.replace('-', '_')}" for revision in REVISIONS[-2:])


@pytest.fixture(params=[pytest.param(LEGACY, marks=pytest.mark.slow), MODERN])
def examples(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the examples, as they are (in the slow tier) or with the bindings of the modern era."""
    if request.param == LEGACY:
        return EXAMPLES
    folder = shutil.copytree(EXAMPLES, tmp_path_factory.mktemp("examples") / "modern")
    for path in folder.glob("*.py"):
        path.write_text(path.read_text("utf-8").replace(LEGACY, MODERN), "utf-8")
    return folder
