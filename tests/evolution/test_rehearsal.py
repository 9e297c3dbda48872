"""A made-up next revision needs no code: composed of proposals, it is added to a copy of the repository, and used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import ROOT
from support.official import upstream
from support.scripts import script

PROPOSALS = upstream() / "proposals"
THINGS = Path(__file__).with_name("things.md")
CAPABILITIES = {
    '"completion/complete"': '"things/list" = "server.things"\n"completion/complete"',
    '"elicitation/create"': '"notifications/things/list_changed" = "server.things.listChanged"\n"elicitation/create"',
}
"""What a person adds to capabilities.toml, each row before another."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_proposals_become_a_revision_without_code(tmp_path: Path) -> None:
    """The open proposals take part if they are here, and one of our own with all that they lack.

    Without 2631, whose mistakes (`EXPECTED` of test_proposal.py) the tests of its revision rightly find.
    """
    rehearse = script("rehearse")
    there = sorted(path for path in PROPOSALS.iterdir() if path.name != "2631") if PROPOSALS.is_dir() else []
    composed = rehearse.compose([THINGS, *there])
    assert set(composed.applied) == {THINGS.name, *(path.name for path in there)} - {"2487"}
    assert all("ToolExecution, which 2026-07-28 does not have" in reason for reason in composed.left_out.values())
    rehearsal = rehearse.Rehearsal(tmp_path / "copy")
    rehearsal.copy()
    left = rehearsal.add(composed.text)
    assert {
        f"schema/capabilities.toml: no row for {method}; it needs one unless every peer may use it"
        for method in ("things/list", "notifications/things/list_changed")
    } <= set(left)
    assert not any("tools/list" in line or "describes" in line for line in left)
    capabilities = tmp_path / "copy" / "schema" / "capabilities.toml"
    text = capabilities.read_text("utf-8")
    for before, after in CAPABILITIES.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    capabilities.write_text(text, "utf-8")
    rehearsal.generate()
    added = rehearsal.added()
    assert added["types and messages"][0] > 3000 < added["structure of the schema"][0]
    by_person = {layer: lines for layer, (_, lines) in added.items() if lines}
    assert by_person.keys() == {"descriptions and capabilities"} and by_person.popitem()[1] < 300
    folder = f"v{rehearse.NEXT.replace('-', '_')}"
    code = f"""
import mcp_bindings
from mcp_bindings import {folder} as new, v2026_07_28 as newest
tree = new.Tree.model_validate_json('{{"value": "a", "children": [{{"value": "b"}}]}}')
good = dict(unit="cm", name="arm", readings=[1], percent=5, size=9, labels={{"a": "b"}})
bad = dict(unit="c", name="Arm", readings=[1, 1], percent=6, size=10, labels={{}})
for name in good:
    try:
        new.Measure.model_validate({{**good, name: bad[name]}})
    except ValueError:
        print(name, end=" ")
print(new.Measure(**good).unit)
new_methods = set(new.METHODS) - set(newest.METHODS)
print(tree.children[0].value, sorted(m for m in new_methods if "things" in m), mcp_bindings.App is new.App)
print(hasattr(new.Client, "list_things"), hasattr(new.ConnectedClient, "notify_thing_list_changed"))
print(type(new.CallToolResult.model_validate({{"resultType": "complete", "content": [
    {{"type": "thing", "thing": {{"value": "a"}}}}]}}).content[0]).__name__)
"""
    assert rehearsal.run("-c", code).splitlines() == [
        "unit name readings percent size labels cm",
        "b ['notifications/things/list_changed', 'things/list'] True",
        "True True",
        "ThingContent",
    ]
    for title, place, program in (*rehearse.checks(), *rehearse.tests()):
        output = rehearsal.run(*program, folder=place)
        if title == f"tests of {rehearse.NEXT}":
            passed = re.search(r"(\d+) passed", output)
            assert passed and int(passed[1]) > 120
    with pytest.raises(rehearse.Failed, match="exit status 3"):
        rehearsal.run("-c", "raise SystemExit(3)")


def test_a_folder_without_proposals_is_bad_input(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "scripts" / "rehearse.py"), str(tmp_path / "copy"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"error: {tmp_path}: no proposals in it; give PROPOSALS=FOLDER\n"
