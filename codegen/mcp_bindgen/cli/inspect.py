"""`mcp-bindgen inspect`: what a server offers, or the result of one call.

The JSON output has ``revision``, ``info``, ``capabilities``, ``instructions``, what it lists with wire names
(``tools``, ``resources``, ``resourceTemplates``, ``prompts``) and ``notes`` on what could not be listed. With --call,
--read or --prompt it is the result with wire names.
"""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_bindgen.cli.help import words_behind
from mcp_bindgen.cli.options import FormatOption, Launch, MaskOption, PackageOption, TimeoutOption, revision_option
from mcp_bindgen.cli.output import answer, answer_json, table, wrapped
from mcp_bindgen.ir.diagnostics import InputError, clip, printable

if TYPE_CHECKING:
    from mcp_bindgen.live.output import ServerOutput

_HERE = "inspect"
MAX_TOLD = 500
"""The number of characters of a log message or a question that is shown while a call runs."""


def inspect(
    *,
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE[:NAME] | URL, KEY=VALUE...", help="The server, and arguments for --call or --prompt."
        ),
    ] = None,
    call: Annotated[str | None, typer.Option(metavar="TOOL", help="Call a tool with the arguments KEY=VALUE.")] = None,
    read: Annotated[str | None, typer.Option(metavar="URI", help="Read a resource.")] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="NAME", help="Get a prompt with the arguments KEY=VALUE.")
    ] = None,
    skills: Annotated[
        bool, typer.Option("--skills", help="List the skills, or load and verify the one of a URI.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Print every message in both directions to stderr.")] = False,
    revision: Annotated[str | None, revision_option("The revision to use; by default the newest one.")] = None,
    package: PackageOption = None,
    launch: Launch,
    timeout: TimeoutOption = 30,
    mask: MaskOption = True,
    format_: FormatOption = "text",
) -> None:
    """Show what a server offers, or call a tool, read a resource or get a prompt."""
    from mcp_bindgen.live.bindings import own_package, packages_of, revisions
    from mcp_bindgen.live.inspecting.arguments import server_and_arguments
    from mcp_bindgen.live.inspecting.forms import Forms
    from mcp_bindgen.live.inspecting.inspected import contents_text, seen_text, shortened, skills_text
    from mcp_bindgen.live.inspecting.visit import Visit
    from mcp_bindgen.live.mask import Mask, traced_text
    from mcp_bindgen.live.target import kept_variables, talk, target_of

    if package and revision:
        raise InputError.at(_HERE, "use only one of --revision and --package")
    packages = (own_package(package),) if package else packages_of(reversed(revisions(revision)))
    command, pairs = server_and_arguments(words or (), words_behind(context))
    if sum(wish is not None for wish in (call, read, prompt)) + skills > 1:
        raise InputError.at(_HERE, "use only one of --call, --read, --prompt and --skills")
    if skills and (len(pairs) > 1 or any(":" not in pair for pair in pairs)):
        raise InputError.at(pairs[0], "give at most one URI of a SKILL.md, such as skill://pdf-processing/SKILL.md")
    if pairs and not skills and call is None and prompt is None:
        raise InputError.at(pairs[0], "is not a file or a URL; give a program after --: inspect -- COMMAND...")
    server = launch.server(command, by="inspect")
    if server is None:
        raise InputError.at(_HERE, "give a server: a file, a URL, or a program after -- (inspect -- COMMAND...)")
    complaints: list[str] = []
    printed: list[str] = []
    masking = Mask.of(server.headers, server.env) if mask else Mask.off()
    is_watched = sys.stderr.isatty()

    def tell(line: str) -> None:
        _tell(clip(masking.text(line), MAX_TOLD))

    if is_watched and server.command and (kept := kept_variables(server.env)):
        tell(f"environment variables that the server does not get (--env NAME=VALUE): {', '.join(kept)}")

    async def visit(said: "ServerOutput") -> dict[str, Any]:
        visiting = Visit(
            target_of(server),
            said,
            timeout=timeout,
            packages=packages,
            trace=(lambda record: _tell(traced_text(record, masking))) if trace else None,
            tell=tell if is_watched else None,
            ask=Forms(said, tell).answer if is_watched and sys.stdin.isatty() else None,
            masked=mask,
        )
        try:
            if skills:
                return await visiting.skills(pairs[0] if pairs else None)
            return await visiting.asked(call, read, prompt, pairs)
        finally:
            complaints.extend(said.complaints)
            printed.extend(said.lines)

    found = talk(target_of(server), visit, timeout=timeout, failed="inspecting the server failed")
    for complaint in complaints:
        _tell(masking.text(complaint))
    is_done = call is not None or read is not None or prompt is not None or (skills and bool(pairs))
    shown = (masking.result if is_done else masking.listing)(found if format_ == "json" else shortened(found))
    if format_ == "json":
        answer_json(shown)
    elif is_done:
        answer(contents_text(shown))
    else:
        answer(wrapped(skills_text(shown, table) if skills else seen_text(shown, partial(table, indent="  "))))
    if found.get("isError") is True:
        for line in ("the server printed:", *printed) if printed else ():
            _tell(masking.text(line))
        raise typer.Exit(1)


def _tell(text: str) -> None:
    print(printable(text), file=sys.stderr)
