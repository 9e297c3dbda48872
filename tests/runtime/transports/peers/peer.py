"""A server in raw lines: echoes each line, unless it is a command (a line that starts with a colon)."""

import json
import os
import signal
import subprocess
import sys
import time

# Ignores SIGTERM, and writes a byte once it does.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(int(sys.argv[1]), b"x")
time.sleep(600)
"""


def say(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


def start_stubborn() -> int:
    """Start a child that ignores SIGTERM; return its process id once it does."""
    r, w = os.pipe()
    child = subprocess.Popen((sys.executable, "-S", "-E", "-c", STUBBORN, str(w)), pass_fds=(w,))
    os.close(w)
    os.read(r, 1)
    return child.pid


def obey(number: int, frame: object) -> None:
    os.write(2, b"asked to end\n")
    os._exit(0)


def act(command: str) -> None:
    name, _, rest = command.partition(" ")
    match name:
        case ":exit":
            os._exit(int(rest))
        case ":kill":
            os.kill(os.getpid(), int(rest))
            time.sleep(600)
        case ":partial":
            say(rest.encode())
            os._exit(0)
        case ":say":  # a Python literal, to write any bytes
            say(rest.encode().decode("unicode_escape").encode("latin-1"))
        case ":many":
            say(b"".join(b"%d\n" % i for i in range(int(rest))))
        case ":big":
            say(b"x" * int(rest) + b"\n")
        case ":complain":
            sys.stderr.write(rest.encode().decode("unicode_escape"))
            sys.stderr.flush()
        case ":close":
            os.close(int(rest))
            if rest == "0":
                time.sleep(600)
        case ":env":
            say(json.dumps(dict(os.environ)).encode() + b"\n")
        case ":cwd":
            say(os.getcwd().encode() + b"\n")
        case ":ids":
            say(b"%d %d\n" % (os.getpgid(0), os.getsid(0)))
        case ":stubborn":
            say(b"%d\n" % start_stubborn())
        case ":ignore":
            signal.signal(getattr(signal, rest), signal.SIG_IGN)
            say(b"ignored\n")
        case ":obey":
            signal.signal(signal.SIGTERM, obey)
            say(b"obedient\n")
        case ":linger":  # it does not end at the end of its input
            state["lingers"] = True
            say(b"lingering\n")
        case ":stop-reading":
            say(b"not reading\n")
            time.sleep(600)
        case _:
            raise ValueError(command)


state = {"lingers": False}


def main() -> None:
    parts: list[bytes] = []
    while data := os.read(0, 1 << 20):
        parts.append(data)
        if b"\n" not in data:
            continue
        *lines, rest = b"".join(parts).split(b"\n")
        parts = [rest]
        out: list[bytes] = []
        for line in lines:
            if line.startswith(b":"):
                say(b"".join(out))
                out = []
                act(line.decode())
            else:
                out.append(line + b"\n")
        say(b"".join(out))
    while state["lingers"]:
        time.sleep(1)
    sys.stderr.write("the input ended\n")


main()
