"""The first page and the README: a picture that follows the tree, and the numbers of `make compare`."""

import re

import pytest

from scripts import compare, picture
from support.documents import ROOT

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
