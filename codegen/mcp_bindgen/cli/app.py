"""The commands and their help."""

from typing import Annotated, Any

import typer

from mcp_bindgen.cli.bridge import bridge
from mcp_bindgen.cli.check import check
from mcp_bindgen.cli.diff import diff, rules
from mcp_bindgen.cli.export import export
from mcp_bindgen.cli.gateway import gateway
from mcp_bindgen.cli.generate import generate
from mcp_bindgen.cli.help import CommandGroup, StartsCommand, Task, docs, more
from mcp_bindgen.cli.host import host
from mcp_bindgen.cli.impact import impact, migrate
from mcp_bindgen.cli.inspect import inspect
from mcp_bindgen.cli.install import install
from mcp_bindgen.cli.login import login, logout
from mcp_bindgen.cli.mock import mock
from mcp_bindgen.cli.new import dev, new
from mcp_bindgen.cli.openapi import openapi
from mcp_bindgen.cli.protocol import errata, proposal, verify
from mcp_bindgen.cli.proxy import proxy
from mcp_bindgen.cli.show import list_revisions, show
from mcp_bindgen.cli.tools import tools
from mcp_bindgen.cli.validate import validate


def run_server(context: typer.Context) -> None:
    """Serve an App or a Server that a file defines: run server.py[:name] [--http]."""
    from mcp_bindgen.live.reloading.serving import serve_file

    raise typer.Exit(serve_file(context.args))


app = typer.Typer(
    name="mcp-bindgen",
    cls=CommandGroup,
    help="Typed Python bindings, servers and clients for the Model Context Protocol.",
    epilog=more("mcp-bindgen generate 2025-11-25 --out src --package acme.mcp", "docs/index.md"),
    no_args_is_help=True,
    # Plain help and usage errors: text that the user typed is not interpreted as markup.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_AUTHORIZATION = "docs/authorization.md"
_COMMANDS, _INSPECT, _IMPACT = "docs/commands.md", "docs/inspect.md", "docs/impact.md"
_READINGS = "docs/decisions/0001-two-readings-one-structure.md"
# This command is that of the runtime, which parses its own arguments.
_FORWARDED: dict[str, Any] = {
    "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
    "add_help_option": False,
}

bindings = Task(app=app, title="Bindings")
bindings.add(
    generate,
    "Generate the bindings of revisions.",
    "generate 2025-11-25 --out src --package acme.mcp",
    "docs/start/compile.md",
)
bindings.add(list_revisions, "List the released revisions.", "list", _COMMANDS)
bindings.add(show, "Show a method or a definition.", "show tools/call --revision 2025-11-25", _COMMANDS)
bindings.add(docs, "Show a page of the documentation.", "docs bindings", "docs/index.md")
app.add_typer(export, name="export", short_help="Write the protocol as documents.", rich_help_panel=bindings.title)

changes = Task(app=app, title="Changes")
changes.add(diff, "Show what breaks between two revisions.", "diff 2025-06-18 2025-11-25 --all", "docs/diff.md")
changes.add(rules, "List the rules of diff.", "rules property-removed-optional", "docs/rules.md")
changes.add(
    impact,
    "List the lines of your code that a change affects.",
    "impact src --from 2025-11-25 --to 2026-07-28",
    _IMPACT,
)
changes.add(migrate, "Write a migration guide.", "migrate 2025-11-25 2026-07-28 --output MIGRATING.md", _IMPACT)
changes.add(
    bridge, "Show how messages are translated between revisions.", "bridge 2025-11-25 2026-07-28", "docs/bridging.md"
)

servers = Task(app=app, title="Servers")
servers.add(new, "Write a new project with a server.", "new weather", "docs/start/server.md")
servers.add(
    openapi,
    "Write a server for an API with an OpenAPI document.",
    "openapi shop.yaml --out shop_server.py",
    "docs/openapi.md",
)
servers.add(dev, "Serve a file with reload, in the official inspector.", "dev server.py", "docs/app.md")
servers.add(run_server, "Serve an App or a Server from a Python file.", "run server.py", "docs/app.md", **_FORWARDED)
servers.add(install, "Add a server to the configuration of a client.", "install server.py", "docs/deployment.md")
servers.add(
    inspect,
    "Show what a server offers, or call a tool.",
    "inspect --call sum a=1 b=2 -- python server.py",
    _INSPECT,
    cls=StartsCommand,
)
servers.add(
    check,
    "Check whether a server keeps the revisions that it speaks.",
    "check -- python server.py",
    "docs/check.md",
    cls=StartsCommand,
)
servers.add(
    mock,
    "Serve a lock file or a recorded session.",
    "mock --lock tools.lock.json",
    "docs/mock.md",
)
servers.add(host, "Show the servers of a configuration, and their tools.", "host mcp.json", "docs/host.md")
_GATEWAY = "gateway mcp.json --policy read-only"
servers.add(gateway, "Serve the servers of a configuration as one.", _GATEWAY, "docs/gateway.md")
servers.add(login, "Sign in to a protected server.", "login https://mcp.example.com/mcp", _AUTHORIZATION)
servers.add(logout, "Delete the tokens for a server.", "logout https://mcp.example.com/mcp", _AUTHORIZATION)
servers.add(validate, "Show which revisions accept a message.", "validate session.log", _INSPECT)
servers.add(
    proxy,
    "Report broken messages between a client and a server.",
    "proxy --log report.txt -- python server.py",
    _INSPECT,
    cls=StartsCommand,
)
app.add_typer(
    tools,
    name="tools",
    short_help="Generate typed clients for tools, and check them in CI.",
    rich_help_panel=servers.title,
)

protocol = Task(app=app, title="Protocol")
protocol.add(
    proposal,
    "Show what a proposed change of the schema means.",
    "proposal schema.ts --text SEP.md --out draft",
    "docs/evolution.md",
)
protocol.add(errata, "List where schema.json contradicts schema.ts.", "errata 2026-07-28", _READINGS)
protocol.add(
    verify, "Compare a shipped revision with an official schema.", "verify 2025-11-25 --against schema.json", _READINGS
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from mcp_bindgen.emit.header import tool_version

        typer.echo(f"mcp-bindgen {tool_version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Typed Python bindings, servers and clients for the Model Context Protocol."""
