"""The options of `mcp-bindgen diff`: filters, exit status, format, output file, baseline."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import jsonschema
import pytest

from mcp_bindgen.cli.diff import ReportFormat
from mcp_bindgen.diff.report import json as json_report
from mcp_bindgen.ingest.revisions import released
from support.command import Cli
from support.official import official_schema
from support.samples import HANDSHAKE

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads(Path(json_report.__file__).with_name("diff.schema.json").read_text("utf-8"))
RESULT = HANDSHAKE["InitializeResult"]
STRICT_RESULT = {**RESULT, "required": ["protocolVersion", "answer"]}
LOOSE_PARAMS: dict[str, Any] = {**HANDSHAKE["InitializeRequestParams"], "required": []}
ACCEPT = '[[accepted]]\nrule = "property-added-required"\npath = "*.answer"\nreason = "we default it"\n'


def write(path: Path, **changes: Any) -> Path:
    definitions = {**HANDSHAKE, **changes}
    path.write_text(json.dumps({"$defs": definitions}, indent=2), "utf-8")
    return path


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two schemas: the new one requires a property of a result and no longer requires one of a request."""
    monkeypatch.chdir(tmp_path)
    answer = {**STRICT_RESULT, "properties": {**RESULT["properties"], "answer": {"type": "string"}}}
    write(tmp_path / "old.json")
    write(tmp_path / "new.json", InitializeResult=answer, InitializeRequestParams=LOOSE_PARAMS)
    return "old.json", "new.json"


