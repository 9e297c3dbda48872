"""The sentences of the specification that state a requirement; its pages are not part of this repository.

A sentence is identified by a digest of its page and its words, so that rows can refer to it without
repeating it. A list that follows a sentence with a colon is not part of it: several rows may name that sentence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from support.official import upstream

_DEMAND: Final = re.compile(r"\b(?:MUST|SHALL|REQUIRED)\b")
_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_ITEM: Final = re.compile(r"(?:[-*+]|\d+\.)\s+")
_END: Final = re.compile(r"(?<=[.!?:])\s+(?=[A-Z*`\[<])")


@dataclass(frozen=True, slots=True)
class Demand:
    """A sentence with a MUST, MUST NOT, SHALL or REQUIRED.

    Attributes:
        revision: the revision that states it.
        page: the page, without its suffix (``server/tools``).
        section: the last heading before the sentence.
        text: the sentence.
    """

    revision: str
    page: str
    section: str
    text: str

    @property
    def digest(self) -> str:
        """The digest by which rows refer to it; the same words on the same page have the same one in each revision."""
        return sha256(f"{self.page}\n{self.text}".encode()).hexdigest()[:10]


def specification(revision: str) -> Path:
    """Return the folder with the pages of a revision; it may not exist."""
    return upstream() / "specification" / revision


def demands(revision: str) -> Iterator[Demand]:
    """Find all requirements of a revision."""
    folder = specification(revision)
    for path in sorted(folder.rglob("*.mdx")):
        yield from _on(revision, path.relative_to(folder).with_suffix("").as_posix(), path.read_text("utf-8"))


def _on(revision: str, page: str, text: str) -> Iterator[Demand]:
    for section, block in _blocks(_FENCE.sub("", text)):
        for sentence in _END.split(block):
            if _DEMAND.search(sentence):
                yield Demand(revision, page, section, sentence)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Return paragraphs, items of lists and rows of tables, each in one line with its heading."""
    section, lines = "", list[str]()
    for line in map(str.strip, [*text.splitlines(), ""]):
        if lines and (not line or line[0] in "#|" or _ITEM.match(line)):
            yield section, " ".join(lines)
            lines = []
        if line.startswith("#"):
            section = line.strip("# ")
        elif line:
            lines.append(line)
