"""Baselines: accepted findings and overridden severities."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from mcp_bindgen.diff.rules import RULES
from mcp_bindgen.findings.baseline import Baseline, Row, read_baseline, today
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import InputError
from support.findings import finding

DAY = date(2026, 7, 1)
GOOD = 'rule = "type-changed"\npath = "*"\nreason = "known"\n'


def read(folder: Path, text: str, day: date = DAY) -> Baseline:
    path = folder / "accepted.toml"
    path.write_text(text, "utf-8")
    return read_baseline(path, day, RULES.keys())


def test_a_file_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, f'[[accepted]]\n{GOOD}expires = 2027-01-31\n[severity]\nconstraint-added = "info"\n')
    assert found.rows == (Row(number=1, rule="type-changed", path="*", reason="known", expires=date(2027, 1, 31)),)
    assert found.severities == {"constraint-added": Severity.INFO}
    assert read(tmp_path, "").rows == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[accepted]]\nrule = 'type-changed'\npath = '*'\n", "[[accepted]] row 1: reason is missing: say why"),
        (
            f"[[accepted]]\n{GOOD}[[accepted]]\n{GOOD}reason = ' '".replace('reason = "known"\nreason', "reason"),
            "row 2: reason must be a non-empty string",
        ),
        (
            f"[[accepted]]\n{GOOD}".replace("type-changed", "type-change"),
            "no rule 'type-change'; did you mean type-changed?",
        ),
        (f"[[accepted]]\n{GOOD}".replace("type-changed", "x"), "no rule 'x'; `mcp-bindgen rules` lists all rules"),
        (f"[[accepted]]\n{GOOD}pattern = 'x'", "row 1: unknown key pattern; the keys are rule, path, reason"),
        (f"[[accepted]]\n{GOOD}expires = '2027-01-31'", "row 1: expires must be a date without quotes"),
        (f"[[accepted]]\n{GOOD}expires = 2027-01-31T00:00:00Z", "row 1: expires must be a date without quotes"),
        (f"[[accepted]]\n{GOOD}".replace('"*"', f'"{"*" * 9}"'), "path has more than 8 stars"),
        (f"[accepted]\n{GOOD}", "accepted: must be a list of tables"),
        ("accepted = [1]", "row 1: must be a table with the keys"),
        ("ignored = []", "ignored: unknown key"),
        ("severity = 1", "severity: must be a table"),
        ("[severity]\ntype-changed = 'fatal'", "[severity] type-changed: must be one of error, warning, info"),
        ("[severity]\ntype-changed = ['info']", "[severity] type-changed: must be one of error, warning, info"),
        ("[severity]\ntype-changes = 'info'", "[severity] type-changes: there is no rule"),
        ("[[accepted", "not valid TOML"),
        ("x = '" + "y" * 1024 * 1024 + "'", "larger than 1024 KiB"),
    ],
)
def test_mistakes_are_named_with_file_and_row(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert f"error: {tmp_path}/accepted.toml: " in str(caught.value)
    assert expected in str(caught.value)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, "[[accepted]]\nrule = 'x'\npath = '*'\n[[accepted]]\n")
    assert len(caught.value.diagnostics.errors) == 5


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        read_baseline(tmp_path / "none.toml", DAY, RULES.keys())


@pytest.mark.parametrize(
    ("path", "place", "matches"),
    [
        ("Tool.x", "Tool.x", True),
        ("Tool.x", "Tool.xy", False),
        ("Tool.x", "ATool.x", False),
        ("Tool?x", "Tool.x", True),
        ("*.x", "Tool.inner.x", True),
        ("Tool.x[]", "Tool.x[]", True),
        ("Tool.x[].y[]", "Tool.x[].y[]", True),
        ("Tool.[ab]", "Tool.a", False),
        ("*{}", "Tool.x{}", True),
        ("*", "Tool.a\nb", True),
    ],
)
def test_a_pattern_matches_places(path: str, place: str, matches: bool) -> None:
    row = Row(number=1, rule="type-changed", path=path, reason="x")
    assert row.matches(finding("type-changed", place)) is matches
    assert row.matches(replace(finding("type-changed", "Other.name"), now=place)) is (matches or path == "*")
    assert not row.matches(finding("const-changed", place))


@pytest.mark.parametrize(("expires", "accepts"), [(date(2026, 7, 2), True), (DAY, False), (date(2026, 6, 30), False)])
def test_a_row_expires_at_the_start_of_its_day(expires: date, accepts: bool) -> None:
    row = Row(number=1, rule="type-changed", path="*", reason="x", expires=expires)
    found = Baseline(source="a", rows=(row,), today=DAY)
    assert (found.row_of(finding("type-changed")) is row) is accepts
    assert [stale.why.partition(":")[0] for stale in found.stale([finding("type-changed")])] == (
        [] if accepts else [f"expired on {expires}"]
    )


def test_the_date_can_be_set_in_the_environment() -> None:
    assert today({"SOURCE_DATE_EPOCH": "86400"}) == date(1970, 1, 2)
    before = datetime.now(UTC).date()
    assert before <= today({}) <= datetime.now(UTC).date()
    for text in ("tomorrow", "9" * 30):
        with pytest.raises(InputError, match="SOURCE_DATE_EPOCH"):
            today({"SOURCE_DATE_EPOCH": text})
