"""Turn documentation from untrusted files into safe docstrings."""

import re
import textwrap

from mcp_bindgen.diagnostics import printable

WIDTH = 110

_QUOTES = re.compile(r'"{3,}')
_LAST_QUOTES = re.compile(r'"{3,}|"\Z')


def docstring(paragraphs: str, indent: int = 0) -> str:
    """Return documentation as the content of a docstring that is indented by so many spaces.

    The content cannot end the docstring early. If it has several lines, the closing quotes are on a separate line.
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
    """Wrap lines that are too long; others stay unchanged, and continuation lines of list items are indented."""
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
