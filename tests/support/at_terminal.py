"""Runs a program in a pseudo-terminal, in which the test plays the user."""

import os
import select
import subprocess
import time
from pathlib import Path

from support import forks
from support.programs import quick_python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def at_terminal(*words: str, answers: list[tuple[str, str]], timeout: float = 60.0, **env: str) -> str:
    """Run an example in a terminal until it ends; return everything that the terminal showed.

    Args:
        words: the name or path of the example, and its arguments.
        answers: what to type once a text has been shown, in order.
        timeout: seconds after which the program is killed.
        env: additional environment variables.

    Raises:
        AssertionError: it did not end in time, or ended with an error.
    """
    import pty

    terminal, inner = pty.openpty()
    command = [quick_python(), str(EXAMPLES / words[0]), *words[1:]]
    environment = {**os.environ, **env, forks.TERMINAL: "1"}
    process = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    shown, seen, left = "", 0, list(answers)
    until = time.monotonic() + timeout
    try:
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(terminal, 65536).decode()
            except OSError:
                # Linux reports this when the last process has closed the terminal.
                break
            while left and (found := shown.find(left[0][0], seen)) >= 0:
                seen = found + len(left[0][0])
                os.write(terminal, f"{left.pop(0)[1]}\n".encode())
    finally:
        if time.monotonic() >= until:
            process.kill()
        status = process.wait()
        os.close(terminal)
    assert status == 0, f"it ended with {status}:\n{shown}"
    assert not left, f"it never showed {left[0][0]!r}:\n{shown}"
    return shown.replace("\r\n", "\n")
