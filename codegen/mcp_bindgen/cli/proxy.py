"""`mcp-bindgen proxy`: relays and validates the messages between a client and a server.

The report has a line for each place at which a message breaks the protocol, and the beginning of the message. As JSON
it has an object on a line for each message: ``at`` (seconds since 1970), ``sender``, ``revision``, ``method``, ``id``,
``findings`` (each with ``pointer`` and ``reason``) and ``message``, its first characters.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Annotated, Final

import typer

from mcp_bindgen.cli.options import FormatOption, MaskOption
from mcp_bindgen.cli.output import Format
from mcp_bindgen.cli.split import words_behind
from mcp_bindgen.diagnostics import InputError, count

_STANDARD_ERROR: Final = 2


def proxy(
    *,
    context: typer.Context,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report to a file instead of standard error.")
    ] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 if a message violates the protocol.")] = False,
    mask: MaskOption = True,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Relay messages between a client and a server over stdio, and report each one that violates the protocol.

    Put `mcp-bindgen proxy --` before the server's command in the client's configuration.
    """
    from mcp_bindgen.live.proxy import run_proxy
    from mcp_bindgen.live.report import Report
    from mcp_bindgen.tool_clients.servers import is_url

    words = words_behind(context)
    if not words:
        raise InputError.at("proxy", "give the server's command after -- (proxy -- COMMAND...)")
    if is_url(words[0]):
        raise InputError.at(words[0], "is a URL; the proxy starts a program that uses stdio")
    with _opened(log) as out:
        report = Report(out, mask=mask, as_json=format_ is Format.JSON)
        passed = run_proxy(words, report.tell)
        if not passed.is_stuck:
            report.end(passed.broken)
            left = f", {passed.unjudged:,} not judged" if passed.unjudged else ""
            report.note(f"{count(passed.messages, 'message')}, {passed.broken:,} broken{left}; {passed.server}")
    if fail and passed.broken:
        raise typer.Exit(1)


@contextmanager
def _opened(log: Path | None) -> Generator[FileIO]:
    """Open the report unbuffered, so that the process can exit while a thread is still waiting to write."""
    if log is None:
        try:
            out = FileIO(_STANDARD_ERROR, "w", closefd=False)
        except OSError:  # the parent process closed it
            out = FileIO(os.devnull, "w")
        yield out
        return
    try:
        out = FileIO(log, "w")
    except OSError as error:
        raise InputError.at(log, f"cannot be written: {error.strerror}") from None
    try:
        yield out
    finally:
        with suppress(OSError):
            out.close()
