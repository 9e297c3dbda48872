"""`mcp-bindgen check`: whether a server keeps the revisions that it speaks.

The JSON output: ``server``, ``revisions`` (those that it speaks), ``clean`` (those without an error), ``findings`` and
``accepted`` (each ``requirement``, ``severity``, ``place``, ``revisions``, ``text``, ``reason``, ``also``, ``link``,
``messages``, ``again``, ``fingerprint``), ``probes``, ``calls``, ``messages``, ``not_judged`` and ``stale``.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

from mcp_bindgen.cli.help import one_server
from mcp_bindgen.cli.options import BaselineOption, Launch, OutputOption, TimeoutOption, revision_option, seed_option
from mcp_bindgen.cli.output import answer_document, progress, table
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.live.bindings import revisions

TIMEOUT: Final = 10.0
"""Seconds to wait for an answer."""


CheckFormat: TypeAlias = Literal["text", "json", "markdown", "sarif", "junit"]
"""The formats of the report."""


def check(
    *,
    context: typer.Context,
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The server, over Streamable HTTP.")] = None,
    revision: Annotated[str | None, revision_option("Judge only this revision.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Run only the probes of this requirement; repeat for more.")
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Call tools of these names, too, not only read-only ones; repeat for more."),
    ] = None,
    arguments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known good arguments: JSON, lists of objects by tool.")
    ] = None,
    calls: Annotated[int, typer.Option(min=0, metavar="N", help="The maximum number of calls of tools.")] = 100,
    seed: Annotated[int, seed_option()] = 0,
    robust: Annotated[bool, typer.Option("--robust", help="Also send hostile messages, and many at once.")] = False,
    launch: Launch,
    timeout: TimeoutOption = TIMEOUT,
    baseline: BaselineOption = None,
    coverage: Annotated[bool, typer.Option("--coverage", help="List the requirements that no probe can see.")] = False,
    traceability: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Say which requirements of a file sep-NNNN.yaml are checked.")
    ] = None,
    output: OutputOption = None,
    format_: Annotated[CheckFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Check whether a server keeps the revisions that it speaks, each by what it requires.

    Only revisions that the server agrees to are judged. The exit status is 1 if it breaks a MUST.
    """
    from mcp_bindgen.check import report as reports
    from mcp_bindgen.check.arguments import known_arguments
    from mcp_bindgen.check.probe import ToolOptions
    from mcp_bindgen.check.requirements import known
    from mcp_bindgen.check.run import check as run
    from mcp_bindgen.check.selection import Wanted
    from mcp_bindgen.check.traceability import coverage_text, exported, traced
    from mcp_bindgen.findings.baseline import Baseline, read_baseline, today
    from mcp_bindgen.findings.severity import Severity
    from mcp_bindgen.live.mask import Mask
    from mcp_bindgen.live.target import target_of

    if coverage or traceability:
        listed = exported() if format_ == "json" else coverage_text(table)
        answer_document(traced(traceability) if traceability else listed, output)
        return
    words = one_server(context, url, "check")
    for id_ in only or ():
        if id_ not in known():
            raise InputError.at("--only", f"{id_!r} is not a requirement of servers; docs/requirements.md lists them")
    server = launch.server([url] if url else words, by="check")
    assert server is not None, "there is a URL or a command"
    accepted = read_baseline(baseline, today(), known()) if baseline else Baseline()
    options = ToolOptions(globs=tuple(tools or ()), known=known_arguments(arguments), seed=seed, limit=calls)
    paths = {name: [str(path)] for name, path in (("arguments", arguments), ("cwd", launch.cwd)) if path}
    paths |= {} if timeout == TIMEOUT else {"timeout": [f"{timeout:g}"]}
    paths |= {"seed": [str(seed)]} if seed else {}
    typed = _typed(tools=tools, env=launch.env, header=launch.header, **paths)
    wanted = Wanted(
        target=target_of(server),
        timeout=timeout,
        only=frozenset(only or ()),
        revisions=revisions(revision),
        tools=options,
        is_robust=robust,
        typed=tuple(map(Mask.of({}, server.env).text, typed)),
    )
    with progress() as step:
        found = reports.Report(asyncio.run(run(wanted, step)), wanted, accepted)
    answer_document(reports.RENDERERS[format_](found), output)
    raise typer.Exit(int(found.number(Severity.ERROR) > 0))


def _typed(**options: list[str] | None) -> tuple[str, ...]:
    """Return options as they were typed, each with its values."""
    return tuple(word for name, values in options.items() for each in values or () for word in (f"--{name}", each))
