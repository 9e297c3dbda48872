"""`mcp-bindgen proxy`: relays and validates the messages between a client and a server.

The report has a line for each place at which a message breaks the protocol, and the beginning of the message. As JSON
it has an object on a line for each message: ``at`` (seconds since 1970), ``sender``, ``revision``, ``method``, ``id``,
``findings`` (each with ``pointer``, ``reason`` and ``warning``) and ``message``, its first characters.
"""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.help import one_server
from mcp_bindgen.cli.options import FormatOption, HeaderOption, MaskOption, port_option
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import InputError


def proxy(
    *,
    context: typer.Context,
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The server, to be reached over HTTP.")] = None,
    port: Annotated[int, port_option()] = 8000,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="The client of a URL uses standard input and output, not HTTP.")
    ] = False,
    http: Annotated[
        bool,
        typer.Option("--http", help="Clients of a command connect over HTTP, each session to a process of its own."),
    ] = False,
    header: HeaderOption = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report to a file instead of standard error.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record every message, whole, for `mcp-bindgen mock --session`.")
    ] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 if a message violates the protocol.")] = False,
    mask: MaskOption = True,
    format_: FormatOption = "text",
) -> None:
    """Relay messages between a client and a server, and report each one that violates the protocol.

    Put `mcp-bindgen proxy --` before the server's command in the client's configuration. For a server with a URL, let
    the client connect to the URL that the proxy prints, or start `mcp-bindgen proxy --stdio URL`. For HTTP clients of
    a command, `mcp-bindgen proxy --http -- COMMAND` prints such a URL.
    """
    from mcp_bindgen.live.recording.record import Recorder
    from mcp_bindgen.live.relaying.proxy import run_proxy
    from mcp_bindgen.live.report import FindingLines, opened
    from mcp_bindgen.live.target import Endpoint
    from mcp_bindgen.tool_clients.servers import headers

    words = one_server(context, url, "proxy")
    if words and is_url(words[0]):
        raise InputError.at(words[0], "is a URL; write it before --")
    if not stdio and header:
        raise InputError.at("--header", "is for --stdio; over HTTP, the client sends its own headers")
    if stdio and url is None:
        raise InputError.at("--stdio", "is for a server with a URL: proxy --stdio URL")
    if http and not words:
        raise InputError.at("--http", "is for a command: proxy --http -- COMMAND; clients of a URL use HTTP anyway")
    if http and shutil.which(words[0]) is None:
        raise InputError.at(words[0], "cannot be started: no such command, or not executable")
    with opened(log) as out:
        report = FindingLines(out, mask=mask, as_json=format_ == "json")
        recorder = None if record is None else Recorder(record, mask=mask)
        take = None if recorder is None else recorder.take
        if url is not None and stdio:
            from mcp_bindgen.live.relaying.stdio_to_http import run_stdio_to_http

            passed = run_stdio_to_http(Endpoint(url=url, headers=headers(header or ())), report.tell, take)
        elif url is not None or http:
            from mcp_bindgen.live.relaying.http_proxy import UrlRelay
            from mcp_bindgen.live.relaying.http_to_stdio import StdioRelay

            relay = StdioRelay(words, report.tell, take) if url is None else UrlRelay(url, report.tell, take)
            passed = relay.serve(port, lambda place: report.note(f"connect to {place}"))
        else:
            passed = run_proxy(words, report.tell, take)
        if not passed.is_stuck:
            report.end()
            report.note(passed.summary)
        if recorder is not None:
            recorder.close()
    if fail and passed.broken:
        raise typer.Exit(1)
