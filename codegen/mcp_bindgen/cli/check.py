"""`mcp-bindgen check`: whether a server keeps the revisions that it speaks.

The JSON output: ``server``, ``revisions`` (those that it speaks), ``findings`` (each ``requirement``, ``severity``,
``revisions``, ``text``, ``reason``, ``page``, ``link``, ``messages``, ``again``), ``probes``, ``messages`` and
``not_judged``.
"""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_bindgen.cli.options import FormatOption, revision_option
from mcp_bindgen.cli.output import Format, answer_json, answer_verbatim, table
from mcp_bindgen.cli.split import words_behind
from mcp_bindgen.cli.tool_sources import CwdOption, EnvOption, TimeoutOption
from mcp_bindgen.diagnostics import InputError, clip, count
from mcp_bindgen.ingest.sources import is_url, public_name
from mcp_bindgen.live.bindings import revisions
from mcp_bindgen.tool_clients.servers import variables

if TYPE_CHECKING:
    from mcp_bindgen.check.findings import Finding
    from mcp_bindgen.check.run import Checked

MAX_TEXT = 300
"""The number of characters of a message that the report shows."""


def check(
    *,
    context: typer.Context,
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The server, over Streamable HTTP.")] = None,
    revision: Annotated[str | None, revision_option("Judge only this revision.")] = None,
    probe: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Run only the probe of this requirement; repeat for more.")
    ] = None,
    env: EnvOption = None,
    cwd: CwdOption = None,
    timeout: TimeoutOption = 10,
    coverage: Annotated[bool, typer.Option("--coverage", help="List the requirements that no probe can see.")] = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Check whether a server keeps the revisions that it speaks, each by what it requires.

    Only revisions that the server agrees to are judged. The exit status is 1 if it breaks a MUST.
    """
    from mcp_bindgen.check.probes import PROBES
    from mcp_bindgen.check.run import Wanted, run_check

    if coverage:
        answer_verbatim(_coverage())
        return
    words = words_behind(context)
    if bool(words) is (url is not None):
        raise InputError.at("check", "give one server: a URL, or a command after -- (check -- COMMAND...)")
    if url is not None and not is_url(url):
        raise InputError.at(url, "is not a URL; give a command after -- (check -- COMMAND...)")
    for id_ in probe or ():
        if id_ not in PROBES:
            raise InputError.at("--probe", f"{id_!r} has no probe; those are {', '.join(PROBES)}")
    server = public_name(url) if url else f"-- {shlex.join(words)}"
    found = run_check(
        Wanted(
            words=words,
            url=url or "",
            env=variables(env or ()),
            cwd=str(cwd) if cwd else None,
            timeout=timeout,
            only=frozenset(probe or ()),
            revisions=revisions(revision),
        )
    )
    if format_ is Format.JSON:
        answer_json(_facts(found, server))
    else:
        answer_verbatim("\n".join(_lines(found, server)) + "\n")
    raise typer.Exit(int(any(each.is_error for each in found.findings)))


def _facts(found: "Checked", server: str) -> dict[str, Any]:
    return {
        "server": found.server,
        "revisions": found.revisions,
        "findings": [
            {
                "requirement": each.requirement,
                "severity": "error" if each.is_error else "warning",
                "revisions": each.revisions,
                "text": each.row.text,
                "reason": each.reason,
                "page": each.row.page,
                "link": each.link,
                "messages": [{"sender": _sender(by_client), "text": text} for by_client, text in each.said],
                "again": _again(each, server),
            }
            for each in found.findings
        ],
        "probes": found.probes,
        "messages": found.messages,
        "not_judged": found.unjudged,
    }


def _sender(by_client: bool) -> str:
    return "client" if by_client else "server"


def _lines(found: "Checked", server: str) -> Iterator[str]:
    name = " ".join(str(found.server.get(key, "")) for key in ("name", "version")).strip() or server.removeprefix("-- ")
    yield _printable(f"{name}: speaks {', '.join(found.revisions)}")
    for each in found.findings:
        yield ""
        severity = "error" if each.is_error else "warning"
        yield f"{severity} {each.requirement} ({', '.join(each.revisions)}): {each.row.text}"
        yield _printable(f"  {each.reason}")
        yield f"  {each.link}"
        yield from (
            _printable(f"  {'>' if by_client else '<'} {clip(text, MAX_TEXT)}") for by_client, text in each.said
        )
        yield f"  again: {_again(each, server)}"
    errors = sum(each.is_error for each in found.findings)
    yield ""
    yield (
        f"{count(errors, 'error')}, {count(len(found.findings) - errors, 'warning')};"
        f" {count(found.probes, 'probe')}, {count(found.messages, 'message')}"
    )
    yield from (f"not judged, since our message was not valid: {_printable(each)}" for each in found.unjudged)


def _again(finding: "Finding", server: str) -> str:
    from mcp_bindgen.check.probes import PROBES

    probe = f" --probe {finding.requirement}" if finding.requirement in PROBES else ""
    return f"mcp-bindgen check --revision {finding.revisions[-1]}{probe} {server}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _coverage() -> str:
    from mcp_bindgen.check.probes import PROBES
    from mcp_bindgen.check.requirements import rows
    from mcp_bindgen.check.seen import seen

    covered = {*PROBES, *seen()}
    left = [row for row in rows().values() if row.who != "client" and row.id not in covered]
    page = table(("requirement", "what it requires"), [(row.id, row.text) for row in left])
    return f"{page}\n\n{len(covered)} requirements of servers are seen, {len(left)} are not\n"
