"""Turn documentation, which may come from any file, into docstrings that stay text."""

import re
import textwrap

from mcp_bindgen.diagnostics import printable

WIDTH = 110

_QUOTES = re.compile(r'"{3,}')
_LAST_QUOTES = re.compile(r'"{3,}|"\Z')


def docstring(paragraphs: str, indent: int = 0) -> str:
    """Return documentation as what stands between the quotes of a docstring, which is indented by so many spaces.

    Nothing in it can end the docstring early. If it takes several lines, the closing quotes get one of their own.
    """
    lines = _wrapped(printable(paragraphs.strip()), WIDTH - indent) or [""]
    escaped = [_escaped(line, _QUOTES) for line in lines[:-1]] + [_escaped(lines[-1], _LAST_QUOTES)]
    if len(escaped) == 1:
        return escaped[0]
    margin = " " * indent
    rest = [f"{margin}{line}" if line else "" for line in escaped[1:]]
    return "\n".join([escaped[0], *rest, margin])


def summary(paragraphs: str) -> str:
    """Return the first paragraph of documentation on one line."""
    return " ".join(paragraphs.strip().partition("\n\n")[0].split())


def _escaped(line: str, quotes: re.Pattern[str]) -> str:
    return quotes.sub(lambda found: '\\"' * len(found[0]), line.replace("\\", "\\\\"))


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap the lines that are too long; shorter ones stay as they are, and what belongs to an item is indented more."""
    wrapped: list[str] = []
    for line in text.splitlines():
        if len(line) <= width:
            wrapped.append(line.rstrip())
            continue
        lead = line[: len(line) - len(line.lstrip())]
        folded = textwrap.wrap(
            line.strip(),
            width,
            initial_indent=lead,
            subsequent_indent=f"{lead}    " if lead else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        wrapped += folded or [""]
    return wrapped
