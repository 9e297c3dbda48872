"""What a docstring says: the first paragraph, and the sections on arguments."""

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

from mcp_runtime.app.signature import Signature

_SECTION: Final = re.compile(
    r"^[ \t]*(?:(?P<google>(?:Args|Arguments|Parameters|Params):[ \t]*$)"
    r"|(?P<numpy>(?:Parameters|Other Parameters)[ \t]*\n[ \t]*-{3,}[ \t]*$)|(?P<sphinx>:param\b))",
    re.MULTILINE,
)
"""Where a docstring begins to describe arguments, by the style in which it does."""


def summary(function: Callable[..., Any]) -> str | None:
    """Return the first paragraph of a docstring on one line, None if there is none."""
    paragraph = (function.__doc__ or "").strip().partition("\n\n")[0]
    if _SECTION.match(paragraph):
        return None
    return " ".join(paragraph.split()) or None


def check_parser(signature: Signature) -> None:
    """Check that what reads the descriptions of arguments is there, if there are some.

    Raises:
        DefinitionError: it is not installed.
    """
    doc = signature.function.__doc__
    if doc and _SECTION.search(doc) and find_spec("griffe") is None:
        reason = (
            "its docstring describes arguments; pip install 'mcp-bindgen[app]' reads them, as Field(description=...)"
        )
        raise signature.error(f"{reason} would without it")


def argument_descriptions(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return what a docstring says of each argument, in the style of Google, numpy or Sphinx."""
    doc = function.__doc__
    style = _SECTION.search(doc) if doc else None
    if doc is None or style is None or style.lastgroup is None:
        return {}
    from inspect import cleandoc

    from griffe import Docstring, DocstringSectionKind

    wanted = (DocstringSectionKind.parameters, DocstringSectionKind.other_parameters)
    parser: Any = style.lastgroup
    sections = Docstring(cleandoc(doc)).parse(parser, warnings=False)
    found = [item for section in sections if section.kind in wanted for item in section.value]
    return {item.name: " ".join(item.description.split()) for item in found if item.description}
