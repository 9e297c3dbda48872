"""Registers `mcp-bindgen run` with the other commands; see `mcp_bindgen.live.serving`."""

import typer


def run_server(context: typer.Context) -> None:
    """Serve an App or a Server that a file defines: run server.py[:name] [--http]."""
    from mcp_bindgen.live.serving import serve_file

    raise typer.Exit(serve_file(context.args))
