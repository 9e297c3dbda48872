"""A server cannot crash `check`, fill its memory, or write into a terminal or a report what is not text."""

import json
import re
import resource
import sys
from xml.etree import ElementTree

import pytest

from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.check.run import Checked, check
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.live.target import Command
from support.command import Cli
from support.documents import ROOT

pytestmark = pytest.mark.slow
ONLY = ("messages.base-protocol", "ping.answered", "robust.arguments", "tools.name-unique", "contract.portable")
ENV = {"PYTHONPATH": str(ROOT / "tests"), "PYTHONIOENCODING": "utf-8:surrogatepass"}


def words(harm: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "check.hostile_servers", harm)


async def checked(harm: str, only: tuple[str, ...] = ()) -> Checked:
    target = Command(words=words(harm), env=ENV)
    return await check(Wanted(target=target, timeout=2, revisions=LEGACY[-1:], only=frozenset(only)))


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "sarif", "junit"])
def test_hostile_names_stay_text(cli: Cli, format_: str) -> None:
    only = [word for id_ in ONLY for word in ("--only", id_)]
    env = [word for name, value in ENV.items() for word in ("--env", f"{name}={value}")]
    options = ("--revision", "2025-11-25", "--timeout", 2, "--format", format_)
    told = cli("check", *only, *options, *env, "--", *words("Names"), expect=1).out
    assert "ping.answered" in told and "contract.internals" in told
    assert told.replace("\n", "").isprintable(), "no control character, no surrogate, no change of direction"
    assert not [line for line in told.splitlines() if line.startswith(("::", "# heading"))]
    if format_ in ("json", "sarif"):
        json.loads(told)
    elif format_ == "junit":
        assert list(ElementTree.fromstring(told).iter("testcase"))
    elif format_ == "markdown":
        assert "<b>" not in re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", told), "only in code, or escaped"


@pytest.mark.parametrize("harm", ["Malformed", "Flood", "Endless", "Asks", "Many"])
async def test_a_hostile_server_is_bounded(harm: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = await checked(harm, (*ONLY, "messages.schema-valid"))
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert found.revisions == ("2025-11-25",)
    assert after.ru_utime - before.ru_utime < 30, "seconds of CPU"
    assert after.ru_maxrss - before.ru_maxrss < 400 << 10, "KiB more than at most before"


@pytest.mark.parametrize("harm", ["Deep", "Twice"])
async def test_unusual_json_has_no_error(harm: str) -> None:
    found = await checked(harm)
    assert [each for each in found.findings if each.severity is Severity.ERROR] == []
