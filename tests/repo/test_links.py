"""Links of pages to files and headings of the repository lead somewhere."""

import re

import pytest

from support.documents import ROOT, pages

LINK = re.compile(r"\]\((?!https?://|mailto:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {word.replace(" ", "-") for word in words}


@pytest.mark.parametrize("page", pages())
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    path = ROOT / page
    broken: list[str] = []
    for link in LINK.finditer(FENCE.sub("", path.read_text("utf-8"))):
        target = path if not link["path"] else path.parent / link["path"]
        has_anchors = link["anchor"] and target.suffix == ".md" and target.exists()
        if not target.exists() or (has_anchors and link["anchor"] not in anchors(target.read_text("utf-8"))):
            broken.append(link[0])
    assert broken == []
