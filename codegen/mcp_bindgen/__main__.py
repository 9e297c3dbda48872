"""Entry point of the `mcp-bindgen` command."""

import sys


def main() -> None:
    """Run the command line with the arguments of this process, and exit with its status."""
    from mcp_bindgen.cli.run import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
