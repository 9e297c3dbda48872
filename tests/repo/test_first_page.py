"""The first page and the README: a picture that follows the tree, and the numbers of `make compare`."""

import re

import pytest

from scripts import compare, picture
from support.documents import ROOT, blocks, pages, runnable

TABLE = re.compile(r"<!-- comparison -->\n(.*?)<!-- end -->", re.DOTALL)


def table_of(page: str) -> str:
    found = TABLE.search((ROOT / page).read_text("utf-8"))
    assert found
    return found[1]


def test_the_picture_follows_the_tree() -> None:
    assert picture.PICTURE.read_text("utf-8") == picture.drawn(), "make docs draws it"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_pages_show_the_same_numbers(page: str) -> None:
    assert table_of(page) == table_of("docs/compare.md")


def test_the_numbers_are_those_of_the_frameworks_that_make_compare_installs() -> None:
    heading, *rows = [line for line in table_of("docs/compare.md").splitlines() if line.startswith("| ")]
    for framework in compare.FRAMEWORKS:
        _, _, version = framework.requirement.partition("==")
        assert f" {framework.package} {version}" in heading
    assert [row.split("|")[1].strip() for row in rows] == [name for name, _ in compare.ROWS]


def test_servers_on_pages_run_only_as_programs() -> None:
    """Without the guard, `run`, `inspect` and tests that import the file would wait for a client."""
    texts = [(page, block.text) for page in pages() for block in blocks(page) if block.language == "python"]
    assert [page for page, text in texts if re.search(r"^app\.run\(|^mcp\.run\(", text, re.MULTILINE)] == []


@pytest.mark.parametrize("page", [page for page in pages() if page.startswith("docs/")])
def test_pages_say_where_code_that_awaits_outside_of_a_function_runs(page: str) -> None:
    texts = [block.text for block in blocks(page) if block.language == "python" and not block.reason]
    if any(runnable(text) != text for text in texts):
        assert "`python -m asyncio`" in (ROOT / page).read_text("utf-8")
