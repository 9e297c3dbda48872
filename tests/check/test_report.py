"""What the report says of a finding: its page, the command that repeats it, and the revisions without one."""

import json

import pytest

from mcp_bindgen.check.findings import Finding, folded
from mcp_bindgen.check.report import RENDERERS, Report
from mcp_bindgen.check.run import Checked
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.live.target import Command
from support.samples import REVISIONS

LEGACY = REVISIONS[:4]
SITE = "https://modelcontextprotocol.io/specification"


def finding(revision: str, requirement: str = "ping.answered", probe: str = "ping.answered") -> Finding:
    return Finding(requirement=requirement, place="", revisions=(revision,), reason="why", said=(), probe=probe)


def report(*findings: Finding, unjudged: tuple[str, ...] = ()) -> Report:
    checked = Checked(revisions=LEGACY, findings=folded(findings), unjudged=dict.fromkeys(unjudged))
    return Report(checked, Wanted(target=Command(words=("server",)), timeout=1), Baseline())


@pytest.mark.parametrize("first", LEGACY)
def test_the_page_and_the_command_are_those_of_the_messages(first: str) -> None:
    others = [finding(revision) for revision in LEGACY if revision != first]
    text = RENDERERS["text"](report(finding(first), *others))
    assert f"error ping.answered ({', '.join(LEGACY)})" in text
    assert f"  {SITE}/{first}/basic/utilities/ping\n" in text
    assert f"check --revision {first} --only ping.answered -- server\n" in text


def test_what_another_probe_met_is_repeated_by_that_probe_under_its_own_id() -> None:
    text = RENDERERS["text"](report(finding(LEGACY[-1], "messages.base-protocol", "tools.name-unique")))
    assert " --only messages.base-protocol --only tools.name-unique -- server\n" in text


@pytest.mark.parametrize("wrong", [LEGACY[:1], LEGACY[1:2], LEGACY[1:3], LEGACY, ()])
def test_the_summary_names_the_revisions_without_an_error(wrong: tuple[str, ...]) -> None:
    made = report(*map(finding, wrong))
    clean = [revision for revision in LEGACY if revision not in wrong]
    said = f" (none in {', '.join(clean)})" if wrong and clean else ""
    assert f"{'1 error' if wrong else '0 errors'}{said}, 0 warnings" in RENDERERS["text"](made)
    assert json.loads(RENDERERS["json"](made))["clean"] == clean


def test_what_was_not_judged_comes_before_the_summary() -> None:
    *_, unjudged, summary = RENDERERS["text"](report(unjudged=("a: it is late", "b: it is late"))).splitlines()
    assert unjudged == "not judged: a, b: it is late" and summary.startswith("0 errors, ")