def answer_of(cli: Cli, *arguments: object, expect: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = cli("diff", *arguments, "--format", "json", expect=expect).json
    jsonschema.validate(answer, SCHEMA)
    return answer


def rules(answer: Mapping[str, Any]) -> set[str]:
    return {finding["rule"] for finding in answer["findings"] if finding["view"] == "wire"}


def test_role_and_peer_select_findings(cli: Cli, sides: tuple[str, str]) -> None:
    assert rules(answer_of(cli, *sides, expect=1)) == {"property-added-required", "property-now-optional"}
    assert rules(answer_of(cli, *sides, "--role", "server", expect=1)) == {
        "property-added-required",
        "property-now-optional",
    }
    only = answer_of(cli, *sides, "--role", "client")
    assert rules(only) == set()
    assert [peer["role"] for peer in only["verdict"]["peers"]] == ["client"]
    assert (
        "a client written for new.json against a old.json server: 2 breaks"
        in cli("diff", *sides, "--role", "client", "--peer", "older", expect=1).out
    )


def test_view_selects_findings(cli: Cli, sides: tuple[str, str]) -> None:
    assert all(f["view"] == "wire" for f in answer_of(cli, *sides, "--view", "wire", expect=1)["findings"])
    source = answer_of(cli, *sides, "--view", "source", expect=1)["findings"]
    assert all(f["view"] == "source" or f["breaks_source"] for f in source)


def test_fail_on_decides_the_exit_status(cli: Cli, sides: tuple[str, str]) -> None:
    answer_of(cli, *sides, "--fail-on", "never")
    answer_of(cli, *sides, "--fail-on", "new-revision", expect=1)
    answer_of(cli, sides[0], sides[0], "--fail-on", "new-revision")
    answer_of(cli, sides[0], sides[0], "--fail-on", "info")


def test_accepted_findings_are_reported_but_do_not_fail(cli: Cli, sides: tuple[str, str], tmp_path: Path) -> None:
    accepted = tmp_path / "accepted.toml"
    accepted.write_text(ACCEPT + '[severity]\nproperty-now-optional = "warning"\n', "utf-8")
    answer = answer_of(cli, *sides, "--baseline", accepted, "--view", "wire")
    assert {f["rule"]: (f["severity"], f["accepted"]) for f in answer["findings"]} == {
        "property-added-required": ("error", "we default it"),
        "property-now-optional": ("warning", None),
    }
    assert answer["counts"]["accepted"] == 1
    assert "accepted: we default it" in cli("diff", *sides, "--baseline", accepted).out
    cli("diff", *sides, "--baseline", accepted, "--fail-on", "warning", expect=1)


def test_an_expired_row_no_longer_accepts(
    cli: Cli, sides: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = tmp_path / "accepted.toml"
    accepted.write_text(f"{ACCEPT}expires = 2000-01-01\n[severity]\nproperty-now-optional = 'info'\n", "utf-8")
    stale = answer_of(cli, *sides, "--baseline", accepted, expect=1)["accepted"]["stale"]
    assert [(row["row"], row["why"].partition(":")[0]) for row in stale] == [(1, "expired on 2000-01-01")]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert answer_of(cli, *sides, "--baseline", accepted)["accepted"]["stale"] == []


def test_a_project_names_its_file_of_accepted_findings(cli: Cli, sides: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "ours.toml").write_text(ACCEPT + "[severity]\nproperty-now-optional = 'info'\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.mcp-bindgen]\nbaseline = "ours.toml"\n', "utf-8")
    assert answer_of(cli, *sides)["accepted"]["file"] == str(tmp_path / "ours.toml")
    (tmp_path / "ours.toml").write_text("[[accepted]]\nrule = 'nonsense'\n", "utf-8")
    outcome = cli("diff", *sides, expect=2)
    assert "ours.toml: [[accepted]] row 1: there is no rule 'nonsense'" in outcome.err
    assert "row 1: reason is missing" in outcome.err
    assert outcome.out == ""


def test_annotations_name_file_and_line(cli: Cli, sides: tuple[str, str], tmp_path: Path) -> None:
    lines = (tmp_path / "new.json").read_text("utf-8").splitlines()
    out = cli("diff", *sides, "--format", "github", "--view", "wire", expect=1).out
    (line,) = [line for line in out.splitlines() if line.startswith("::error title=property-added-required")]
    number = int(line.partition(",line=")[2].partition("::")[0])
    assert ",file=new.json,line=" in line
    assert lines[number - 1].strip().startswith('"answer"')
    answer = answer_of(cli, *(str(tmp_path / side) for side in sides), expect=1)
    assert {f["location"]["file"] for f in answer["findings"] if f["location"]} == {"new.json"}


def test_a_report_goes_to_a_file_whole_or_not_at_all(cli: Cli, sides: tuple[str, str], tmp_path: Path) -> None:
    outcome = cli("diff", *sides, "--format", "junit", "--output", "out.xml", expect=1)
    assert outcome.out == "wrote out.xml\n"
    assert ElementTree.parse(tmp_path / "out.xml").getroot().tag == "testsuites"
    before = {path.name for path in tmp_path.iterdir()}
    assert "cannot be written" in cli("diff", *sides, "--output", "no/out.txt", expect=2).err
    for place in (".", "/dev/null"):
        assert "not a regular file" in cli("diff", *sides, "--output", place, expect=2).err
    assert not Path("/dev/null").is_file()
    assert {path.name for path in tmp_path.iterdir()} == before
    (tmp_path / "out.xml").chmod(0o640)
    assert cli("diff", *sides, "--output", "out.xml", "--quiet", expect=1).out == ""
    assert (tmp_path / "out.xml").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "out.xml").read_text("utf-8").startswith("old.json to new.json: ")


def test_quiet_prints_nothing(cli: Cli, sides: tuple[str, str]) -> None:
    outcome = cli("diff", *sides, "--quiet", expect=1)
    assert (outcome.out, outcome.err) == ("", "")


@pytest.mark.parametrize("format_", get_args(ReportFormat))
def test_every_format_reports_real_revisions(cli: Cli, format_: ReportFormat) -> None:
    out = cli("diff", "2025-06-18", "2025-11-25", "--format", format_, expect=1).out
    assert "tasks/list" in out
    assert all(char == "\n" or char.isprintable() for char in out)


def test_json_for_real_revisions_matches_its_schema(cli: Cli) -> None:
    assert len(answer_of(cli, "2025-11-25", "2026-07-28", "--fail-on", "never")["findings"]) > 50


@pytest.mark.slow
def test_output_does_not_depend_on_hash_seeds() -> None:
    code = (
        "import sys\nfrom mcp_bindgen.cli.run import run\n"
        f"for format_ in {get_args(ReportFormat)}:\n"
        "    run(['diff', '2025-11-25', '2026-07-28', '--all', '--format', format_])\n"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outs) == 1
    assert len(outs.pop()) > 100_000


def test_the_documentation_names_every_option_and_format(cli: Cli) -> None:
    documented = (ROOT / "docs" / "diff.md").read_text("utf-8")
    options = set(re.findall(r"--[a-z-]+", cli("diff", "--help").out)) - {"--help"}
    assert len(options) > 10
    assert {option for option in options if option not in documented} == set()
    assert set(re.findall(r"^\| `(\w+)` \|", documented, re.MULTILINE)) == set(get_args(ReportFormat))


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize(("old", "new"), list(pairwise(released())))
def test_a_role_makes_the_report_shorter(cli: Cli, old: str, new: str, role: str) -> None:
    whole = cli("diff", old, new, "--fail-on", "never").out.splitlines()
    assert len(cli("diff", old, new, "--role", role, "--fail-on", "never").out.splitlines()) <= len(whole)


def test_advice_is_for_the_program_of_the_role(cli: Cli) -> None:
    for role, advice in (("client", "Accept forms that you do not know."), ("server", "Accept forms")):
        out = " ".join(cli("diff", "2024-11-05", "2025-03-26", "--role", role, "--fail-on", "never").out.split())
        assert f"union-member-added: A form was added to a value's type. {advice}" in out


@pytest.mark.parametrize("level", ["error", "warning", "info", "new-revision", "never"])
def test_junit_fails_when_the_exit_status_does(cli: Cli, level: str) -> None:
    done = cli(
        "diff", "2025-11-25", "2026-07-28", "--format", "junit", "--fail-on", level, expect=int(level != "never")
    )
    assert ("<failure" in done.out) is (level != "never")


@pytest.mark.parametrize("role", ["client", "server"])
def test_junit_fails_where_a_new_date_is_due_for_the_other_role(cli: Cli, role: str, tmp_path: Path) -> None:
    old = official_schema("2025-06-18")
    schema = json.loads(old.read_text("utf-8"))
    schema["definitions"]["Tool"]["required"].append("title")
    (tmp_path / "new.json").write_text(json.dumps(schema))
    sides = ("diff", old, tmp_path / "new.json", "--role", role, "--format", "junit")
    assert '<failure message="Tool.title' in cli(*sides, "--fail-on", "new-revision", expect=1).out
    assert ("<failure" in cli(*sides, expect=int(role == "server")).out) is (role == "server")
