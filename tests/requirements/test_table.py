"""The table of requirements itself: nothing in it is unproven, stale or out of date."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.check.requirements import LEGACY, MODERN, REVISIONS, Row, rows, span
from support.official import upstream
from support.requirement_table import PAGE, TRANSPORTS, proof_of, render, shown
from support.specification import Demand, demands

ROOT = PAGE.parents[1]
LEFT_OUT = tomllib.loads(Path(__file__).with_name("left_out.toml").read_text("utf-8"))["left"]


def test_each_requirement_is_shown_in_one_way() -> None:
    """By a test that names it, or an example, or not at all, with the reason."""
    ways = {row.id: [bool(proof_of(row)), bool(row.example), bool(row.reason)] for row in rows().values()}
    assert not {id_: found for id_, found in ways.items() if sum(found) != 1}
    assert not [row.id for row in rows().values() if row.example and not (ROOT / row.example).is_file()]


def test_each_requirement_is_well_formed() -> None:
    for row in rows().values():
        assert row.revisions and not set(row.must) & set(row.should), row.id
        assert row.who in ("client", "server", "both"), row.id
        assert row.text.endswith(".") and (not row.reason or row.reason.endswith(".")), row.id


def test_each_requirement_is_shown_in_all_its_revisions() -> None:
    missing = {row.id: set(row.revisions) - covered(row) for row in rows().values() if proof_of(row)}
    assert not {id_: revisions for id_, revisions in missing.items() if revisions}


def covered(row: Row) -> set[str]:
    """Return the revisions that the tests of a requirement run in."""
    found: set[str] = set()
    for test in proof_of(row):
        held = [rows()[id_].revisions for id_ in test.ids]
        found |= {revision for revision in REVISIONS if test.is_general or all(revision in each for each in held)}
    return found


@pytest.fixture
def demanded() -> list[Demand]:
    """The requirements on the pages of 2026-07-28, and on those about the transports of other revisions."""
    if not upstream().is_dir():
        pytest.skip(f"the official pages are not here: {upstream()} (set MCP_UPSTREAM)")
    found = [demand for revision in REVISIONS for demand in demands(revision)]
    found = [demand for demand in found if demand.revision == MODERN or demand.page == TRANSPORTS]
    assert {demand.revision for demand in found} == set(REVISIONS) and len(found) > 400
    return found


def is_left_out(demand: Demand, left: dict[str, str]) -> bool:
    page = left["page"]
    return (
        (demand.page.startswith(page) if page.endswith("/") else demand.page == page)
        and left.get("section", demand.section) == demand.section
        and demand.text.startswith(left.get("words", ""))
    )


def test_each_demand_has_a_row(demanded: list[Demand]) -> None:
    """A MUST belongs to a row that names its digest and its revision, or is left out for a reason."""
    named = {(revision, digest) for row in rows().values() for revision in row.must for digest in row.said}
    missing = {
        f"{demand.revision}, {demand.page}: {demand.text}": demand.digest
        for demand in demanded
        if (demand.revision, demand.digest) not in named and not any(is_left_out(demand, left) for left in LEFT_OUT)
    }
    assert not missing


def test_no_row_or_exception_is_about_a_demand_that_is_gone(demanded: list[Demand]) -> None:
    there = {demand.digest for demand in demanded}
    assert not {row.id: row.said for row in rows().values() if not there.issuperset(row.said)}
    assert not [left for left in LEFT_OUT if not any(is_left_out(demand, left) for demand in demanded)]


def test_each_row_names_a_sentence_of_each_revision_that_demands_it(demanded: list[Demand]) -> None:
    found = {row.id: {demand.revision for demand in demanded if demand.digest in row.said} for row in rows().values()}
    assert found == {row.id: set(checked(row)) for row in rows().values()}


def test_each_row_about_a_page_that_is_checked_names_a_sentence() -> None:
    assert not [row.id for row in rows().values() if bool(row.said) != bool(checked(row))]


def checked(row: Row) -> list[str]:
    """Return the revisions that demand what a row is about, on a page that is checked."""
    is_about_transports = row.page.partition(",")[0] == TRANSPORTS
    if row.page.startswith("extensions/"):
        return []
    return [revision for revision in row.must if revision == MODERN or is_about_transports]


def test_no_test_names_what_is_not_there() -> None:
    stale = {f"{test.node}: {id_}" for test in shown() for id_ in test.ids if id_ not in rows()}
    assert not stale


def test_what_tests_name_is_what_runs(request: pytest.FixtureRequest) -> None:
    """The tests are found by parsing; those that pytest collected must be among them, with the same ids."""
    read = {test.node: set(test.ids) for test in shown()}
    for item in request.session.items:
        ids = {str(id_) for mark in item.iter_markers("requirement") for id_ in mark.args}
        if ids:
            assert read[item.nodeid.partition("[")[0]] == ids


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render(), "docs/requirements.md is out of date: run make docs"


@pytest.mark.parametrize(
    ("text", "revisions"),
    [
        ("", ()),
        ("..", LEGACY),
        ("2025-06-18..", LEGACY[2:]),
        ("..2025-03-26", LEGACY[:2]),
        ("2025-03-26..2025-06-18", LEGACY[1:3]),
        ("2025-11-25", LEGACY[3:]),
        ("2026-07-28", REVISIONS[4:]),
        ("..2026-07-28", REVISIONS),
        ("2025-11-25..2026-07-28", REVISIONS[3:]),
    ],
)
def test_spans_of_revisions(text: str, revisions: tuple[str, ...]) -> None:
    assert span(text) == revisions


@pytest.mark.parametrize("text", ["2025", "2025-06-18..x"])
def test_a_revision_that_is_not_there(text: Any) -> None:
    with pytest.raises(ValueError):
        span(text)
