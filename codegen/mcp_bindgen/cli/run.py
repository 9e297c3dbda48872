"""Run the command line, and turn every way in which it can end into a message and an exit status.

0: done. 1: findings, or drift. 2: wrong usage, or input that cannot be used. 70: a defect of this program.
130: interrupted. 141: nobody reads the output any more.
"""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from mcp_bindgen.cli.output import ReaderLeft, report
from mcp_bindgen.diagnostics import InputError, printable

DONE = 0
FINDINGS = 1
BAD_INPUT = 2
DEFECT = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

TRACEBACK_VARIABLE = "MCP_BINDGEN_TRACEBACK"


def run(arguments: Sequence[str]) -> int:
    """Run one command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 still shows something
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except (BrokenPipeError, ReaderLeft):
        _silence_stdout()
        return BROKEN_PIPE


def _run(arguments: Sequence[str]) -> int:
    try:
        from mcp_bindgen.cli.app import app

        app(args=list(arguments), prog_name="mcp-bindgen")
        return DONE
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else DONE
        if status == INTERRUPTED:
            print("mcp-bindgen: interrupted", file=sys.stderr)
        return status
    except InputError as error:
        report(error.diagnostics)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("mcp-bindgen: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (BrokenPipeError, ReaderLeft):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        what = printable(f"{type(error).__name__}: {error}").replace("\n", " ")
        print(f"mcp-bindgen: this is a defect of mcp-bindgen, please report it: {what}", file=sys.stderr)
        print(f"  ({TRACEBACK_VARIABLE}=1 shows where it happened)", file=sys.stderr)
        return DEFECT


def _silence_stdout() -> None:
    """Keep the interpreter from complaining, at its end, about output that nobody reads."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
