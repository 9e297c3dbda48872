"""Reads docstrings: the first paragraph, and the sections on arguments."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from warnings import warn

_SECTION: Final = re.compile(
    r"^[ \t]*(?:(?P<google>(?:Args|Arguments|Parameters|Params):[ \t]*$)"
    r"|(?P<numpy>(?:Parameters|Other Parameters)[ \t]*\n[ \t]*-{3,}[ \t]*$)|(?P<sphinx>:param\b))",
    re.MULTILINE,
)
"""Where a docstring begins to describe arguments, in each style."""


def summary(function: Callable[..., Any]) -> str | None:
    """Return the first paragraph of a docstring on one line, or None."""
    paragraph = (function.__doc__ or "").strip().partition("\n\n")[0]
    if _SECTION.match(paragraph):
        return None
    return " ".join(paragraph.split()) or None


def argument_descriptions(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return a docstring's description of each argument, in Google, numpy or Sphinx style."""
    doc = function.__doc__
    style = _SECTION.search(doc) if doc else None
    if doc is None or style is None or style.lastgroup is None:
        return {}
    from inspect import cleandoc

    try:
        from griffe import Docstring, DocstringSectionKind
    except ModuleNotFoundError:
        warn("griffe is not installed, so descriptions of arguments in docstrings are not sent", stacklevel=2)
        return {}

    wanted = (DocstringSectionKind.parameters, DocstringSectionKind.other_parameters)
    parser: Any = style.lastgroup
    sections = Docstring(cleandoc(doc)).parse(parser, warnings=False)
    found = [item for section in sections if section.kind in wanted for item in section.value]
    return {item.name: " ".join(item.description.split()) for item in found if item.description}
