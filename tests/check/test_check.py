"""`mcp-bindgen check`: bugs of a server are found under their requirements, and correct servers have no finding."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Cli
from support.documents import ROOT

BROKEN = Path(__file__).with_name("broken_server.py")
BUGS = {
    "noise": ("stdio.stdout-clean", "error"),
    "no-ping": ("ping.answered", "error"),
    "pong": ("ping.answered", "error"),
    "int-ids": ("messages.answer-id", "error"),
    "answers-all": ("messages.notification-no-answer", "error"),
    "answers-cancel": ("cancellation.invalid-ignored", "warning"),
    "any-cursor": ("pagination.invalid", "warning"),
    "undeclared": ("tools.declared", "error"),
    "no-schema": ("messages.base-protocol", "error"),
    "no-info": ("messages.base-protocol", "error"),
    "no-batches": ("batches.received", "error"),
    "both": ("messages.result-or-error", "error"),
    "dies": ("ping.answered", "error"),
}
"""Each bug of broken_server.py, and the one finding that it has."""


@pytest.mark.parametrize("bug", ["", "pages"])
def test_a_correct_server_has_no_finding(cli: Cli, bug: str) -> None:
    found = cli("check", "--timeout", 1, "--format", "json", "--", sys.executable, BROKEN, bug).json
    assert found["findings"] == [] and found["not_judged"] == []
    assert found["revisions"] == ["2025-03-26", "2025-06-18", "2025-11-25"], "what it negotiates, and nothing else"
    assert found["probes"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_one_finding_under_its_requirement(cli: Cli, bug: str) -> None:
    requirement, severity = BUGS[bug]
    words = ("--", sys.executable, BROKEN, bug)
    status = 1 if severity == "error" else 0
    found = cli("check", "--timeout", 0.5, "--format", "json", *words, expect=status).json
    assert [(each["requirement"], each["severity"]) for each in found["findings"]] == [(requirement, severity)]
    (finding,) = found["findings"]
    assert finding["messages"] and finding["link"].startswith("https://modelcontextprotocol.io/specification/20")
    again = finding["again"].split(" -- ")[0].split()[1:]
    repeated = cli(*again, "--timeout", 0.5, "--format", "json", *words, expect=status).json
    assert requirement in [each["requirement"] for each in repeated["findings"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum_server.py", "tracker.py", "completion_server.py", "eras_server.py"])
def test_our_servers_have_no_finding(cli: Cli, name: str, tmp_path: Path) -> None:
    found = cli("check", "--cwd", tmp_path, "--format", "json", "--", sys.executable, ROOT / "examples" / name).json
    assert found["findings"] == [] and found["not_judged"] == []
    assert len(found["revisions"]) >= 2


@pytest.mark.slow
def test_our_servers_over_http_have_no_finding(cli: Cli, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mcp_bindgen", "run", str(ROOT / "examples" / "tracker.py"), "--http", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        url = line.split()[-1]
        try:
            found = cli("check", url, "--timeout", 2, "--format", "json").json
        finally:
            server.terminate()
    assert found["findings"] == [] and found["not_judged"] == []
    assert found["revisions"] == ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


def test_the_report_names_the_requirement_and_shows_the_messages(cli: Cli) -> None:
    told = cli(
        "check", "--timeout", 0.5, "--probe", "ping.answered", "--", sys.executable, BROKEN, "no-ping", expect=1
    ).out
    assert told.startswith("broken 1: speaks 2025-03-26, 2025-06-18, 2025-11-25\n\nerror ping.answered (2025-03-26, ")
    assert "  a ping is answered by the error -32601\n" in told
    assert "  https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping\n  > {" in told
    assert told.endswith("1 error, 0 warnings; 3 probes, 19 messages\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--", "/nonexistent/server"), "/nonexistent/server: cannot be started: No such file or directory"),
        (("--", sys.executable, "-c", "pass"), "speaks no revision of MCP (the server has ended); run it by itself"),
        (("--", "sleep", "60"), "sleep: speaks no revision of MCP (no answer in time)"),
        (("--", "yes"), "yes: speaks no revision of MCP (the server sent more than 10,000 messages)"),
        ((), "check: give one server: a URL, or a command after -- (check -- COMMAND...)"),
        (("not-a-url",), "not-a-url: is not a URL; give a command after -- (check -- COMMAND...)"),
        (("http://127.0.0.1:9/mcp",), "speaks no revision of MCP (the server cannot be reached: ConnectError)"),
        (("--probe", "nothing", "--", "true"), "--probe: 'nothing' has no probe; those are ping.answered, "),
    ],
)
def test_bad_input_is_one_line(cli: Cli, words: tuple[str, ...], said: str) -> None:
    told = cli("check", "--timeout", 0.2, "--revision", "2025-11-25", *words, expect=2).err
    assert said in told and told.count("\n") == 1


def test_coverage_lists_what_no_probe_sees(cli: Cli) -> None:
    told = cli("check", "--coverage").out
    assert "modern.stateless" in told and "ping.answered" not in told


def test_probes_are_about_requirements_that_apply() -> None:
    from mcp_bindgen.check.probes import PROBES
    from mcp_bindgen.check.requirements import rows

    for id_, probe in PROBES.items():
        assert set(probe.revisions) <= set(rows()[id_].revisions) and rows()[id_].who in ("server", "both")
    assert json.dumps(sorted(PROBES))
