"""Checks the built pages: links that lead nowhere, and anything that a browser would fetch from another host."""

from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
"""Elements that fetch, with the attribute that says what; `link` does unless it is only a relation."""
RELATIONS = frozenset({"index", "search", "next", "prev", "up", "author", "help", "canonical"})


class _Page(HTMLParser):
    """The anchors of a page, where it leads, and what it fetches."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {"", "top"}
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one element refers to."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        elif tag == "link" and not RELATIONS & set(values.get("rel", "").split()):
            self.fetched.add(values["href"])
        elif tag in FETCHED and FETCHED[tag] in values:
            self.fetched.add(values[FETCHED[tag]])


def broken_links(root: Path) -> list[str]:
    """Return a line for each broken link between the pages below a folder, and for each request to another host."""
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    pages = {name: _Page((root / name).read_text("utf-8")) for name in sorted(files) if name.endswith(".html")}
    found: list[str] = []
    for name, page in pages.items():
        found += [f"{name}: fetches {url} from another host" for url in sorted(page.fetched) if _is_elsewhere(url)]
        for link in sorted(page.links | page.fetched):
            parts = urlsplit(link)
            if _is_elsewhere(link) or parts.scheme:
                continue
            target = normpath(join(dirname(name), unquote(parts.path))) if parts.path else name
            if target not in files:
                found.append(f"{name}: there is no {link}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link} leads to no anchor of that page")
    for style in sorted(root.rglob("*.css")):
        if "url(http" in style.read_text("utf-8") or "url(//" in style.read_text("utf-8"):
            found.append(f"{style.relative_to(root)}: fetches from another host")
    return found


def _is_elsewhere(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme not in ("", "data")
