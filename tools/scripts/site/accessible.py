"""Repairs HTML of the theme that a screen reader or a keyboard cannot use."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A piece of HTML, its replacement, and what was wrong with it."""

    found: str
    replacement: str
    reason: str


REPAIRS = (
    Repair(
        found=r'<p class="caption" role="heading">',
        replacement='<p class="caption" role="heading" aria-level="2">',
        reason="a heading has a level",
    ),
    Repair(
        found=r'<aside class="sidebar-drawer">',
        replacement='<aside class="sidebar-drawer" aria-label="Pages">',
        reason="two landmarks of a kind have names",
    ),
    Repair(
        found=r'<aside class="toc-drawer([^"]*)">',
        replacement=r'<aside class="toc-drawer\1" aria-label="On this page">',
        reason="two landmarks of a kind have names",
    ),
    Repair(
        found=r'<th class="head"><p></p></th>',
        replacement="<td></td>",
        reason="a header cell has text",
    ),
    Repair(
        found=r'<div class="table-wrapper',
        replacement='<div tabindex="0" class="table-wrapper',
        reason="a table that is wider than the screen scrolls by keyboard",
    ),
    Repair(
        found=r"<pre>",
        replacement='<pre tabindex="0">',
        reason="code that is wider than the screen scrolls by keyboard",
    ),
    Repair(
        found=r'<dl>\n((?:<dd><em class="sig-param">.*</dd>\n)+)</dl>',
        replacement=r'<span class="sig-lines">\n\1</span>',
        reason="a list of definitions has terms; these are the lines of a signature",
    ),
    Repair(
        found=r'<dd>(<em class="sig-param">.*)</dd>',
        replacement=r'<span class="sig-line">\1</span>',
        reason="the same",
    ),
    Repair(
        found=r'<div id="search-results"></div>',
        replacement='<h1>Search</h1>\n<div id="search-results"></div>',
        reason="a page has a heading",
    ),
)


def mend(paths: Iterable[Path]) -> list[str]:
    """Repair the pages, and return a line for each repair that none of them needs any longer."""
    used: set[str] = set()
    for path in paths:
        text = path.read_text("utf-8")
        for repair in REPAIRS:
            text, count = re.subn(repair.found, repair.replacement, text)
            used |= {repair.found} if count else set()
        path.write_text(text, "utf-8")
    return [f"no page has {repair.found}: remove its repair" for repair in REPAIRS if repair.found not in used]
