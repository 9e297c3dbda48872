"""`mcp-bindgen gateway`: all servers of a configuration file, served as one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mcp_bindgen.cli.options import port_option
from mcp_bindgen.ir.diagnostics import InputError


class PolicyName(StrEnum):
    """Which tools clients may call: all, or those that trusted servers declare to be read-only."""

    ALLOW_ALL = "allow-all"
    READ_ONLY = "read-only"


def gateway(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration with mcpServers or servers.")],
    policy: Annotated[
        PolicyName, typer.Option(help="Which tools clients may call; read-only: as trusted servers declare.")
    ],
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, on this machine only.")] = False,
    port: Annotated[int, port_option()] = 8000,
    approvals: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A JSON object: only servers whose digest it maps to true are started."),
    ] = None,
) -> None:
    """Serve all servers of a configuration as one, over stdio or HTTP.

    Tools and prompts are named after their server: git__log. A server that fails is left out until it is back.
    """
    from mcp_bindgen.live.relaying.gateway import serve_gateway

    try:
        serve_gateway(file, policy.value, approvals, port if http else None)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        raise InputError.at("gateway", str(error)) from None
