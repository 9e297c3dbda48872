"""`mcp-bindgen check`: what is found, how it is told, and that correct servers have no finding."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from check.odd_http import Breaks, serving
from support.command import Cli
from support.documents import ROOT
from support.programs import quick_python

UNDESCRIBED = {
    "sum_server.py": {"sum"},
    "tracker.py": {"close_issue", "get_issue", "import_issues", "open_issue", "search_issues"},
    "completion_server.py": set[str](),
    "eras_server.py": set[str](),
}
"""Our own servers: an App, a Server, and one class for each era; with the tools whose parameters are not described."""


def server(name: str = "", revision: str = "2025-11-25") -> tuple[str, ...]:
    """Return the options that check a server with a bug."""
    return ("--env", f"PYTHONPATH={ROOT / 'tests'}", "--", quick_python(), "-m", "check.bugs", revision, name)


def serious(found: dict[str, Any]) -> list[str]:
    return [each["requirement"] for each in found["findings"] if each["severity"] != "note"]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNDESCRIBED)
def test_our_servers_have_no_finding(cli: Cli, name: str, tmp_path: Path) -> None:
    """A note says which tools have undescribed parameters; nothing else is found, and everything is judged."""
    words = ("--tools", "*", "--cwd", tmp_path, "--format", "json", "--", quick_python(), ROOT / "examples" / name)
    found = cli("check", *words).json
    assert found_in(found) == {("contract.described", tool) for tool in UNDESCRIBED[name]}
    assert [each for each in found["not_judged"] if "out of time" not in each] == [] and len(found["revisions"]) >= 2
    assert found["calls"] <= 100 and found["messages"] <= 500


def found_in(found: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["requirement"], each["place"]) for each in found["findings"]}


@contextmanager
def over_http(*words: str, cwd: Path) -> Generator[str]:
    """Run an example over HTTP; yields its URL."""
    command = [quick_python(), "-m", "mcp_runtime", str(ROOT / "examples" / "tracker.py"), "--http"]
    with subprocess.Popen([*command, "--port", "0", *words], stderr=subprocess.PIPE, text=True, cwd=cwd) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


@pytest.mark.slow
def test_our_servers_over_http_have_no_finding(cli: Cli, tmp_path: Path) -> None:
    with over_http(cwd=tmp_path) as url:
        found = cli("check", url, "--tools", "*", "--format", "json").json
    assert found_in(found) == {("contract.described", tool) for tool in UNDESCRIBED["tracker.py"]}
    assert [each for each in found["not_judged"] if "out of time" not in each] == []
    assert found["revisions"] == ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
    assert found["probes"] > 100 and found["messages"] <= 500


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_server_that_dies_of_a_hostile_line_is_found(cli: Cli, revision: str) -> None:
    found = cli("check", "--robust", "--only", "robust.survives", "--format", "json", *server("", revision)).json
    assert "robust.survives" in serious(found), "the planted server takes each line for a message"


@pytest.mark.slow
def test_our_server_survives_hostile_clients(cli: Cli) -> None:
    words = ("--", quick_python(), ROOT / "examples" / "sum_server.py")
    only = [word for name in ("survives", "memory", "many", "ends") for word in ("--only", f"robust.{name}")]
    found = cli("check", "--robust", *only, "--format", "json", *words).json
    assert serious(found) == []


@pytest.mark.slow
def test_the_report_names_the_requirement_and_shows_the_messages(cli: Cli) -> None:
    told = cli("check", "--only", "ping.answered", *server("pong"), expect=1).out
    assert told.startswith("p 1: speaks 2025-11-25\n\nerror ping.answered (2025-11-25): ")
    assert "  the result of ping has pong; it must be empty\n" in told
    assert "  https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping\n  > {" in told
    again = next(line for line in told.splitlines() if line.startswith("  again: mcp-bindgen check "))
    assert f"--revision 2025-11-25 --only ping.answered --env PYTHONPATH={ROOT / 'tests'} -- " in again
    assert "1 error, 0 warnings, 0 notes; 1 probe, 0 calls of tools, " in told


@pytest.mark.slow
def test_the_formats_tell_the_same(cli: Cli, tmp_path: Path) -> None:
    baseline = tmp_path / "accepted.toml"
    baseline.write_text('[[accepted]]\nrule = "ping.answered"\npath = "*"\nreason = "nobody pings it"\n', "utf-8")

    def told(format_: str, *words: object, expect: int) -> str:
        only = ("--only", "ping.answered", "--format", format_)
        return cli("check", *only, *words, *server("pong"), expect=expect).out

    sarif = json.loads(told("sarif", expect=1))
    (result,) = sarif["runs"][0]["results"]
    assert (result["ruleId"], result["level"], "suppressions" in result) == ("ping.answered", "error", False)
    (case,) = ElementTree.fromstring(told("junit", expect=1)).iter("testcase")
    assert case.find("failure") is not None and case.get("classname") == "ping.answered"
    markdown = told("markdown", expect=1)
    assert "![MCP: 1 error, 0 warnings](https://img.shields.io/badge/MCP-1%20error" in markdown
    accepted = json.loads(told("json", "--baseline", baseline, expect=0))
    assert accepted["findings"] == [] and accepted["accepted"][0]["accepted"] == "nobody pings it"
    assert json.loads(told("sarif", "--baseline", baseline, expect=0))["runs"][0]["results"][0]["suppressions"]


HANGS = "import sys, time\nfor line in sys.stdin: time.sleep(60)"
UNAUTHORIZED = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(401); self.send_header("content-length", "0"); self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--", "/nonexistent/server"), "/nonexistent/server: cannot start /nonexistent/server: no such command"),
        (("--", "true"), "true: speaks no revision of MCP (true exited with status 0); run it by itself"),
        (("--", "sleep", "60"), "sleep: speaks no revision of MCP (no answer in time)"),
        (("--", sys.executable, "-c", HANGS), "speaks no revision of MCP (no answer in time)"),
        pytest.param(
            ("--", "yes"),
            "yes: speaks no revision of MCP (the server sent more than 10,000 messages or 64 MiB; it writes 'y', ",
            marks=pytest.mark.slow,
        ),
        (("--", "sh", "-c", "echo '{'; exec sleep 60"), "(no answer in time; it writes '{', which is not a message)"),
        ((), "check: give one server: a URL, or a command after -- (check -- COMMAND...)"),
        (("not-a-url",), "not-a-url: is not a URL; give a command after -- (check -- COMMAND...)"),
        (
            ("http://127.0.0.1:9/mcp",),
            "http://127.0.0.1:9/mcp: speaks no revision of MCP (the port refuses connections)",
        ),
        (
            ("--only", "nothing", "--", "true"),
            "--only: 'nothing' is not a requirement of servers; docs/requirements.md",
        ),
        (("--arguments", "/nonexistent.json", "--", "true"), "/nonexistent.json: cannot be read: No such file"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, words: tuple[str, ...], said: str) -> None:
    timeout = 30 if "yes" in words else 0.2  # a flood ends at its limit, which takes a slow machine longer
    told = cli("check", "--timeout", timeout, "--revision", "2025-11-25", *words, expect=2).err
    assert said in told and told.count("\n") == 1


def test_a_server_behind_authorization_is_one_line(cli: Cli) -> None:
    with subprocess.Popen([sys.executable, "-c", UNAUTHORIZED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
            told = cli("check", "--revision", "2025-11-25", url, expect=2).err
        finally:
            process.kill()
    assert f"cannot be checked: the server needs authorization (401); run: mcp-bindgen login {url}" in told
    assert told.count("\n") == 1


@pytest.mark.slow
def test_what_is_not_judged_for_one_reason_is_one_line(cli: Cli) -> None:
    with serving(Breaks) as url:
        told = cli("check", "--timeout", 2, url).out
    lines = [line for line in told.splitlines() if line.startswith("not judged: ")]
    assert len({line.rpartition(": ")[2] for line in lines}) == len(lines) > 0
    assert " probes of 2025-03-26, " in told and told.count("the status 502, and no message") == 1


def test_coverage_lists_what_no_probe_sees(cli: Cli) -> None:
    told = cli("check", "--coverage").out
    assert "modern.trace-context" in told and "ping.answered" not in told


def test_a_traceability_file_gets_our_requirements(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "sep-1.yaml"
    page = "https://modelcontextprotocol.io/specification/draft/server/utilities/caching"
    rows = "  - check: sep-1-a\n    text: Hints.\n  - text: No.\n    excluded: why\n"
    file.write_text(f"sep: 1\nspec_url: {page}\nrequirements:\n{rows}", "utf-8")
    checked, excluded = json.loads(cli("check", "--traceability", file).out)["requirements"]
    assert "alone.cache-hints" in checked["mcp-bindgen"] and excluded["mcp-bindgen"] == []
    exported = json.loads(cli("check", "--coverage", "--format", "json").out)["requirements"]
    assert {"check", "excluded"} == {key for each in exported for key in each} - {"text", "url"}
    file.write_text("- not a file of that kind\n", "utf-8")
    assert "has no requirements" in cli("check", "--traceability", file, expect=2).err


@pytest.mark.slow
def test_a_server_that_hangs_is_not_asked_for_every_revision(cli: Cli, tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'starts')!r}, 'a').write('.')\n{HANGS}"
    told = cli("check", "--timeout", 0.2, "--", sys.executable, "-c", script, expect=2).err
    assert "speaks no revision of MCP (no answer in time)" in told
    assert (tmp_path / "starts").read_text("utf-8") == "..", "one client of each era"
