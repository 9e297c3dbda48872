"""`mcp-bindgen host`: the servers of a configuration file, what became of each, and their tools.

The JSON output has one object per server, by name: ``state``, ``error``, ``revision``, ``required``, ``tools`` (the
names that a model would call) and ``unusable`` (a line for each item that the server lists and that is not valid).
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_bindgen.cli.options import FormatOption, TimeoutOption
from mcp_bindgen.cli.output import answer_as, progress, table
from mcp_bindgen.ir.diagnostics import InputError, printable


def host(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration with mcpServers or servers.")],
    timeout: TimeoutOption = 30,
    format_: FormatOption = "text",
) -> None:
    """Start or reach all servers of a configuration, and show their states and tools.

    The exit status is 1 if a server that is marked `required` failed.
    """
    from mcp_bindgen.live.inspecting.listing import look, servers_text

    def asked(question: Any) -> str:
        text = printable(" ".join(str(question.get("description") or question["id"]).split()))
        found: str = typer.prompt(text, hide_input=question.get("password") is True, err=True)
        return found

    try:
        with progress() as step:
            seen = look(file, timeout, asked, step)
    except ValueError as error:
        raise InputError.at("host", str(error)) from None
    answer_as(format_, lambda: seen, lambda: servers_text(seen, table), quiet=False)
    if any(one["required"] and one["state"] != "ready" for one in seen.values()):
        raise typer.Exit(1)
