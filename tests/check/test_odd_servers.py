"""Correct servers in unusual styles have no errors, and what cannot be judged is not judged."""

from pathlib import Path

import pytest

from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.check.run import Checked, check
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.live.target import Command
from support.documents import ROOT
from support.programs import quick_python

pytestmark = pytest.mark.slow
STYLES = "NeedsVariable Nothing LogsMuch StartsSlowly OldOnly Fails Strict Writes Hangs Ends Mute Talks Pages".split()


async def checked(style: str, folder: Path) -> Checked:
    env = {"PYTHONPATH": str(ROOT / "tests"), "ODD_TOKEN": "s3cret", "PYTHONIOENCODING": "utf-8"}
    words = (quick_python(), "-m", "check.odd_servers", style)
    return await check(Wanted(target=Command(words=words, env=env, cwd=str(folder)), timeout=2, seconds=600))


def serious(found: Checked) -> list[tuple[str, str]]:
    return [(each.requirement, each.reason) for each in found.findings if each.severity is not Severity.INFO]


@pytest.mark.parametrize("style", STYLES)
async def test_a_correct_server_has_no_finding(style: str, tmp_path: Path) -> None:
    found = await checked(style, tmp_path)
    assert serious(found) == []
    assert found.revisions == (("2024-11-05",) if style == "OldOnly" else LEGACY)
    assert not (tmp_path / "was-called").exists()
    assert any("no answer within" in each for each in found.unjudged) is (style == "Hangs")


async def test_a_server_that_ends_by_itself_is_not_judged_by_it(tmp_path: Path) -> None:
    found = await checked("NeedsDatabase", tmp_path)
    assert serious(found) == []
    assert [each for each in found.unjudged if "exited with status 1, and does so without a message too" in each]


@pytest.mark.parametrize("name", ["tools", "prompts"])
async def test_a_list_that_always_fails_says_nothing_about_first_requests(name: str, tmp_path: Path) -> None:
    method = f"list_{name}"
    (tmp_path / "server.py").write_text(
        "from mcp_bindings.v2026_07_28 import Server\n"
        "from mcp_runtime.core.transports.stdio import serve_stdio\n"
        "class Remote(Server):\n"
        f"    async def {method}(self, params, ctx): raise OSError('fetch failed')\n"
        "serve_stdio(Remote())\n"
    )
    command = Command(words=(quick_python(), "server.py"), env={}, cwd=str(tmp_path))
    found = await check(Wanted(target=command, timeout=2, only=frozenset({"modern.stateless"})))
    assert serious(found) == []
    assert [*found.unjudged] == [f"modern.stateless (2026-07-28): {name}/list is answered by the error -32603"]


async def test_silence_breaks_only_what_demands_an_answer(tmp_path: Path) -> None:
    errors = {
        each.requirement for each in (await checked("Ignores", tmp_path)).findings if each.severity is Severity.ERROR
    }
    assert errors == {"messages.json-rpc"}


async def test_a_banner_is_the_only_finding(tmp_path: Path) -> None:
    assert [id_ for id_, _ in serious(await checked("Banner", tmp_path))] == ["stdio.stdout-clean"]
