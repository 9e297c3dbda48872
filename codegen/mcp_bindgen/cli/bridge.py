"""`mcp-bindgen bridge`: how messages are translated for peers of other revisions, and what is lost.

The JSON output is a list with an object for each pair of adjacent revisions on the path: ``old``, ``new``, ``entries``
(each has ``rule``, ``place``, ``old``, ``new``, ``kind``, ``reason``, and ``down`` and ``up``, which say what a peer of
the older and of the newer revision receives), and ``framing`` (``place``, ``rules``, ``says``), which the session
handles.
"""

import json
from collections.abc import Callable
from typing import Annotated

import typer

from mcp_bindgen.cli.options import OutputOption, QuietOption, revision_argument
from mcp_bindgen.cli.output import PageFormat, answer_page


def bridge(
    *,
    old: Annotated[str, revision_argument("OLD", "A released revision.")],
    new: Annotated[str, revision_argument("NEW", "Another one.")],
    output: OutputOption = None,
    quiet: QuietOption = False,
    format_: Annotated[PageFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Print how messages of one revision become messages of another, and what is lost in each direction.

    Revisions that are not adjacent are bridged through those between them.
    """
    from mcp_bindgen.bridge import report
    from mcp_bindgen.bridge.emit import between

    found = between(old, new)
    text: dict[PageFormat, Callable[[], str]] = {
        "json": lambda: json.dumps([report.as_json(pair) for pair in found], indent=2),
        "markdown": lambda: report.markdown(found),
        "text": lambda: report.text(found),
    }
    answer_page(format_, text, output, quiet=quiet)
