"""A made-up next revision needs no code: it is composed of open proposals and added to a copy of the repository."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import ROOT
from support.official import upstream
from support.scripts import script

PROPOSALS = upstream() / "proposals"


@pytest.mark.slow
@pytest.mark.skipif(not PROPOSALS.is_dir(), reason="the proposals are not here (set MCP_UPSTREAM)")
def test_proposals_become_a_revision_without_code(tmp_path: Path) -> None:
    rehearse = script("rehearse")
    composed = rehearse.compose(sorted(PROPOSALS.iterdir()))
    assert set(composed.applied) == {"662", "813", "2293", "2614", "2631", "2632", "2678", "3185"}
    assert composed.left_out.keys() == {"2487"} and "ToolExecution, which 2026-07-28 does not have" in str(composed)
    rehearsal = rehearse.Rehearsal(tmp_path / "copy")
    rehearsal.copy()
    rehearsal.add(composed.text)
    lines = rehearsal.layers()
    assert lines["code, templates and tests, by a person"] == 0
    assert 50 < lines["descriptions and rows, by a person"] < 300
    assert lines["types and messages"] > 3000 < lines["structure, taken from the proposals"]
    rehearsal.run("-m", "mcp_bindgen", "generate", "--check")
    code = "import mcp_bindings as m; print('keywords' in m.Implementation.model_fields, m.App.__module__)"
    assert rehearsal.run("-c", code) == "True mcp_bindings.v2099_12_31.app\n"
    with pytest.raises(rehearse.Failed, match="exit status 3"):
        rehearsal.run("-c", "raise SystemExit(3)")


def test_a_folder_without_proposals_is_bad_input(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "rehearse.py"), str(tmp_path / "copy"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"error: {tmp_path}: no folders of proposals in it; give PROPOSALS=FOLDER\n"
