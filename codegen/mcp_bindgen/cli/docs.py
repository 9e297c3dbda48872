"""`mcp-bindgen docs`: the documentation that is installed with the tool, in the terminal."""

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from mcp_bindgen.cli.output import answer, answer_markdown, table
from mcp_bindgen.diagnostics import InputError, did_you_mean
from mcp_bindgen.paths import shipped

_COMMENT: Final = re.compile(r"^<!--.*?-->\n+", re.MULTILINE | re.DOTALL)
"""A comment for whoever maintains a page, such as the words that its search finds it by."""


def page_name(path: str) -> str:
    """Return the name of a page: ``docs/start/server.md`` is ``start/server``."""
    return path.removeprefix("docs/").removesuffix(".md")


def complete_page(incomplete: str) -> list[str]:
    """Complete the name of a page for the shell."""
    return [name for name in _pages() if name.startswith(incomplete)]


def docs(
    page: Annotated[
        str | None,
        typer.Argument(metavar="PAGE", help="A page; by default, the list of pages.", autocompletion=complete_page),
    ] = None,
) -> None:
    """Show a page of the documentation, formatted on a terminal and as Markdown elsewhere."""
    pages = _pages()
    if page is None:
        answer(table(("page", "title"), ((name, _title(path)) for name, path in pages.items())))
        return
    name = page_name(page)
    if name not in pages:
        hint = did_you_mean(name, pages) or "`mcp-bindgen docs` lists the pages"
        raise InputError.at(page, f"no such page; {hint}")
    answer_markdown(_COMMENT.sub("", pages[name].read_text("utf-8")))


def _pages() -> dict[str, Path]:
    folder = shipped("docs")
    return {page_name(path.relative_to(folder).as_posix()): path for path in sorted(folder.rglob("*.md"))}


def _title(path: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), "")
