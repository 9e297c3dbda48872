"""The site: what `make site` checks is found, and its reference follows the code."""

import inspect
from pathlib import Path
from typing import Annotated

import pytest
from scripts.site import pages, reference
from scripts.site.accessible import mend
from scripts.site.annotations import addresses, simplify
from scripts.site.links import broken_links
from scripts.site.navigation import beside

from support.documents import ROOT
from support.public_api import doors

HEAD = '<link rel="stylesheet" href="style.css"><h1 id="top-of-page">A page</h1>'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<a href="other.html#there">x</a><a href="https://example.com/#any">x</a><img src="data:,x">', None),
        ('<a href="missing.html">x</a>', "index.html: there is no missing.html"),
        ('<a href="other.html#elsewhere">x</a>', "index.html: other.html#elsewhere leads to no anchor of that page"),
        ('<a href="#nowhere">x</a>', "index.html: #nowhere leads to no anchor of that page"),
        ('<script src="https://cdn.example.com/x.js"></script>', "index.html: fetches https://cdn.example.com/x.js"),
        ('<link rel="preconnect" href="//fonts.example.com">', "index.html: fetches //fonts.example.com"),
        ('<img src="missing.png">', "index.html: there is no missing.png"),
    ],
    ids=["fine", "page", "anchor", "own anchor", "script", "link", "image"],
)
def test_broken_links_and_requests_to_other_hosts_are_found(tmp_path: Path, body: str, expected: str | None) -> None:
    (tmp_path / "style.css").write_text("body { color: black; }")
    (tmp_path / "other.html").write_text(HEAD + '<p id="there">Here.</p>')
    (tmp_path / "index.html").write_text(HEAD + body)
    found = broken_links(tmp_path)
    assert [line.startswith(expected or "?") for line in found] == [True] * bool(expected), found


def test_stylesheets_fetch_nothing_from_other_hosts(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text("@font-face { src: url(https://fonts.example.com/a.woff2); }")
    assert broken_links(tmp_path) == ["style.css: fetches from another host"]


def test_unused_repairs_are_reported(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text("<pre>code</pre>")
    stale = mend([page])
    assert page.read_text() == '<pre tabindex="0">code</pre>'
    assert any("<aside" in line for line in stale) and not any("<pre>" in line for line in stale)


def test_annotations_are_shown_without_metadata() -> None:
    class Oven:
        __module__ = "mcp_oven"
        shelves: Annotated[int, object()]

        def bake(self, loaves: list[Annotated[int, object()]] | None) -> None: ...

    simplify([Oven])
    assert inspect.get_annotations(Oven) == {"shelves": int}
    assert inspect.get_annotations(Oven.bake) == {"loaves": list[int] | None, "return": type(None)}


def test_a_page_that_shows_the_address_of_an_object_is_reported(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.html", tmp_path / "bad.html"
    good.write_text("a mask of 0xff")
    bad.write_text("&lt;Tagged object at 0x7f9932347bd0&gt;")
    assert addresses([good, bad]) == ["bad.html shows the address of an object"]


def test_navigation_starts_at_the_page_and_is_open_there() -> None:
    def entry(address: str, classes: str = "toctree-l1", switch: str = "") -> str:
        return f'<li class="{classes}"><a class="reference internal" href="{address}">Title</a>{switch}'

    tree = (entry("a.html"), entry("b.html", switch="<input id=1/>"), entry("c/d.html"), entry("e.html"))
    assert beside("c/d", "\n".join(tree), {"c/d": "b", "b": "index", "a": "index"}).splitlines() == [
        entry("../a.html"),
        entry("../b.html", "toctree-l1 current", '<input checked="" id=1/>'),
        entry("#", "toctree-l1 current current-page"),
        entry("../e.html"),
    ]


class TestPages:
    def test_every_page_is_in_the_index(self) -> None:
        index = (ROOT / "docs" / pages.INDEX).read_text("utf-8")
        written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
        assert [page for page in sorted(written) if f"({page})" not in index and "decisions/" not in page] == [
            pages.INDEX
        ]

    def test_links_out_of_docs_lead_to_the_site_or_become_names(self) -> None:
        text = pages.handwritten(ROOT)["app.md"]
        assert "(examples/tracker_server.md)" in text
        assert "`tests/interop/peers/fastmcp_tracker.py`" in text

    def test_sections_of_the_index_become_the_navigation(self) -> None:
        index = "# Title\n\n## One\n\n- [First](a.md): text\n- [Second](b/c.md)\n\n## Two\n\n- [Third](d.md)\n"
        contents = pages.with_contents(index).removeprefix(index)
        assert ":caption: One\n\nFirst <a>\nSecond <b/c>\n```" in contents
        assert ":caption: Two\n\nThird <d>\n```" in contents


class TestReference:
    def test_every_public_name_of_the_runtime_is_there(self) -> None:
        found = reference.runtime_pages()
        for module, names in doors().items():
            page = found[f"api/{module}.rst"]
            assert [
                name
                for name in names
                if f"{module}.{name}" not in page and f"{name} <" not in page and f"``{name}``" not in page
            ] == []

    def test_constants_have_their_docstrings_wherever_they_are_defined(self) -> None:
        page = reference.runtime_pages()["api/mcp_runtime.extensions.tasks.rst"]
        _, _, after = page.partition(".. py:data:: mcp_runtime.extensions.tasks.OWNER\n")
        assert "   :value: 'tasks.owner'\n\n   The connection feature" in after

    def test_every_command_is_there_with_its_options(self) -> None:
        page = reference.command_page()
        for heading in (
            "## mcp-bindgen\n",
            "## mcp-bindgen diff\n",
            "## mcp-bindgen tools check\n",
            "## mcp-bindgen run\n",
        ):
            assert heading in page
        assert "--fail-on" in page and "--http" in page

    def test_every_example_has_a_page(self) -> None:
        found = reference.example_pages(ROOT / "examples")
        assert len(found) == len([*(ROOT / "examples").glob("*.py")])
        assert all(about.strip() for about in (text.split("\n\n")[1] for text in found.values()))
