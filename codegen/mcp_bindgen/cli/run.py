"""Run the command line, and turn every outcome into a message and an exit status.

0: success. 1: findings, or drift. 2: usage error, or unusable input. 70: a defect of this program. 130: interrupted.
141: the reader of the output closed it.
"""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from mcp_bindgen.cli.output import ReaderLeft, report
from mcp_bindgen.ir.diagnostics import InputError, printable

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
            stream.reconfigure(errors="backslashreplace")  # show something even on terminals without UTF-8
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
        print(f"mcp-bindgen: this is a bug in mcp-bindgen, please report it: {what}", file=sys.stderr)
        print(f"  ({TRACEBACK_VARIABLE}=1 shows where it happened)", file=sys.stderr)
        return DEFECT


def _silence_stdout() -> None:
    """Prevent the interpreter from reporting a closed stdout on exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
