"""`mcp-bindgen run`: serve what a file defines, as ``python -m mcp_runtime`` does, and restart it when files change."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path


def serve_file(arguments: Sequence[str]) -> int:
    """Serve what a file defines until the client leaves; return the exit status.

    Args:
        arguments: those of the command.
    """
    from mcp_runtime.app import program

    see_also = "\n  See also: mcp-bindgen docs app"
    return program.serve_file(arguments, program="mcp-bindgen run", see_also=see_also, reload=_serve_reloading)


def split_target(target: str) -> tuple[Path, str]:
    """Split a path from the name after it, as `run` does."""
    from mcp_runtime.app import program

    return program.split_target(target)


def why_foreign(path: Path) -> str:
    """Return why a file that is written for another framework cannot be served; empty if it is not."""
    from mcp_runtime.app import program

    return program.foreign_import(path)


def why_unusable(target: str) -> str:
    """Load a file as `run` does, and return why it cannot be served; empty if it can."""
    from mcp_runtime.app import program

    try:
        with redirect_stdout(sys.stderr):
            program.load_server(target)
    except program.Unusable as error:
        return str(error)
    return ""


def _serve_reloading(path: Path, arguments: Sequence[str], http: bool) -> None:
    from mcp_bindgen.live.reloading.restarting import serve_reloading

    serve_reloading(path, arguments, http=http)
