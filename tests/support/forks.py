"""Interpreters whose programs start quickly: forks of a process that has imported what the programs need.

Importing an SDK takes most of the CPU time of a short program. `command` returns an executable that takes a script,
`-m MODULE` or `-c CODE` like the interpreter that it stands for, hands its standard streams, arguments, folder and
environment to the process that forks, and ends as the fork ends. Killing it kills the fork; signals reach the fork.

This file also runs in the environments of the peers, so it imports only the standard library.
"""

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import marshal
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

TERMINAL = "FORKS_TERMINAL"
"""The environment variable that makes the terminal of the standard input the controlling terminal of the fork."""

EXECUTABLE = """\
#!{python} -IS
import _signal, _socket, marshal, os, sys
if len(sys.argv) < 2 or sys.argv[1][0] == "-" and sys.argv[1] not in ("-m", "-c"):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
order = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
server.sendmsg([len(order).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
for number in (_signal.SIGINT, _signal.SIGTERM):
    _signal.signal(number, lambda number, frame: server.sendall(bytes([number])))
server.sendall(order)
for number in (0, 1, 2):
    os.close(number)
ended = server.recv(4)
status = int.from_bytes(ended, "big", signed=True) if ended else 255
if status < 0:
    _signal.signal(-status, _signal.SIG_DFL) if -status != _signal.SIGKILL else None
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@functools.cache
def command(python: str, *modules: str, path: tuple[Path, ...] = (), starts_forks: bool = False) -> str:
    """Return the path of an executable that stands for an interpreter, on Linux.

    Args:
        python: the interpreter.
        modules: the modules that its programs import.
        path: further folders in which it looks for these modules.
        starts_forks: whether `sys.executable` of its programs is this executable, for what they start.
    """
    if not hasattr(os, "pidfd_open"):
        return python
    folder = Path(tempfile.mkdtemp(prefix="forks-"))
    address, executable = str(folder / "socket"), folder / "python"
    own = str(executable) if starts_forks else ""
    words = [python, __file__, address, own, os.pathsep.join(map(str, path)), *modules]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(_stop, process, folder)
    assert process.stdout
    assert process.stdout.readline() == "ready\n", f"{python} cannot import {' '.join(modules)}"
    executable.write_text(EXECUTABLE.format(python=python, address=address), "utf-8")
    executable.chmod(0o755)
    return str(executable)


def _stop(process: "subprocess.Popen[str]", folder: Path) -> None:
    process.communicate()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


class _Server:
    """Forks a process for each connection, until the standard input ends."""

    def __init__(self, address: str, path: Sequence[str]) -> None:
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._running: set[int] = set()
        self._selector = selectors.PollSelector()
        self._selector.register(0, selectors.EVENT_READ, self._stop)
        self._selector.register(self._listener, selectors.EVENT_READ, self._fork)

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                key.data()

    def _fork(self) -> None:
        connection, _ = self._listener.accept()
        size, files, _, _ = socket.recv_fds(connection, 4, 3)
        with connection.makefile("rb") as reader:
            order = reader.read(int.from_bytes(size, "big"))
        if not files:
            return
        pid = os.fork()
        if not pid:
            _become(files, marshal.loads(order), self._path)
        for file in files:
            os.close(file)
        self._running.add(pid)
        ended = os.pidfd_open(pid)
        self._selector.register(connection, selectors.EVENT_READ, functools.partial(self._signal, connection, pid))
        self._selector.register(ended, selectors.EVENT_READ, functools.partial(self._end, ended, connection, pid))

    def _signal(self, connection: socket.socket, pid: int) -> None:
        if pid in self._running:
            number = connection.recv(1)
            if not number:
                self._selector.unregister(connection)
            os.kill(pid, number[0] if number else signal.SIGKILL)

    def _end(self, ended: int, connection: socket.socket, pid: int) -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self._running.remove(pid)
        self._selector.unregister(ended)
        os.close(ended)
        with contextlib.suppress(KeyError):
            self._selector.unregister(connection)
        with connection, contextlib.suppress(OSError):
            connection.sendall(status.to_bytes(4, "big", signed=True))

    def _stop(self) -> NoReturn:
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        sys.exit()


def _become(files: Sequence[int], order: tuple[list[str], str, dict[str, str]], path: Sequence[str]) -> NoReturn:
    """Run a program as the interpreter does, and end the process."""
    words, folder, environment = order
    for target, file in enumerate(files):
        os.dup2(file, target)
    os.closerange(3, 4096)
    # The streams of the first process remember whether its files can be sought in.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    os.chdir(folder)
    if environment.pop(TERMINAL, ""):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(environment)
    importlib.invalidate_caches()
    kind = words.pop(0)
    added = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if kind in ("-m", "-c"):
        program, sys.path = words.pop(0), [folder, *added, *path]
    else:
        program, sys.path = kind, [str(Path(kind).resolve().parent), *added, *path]
    sys.argv = [program if kind not in ("-m", "-c") else kind, *words]
    status = 1
    try:
        if kind == "-m":
            for name in (program, f"{program}.__main__"):
                sys.modules.pop(name, None)
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        elif kind == "-c":
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(program, "<string>", "exec"), main.__dict__)
        else:
            runpy.run_path(program, run_name="__main__")
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(bool(error.code))
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)


def main(address: str, executable: str, folders: str, *modules: str) -> None:
    """Import modules, and fork programs that use them."""
    sys.executable = executable or sys.executable
    added = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    path = [entry for entry in sys.path[1:] if entry not in added]
    sys.path = [*filter(None, folders.split(os.pathsep)), *path]
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    server = _Server(address, path)
    print("ready", flush=True)
    server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
