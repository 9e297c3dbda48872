"""The tree of all pages beside each page.

The theme would make it again for each page, which is half of the time that the site takes; it is made once, and marked.
"""

import re
from collections.abc import Mapping
from posixpath import dirname, relpath

_ENTRY = re.compile(
    r'<li class="(?P<classes>[^"]*)"><a class="reference internal" href="(?P<address>[^"#]+)">'
    r"(?P<title>.*?)</a>(?P<switch><input )?"
)


def beside(page: str, tree: str, parents: Mapping[str, str]) -> str:
    """Return the tree for a page: its links start there, and the branches that lead to it are open.

    `tree` is the tree of the root page, and `parents` has the page above each page; pages are named without ".html".
    """
    above = [page]
    while above[-1] in parents:
        above.append(parents[above[-1]])

    def entry(found: re.Match[str]) -> str:
        classes, switch, title = found["classes"], found["switch"] or "", found["title"]
        name = found["address"].removesuffix(".html")
        if name in above:
            classes += " current current-page" if name == page else " current"
            switch = switch and f'{switch}checked="" '
        link = "#" if name == page else relpath(found["address"], dirname(page) or ".")
        return f'<li class="{classes}"><a class="reference internal" href="{link}">{title}</a>{switch}'

    return _ENTRY.sub(entry, tree)
