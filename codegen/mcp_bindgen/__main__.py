"""Entry point of the `mcp-bindgen` command: checks that its dependencies are installed, then runs it."""

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich", "httpx2", "tree_sitter", "tree_sitter_typescript")
"""Modules of the extra `cli`, which all commands but `run` need; `codegen` has the rest."""

# pip adds the extra to the installed package: no index has to know it.
WITHOUT_EXTRA = "the commands need an extra: pip install 'mcp-bindgen[cli]'"
HELP = f"""usage: mcp-bindgen COMMAND ...

Compile the Model Context Protocol: typed bindings, breaking changes between
revisions, typed clients for a server's tools.

The bindings (mcp_bindings), the runtime (mcp_runtime) and `mcp-bindgen run`
are installed; {WITHOUT_EXTRA},
or 'mcp-bindgen[codegen]' for those that write Python or compare revisions.

Example:  mcp-bindgen run server.py
See also: mcp-bindgen docs start/server (extra cli)
"""
"""The output of `--help` if the extra `cli` is not installed."""


def main() -> None:
    """Run the command line with the arguments of this process, and exit with its status."""
    if sys.argv[1:] == ["--version"]:
        from mcp_bindgen.emit.header import tool_version

        print(f"mcp-bindgen {tool_version()}")
        sys.exit(0)
    if any(find_spec(name) is None for name in NEEDED):
        if sys.argv[1:2] == ["run"]:
            from mcp_bindgen.live.serving import serve_file

            sys.exit(serve_file(sys.argv[2:]))
        if sys.argv[1:] in (["--help"], ["-h"], ["help"]):
            print(HELP, end="")
            sys.exit(0)
        print(f"mcp-bindgen: {WITHOUT_EXTRA}", file=sys.stderr)
        sys.exit(2)
    from mcp_bindgen.cli.run import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
