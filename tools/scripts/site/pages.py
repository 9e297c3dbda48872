"""The handwritten pages: their place on the site, and links that lead out of docs/."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

INDEX = "index.md"
_SECTION = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)
_WORDS = re.compile(r"^<!-- search: (?P<words>.+) -->$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s:#]+\.?\w*)(?P<anchor>#[^)\s]*)?\)")
"""A link, but not an image."""
_LISTED = re.compile(r"^- " + _LINK.pattern, re.MULTILINE)
"""A link at the beginning of an item of a list."""


def handwritten(root: Path) -> dict[str, str]:
    """Return the pages of docs/ and the files of the root that belong to the site, by path on the site."""
    found = {path.relative_to(root / "docs").as_posix(): path for path in sorted((root / "docs").rglob("*.md"))}
    found |= {"contributing.md": root / "CONTRIBUTING.md", "changelog.md": root / "CHANGELOG.md"}
    homes = {path.relative_to(root).as_posix(): page for page, path in found.items()}
    texts = {page: path.read_text("utf-8") for page, path in found.items()}
    return {
        page: _found_for(_relinked(text, page, found[page].relative_to(root), homes)) for page, text in texts.items()
    }


def with_contents(index: str) -> str:
    """Return the index with a table of contents for each section: the pages that it links to, in order."""
    starts = [*_SECTION.finditer(index)]
    contents = ""
    for section, following in zip(starts, [*starts[1:], None], strict=True):
        text = index[section.end() : following.start() if following else len(index)]
        links = [link for link in _LISTED.finditer(text) if link["target"].endswith(".md")]
        if not links:
            continue
        entries = "\n".join(f"{link['text']} <{link['target'].removesuffix('.md')}>" for link in links)
        contents += f"\n```{{toctree}}\n:hidden:\n:caption: {section['title']}\n\n{entries}\n```\n"
    return index + contents


def _found_for(text: str) -> str:
    """Return a page with main entries of the index for the words in its comments: the search lists these first."""

    def entries(match: re.Match[str]) -> str:
        return f"```{{index}} {', '.join(f'! {word}' for word in match['words'].split(', '))}\n```"

    return _WORDS.sub(entries, text)


def _relinked(text: str, page: str, path: Path, homes: Mapping[str, str]) -> str:
    """Return a page whose links to files of the repository lead to pages of the site, or are plain names."""

    def replaced(link: re.Match[str]) -> str:
        target = _resolved(PurePosixPath(path.as_posix()).parent, link["target"])
        home = homes.get(target) or _example(target)
        if home is None:
            return f"`{target}`"
        up = "../" * page.count("/")
        return f"[{link['text']}]({up}{home}{link['anchor'] or ''})"

    return _LINK.sub(replaced, text)


def _example(target: str) -> str | None:
    """Return the page of an example, or that of all for their folder."""
    path = PurePosixPath(target)
    if target == "examples":
        return "examples.md"
    return f"examples/{path.stem}.md" if path.parent.name == "examples" and path.suffix == ".py" else None


def _resolved(folder: PurePosixPath, target: str) -> str:
    """Return a path below the root of the repository, without its dots."""
    parts: list[str] = []
    for part in [*folder.parts, *PurePosixPath(target).parts]:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
