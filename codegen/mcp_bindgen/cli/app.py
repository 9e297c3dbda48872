"""The commands and their help."""

from typing import Annotated

import typer

from mcp_bindgen.cli.bridge import bridge
from mcp_bindgen.cli.diff import diff
from mcp_bindgen.cli.errata import errata
from mcp_bindgen.cli.generate import generate
from mcp_bindgen.cli.impact import impact
from mcp_bindgen.cli.inspect import inspect
from mcp_bindgen.cli.migrate import migrate
from mcp_bindgen.cli.proxy import proxy
from mcp_bindgen.cli.revisions import list_revisions
from mcp_bindgen.cli.rules import rules
from mcp_bindgen.cli.serving import run_server
from mcp_bindgen.cli.show import show
from mcp_bindgen.cli.split import StartsCommand
from mcp_bindgen.cli.tools import tools
from mcp_bindgen.cli.validate import validate
from mcp_bindgen.cli.verify import verify

app = typer.Typer(
    name="mcp-bindgen",
    help="Write typed Python bindings for revisions of the Model Context Protocol.",
    no_args_is_help=True,
    # Plain help and plain usage errors: what the user typed is not read as markup.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("generate")(generate)
app.command("list")(list_revisions)
app.command("show")(show)
app.command("verify")(verify)
app.command("errata")(errata)
app.command("diff")(diff)
app.command("impact")(impact)
app.command("migrate")(migrate)
app.command("rules")(rules)
# Its arguments are parsed where it runs without this extra, too.
forwarded = {"allow_extra_args": True, "ignore_unknown_options": True}
app.command("run", context_settings=forwarded, add_help_option=False)(run_server)
app.command("bridge")(bridge)
app.command("inspect", cls=StartsCommand)(inspect)
app.command("proxy", cls=StartsCommand)(proxy)
app.command("validate")(validate)
app.add_typer(tools, name="tools")


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
    """Write typed Python bindings for revisions of the Model Context Protocol."""
