"""pyright on the corpus with the bindings of the new revision: it reports no line without a mark."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from impact.corpus_marks import CASES, following, marks, revisions

ROOT = Path(__file__).resolve().parents[2]

Errors = dict[str, set[tuple[str, int, str]]]
"""Case -> file, line and message."""


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> Errors:
    """Check a copy of the corpus in which every program imports the new revision."""
    folder = tmp_path_factory.mktemp("corpus")
    for case in CASES:
        old, new = (f"v{revision.replace('-', '_')}" for revision in revisions(case))
        for path in shutil.copytree(case, folder / case.name).rglob("*.py"):
            path.write_text(path.read_text("utf-8").replace(old, new))
    settings = {
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / root) for root in ("generated", "runtime")],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    program = Path(sys.executable).with_name("pyright")
    command = [str(program), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: Errors = {case.name: set() for case in CASES}
    for diagnostic in json.loads(done.stdout)["generalDiagnostics"]:
        if diagnostic["severity"] == "error":
            name, *inner = Path(diagnostic["file"]).relative_to(folder).parts
            found[name].add(("/".join(inner), diagnostic["range"]["start"]["line"] + 1, diagnostic["message"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lines_that_no_longer_type_check_are_marked(case: Path, errors: Errors) -> None:
    marked = {(file, line) for file, line, _ in marks(case)}
    follows = set(following(case))
    found = sorted(errors[case.name])
    assert found
    missed = [f"{file}:{line}: {message}" for file, line, message in found if (file, line) not in marked | follows]
    assert missed == []
    assert follows <= {(file, line) for file, line, _ in found}, "marks that nothing needs"
