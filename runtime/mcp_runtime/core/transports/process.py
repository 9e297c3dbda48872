"""Processes: a child and everything that it starts, and the end of a serving process within a given time."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mcp_runtime.core.connection.transport import TransportError
from mcp_runtime.core.errors import printable

_POSIX = tuple("HOME LANG LANGUAGE LOGNAME PATH SHELL TERM TMPDIR TZ USER".split())
_WINDOWS = tuple(
    "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES"
    " SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR".split()
)


def child_environment(env: Mapping[str, str] | None, inherit: bool | Iterable[str]) -> dict[str, str]:
    """Return the environment of a child process.

    Functions exported by a shell are never inherited: their values are code.

    Args:
        env: variables to set; they override inherited ones.
        inherit: False for safe ones only (locale, paths, user), True for all, or the names of additional variables.
    """
    if inherit is True:
        names: Iterable[str] = os.environ
    else:
        more = () if inherit is False else (inherit,) if isinstance(inherit, str) else inherit
        locale = (name for name in os.environ if name.startswith("LC_"))
        names = (*(_WINDOWS if sys.platform == "win32" else _POSIX), *locale, *more)
    inherited = {name: os.environ[name] for name in names if name in os.environ}
    safe = {name: value for name, value in inherited.items() if not value.startswith("() {")}
    return safe | dict(env or {})


_POLL = 0.005  # seconds at first; there is no notification when a process group becomes empty
_LONGEST_POLL = 0.05
_LAST_RESORT = 1.0  # seconds to block for a child that was killed when the event loop is going away


class Child:
    """A running child process with pipes, and the leader of its own process group.

    It remains a zombie until `wait_gone` has seen it end, so its pid cannot be reused while signals may be sent to it.

    Args:
        command: the program and its arguments.
        env: its whole environment.
        cwd: its working directory; None for that of this process.
        capture: whether its standard error is a pipe too.

    Raises:
        TransportError: it cannot be started.
    """

    def __init__(self, command: tuple[str, ...], *, env: Mapping[str, str], cwd: str | None, capture: bool) -> None:
        self.name = command_name(command)
        self._loop = asyncio.get_running_loop()
        self.process = _spawn(command, env=env, cwd=cwd, capture=capture, name=self.name)
        self.exited: asyncio.Future[int | None] = self._loop.create_future()
        """Done when the process has ended: its exit status, negative for a signal, None if unknown."""
        self._pidfd = -1
        self._gone = False
        self._watch()

    async def wait_gone(self, seconds: float) -> bool:
        """Wait until the process and its group are gone; return whether they are."""
        deadline = self._loop.time() + seconds
        await asyncio.wait((self.exited,), timeout=seconds)
        pause = _POLL
        while self.exited.done():
            if not self._group_lives():
                return True
            if self._loop.time() >= deadline:
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_POLL)
        return False

    def terminate(self) -> None:
        """Ask the whole group to end."""
        if sys.platform != "win32":
            self._signal_group(signal.SIGTERM)
        elif self.process.poll() is None:
            with suppress(OSError):
                self.process.send_signal(signal.CTRL_BREAK_EVENT)

    def kill(self) -> None:
        """End the whole group."""
        if sys.platform != "win32":
            self._signal_group(signal.SIGKILL)
        elif self.process.poll() is None:
            tree = ("taskkill", "/F", "/T", "/PID", str(self.process.pid))
            subprocess.run(tree, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def reap_later(self) -> None:
        """Reap the process when it ends, now that nothing waits for that any longer."""
        self.exited.add_done_callback(lambda _: self.process.poll())

    def kill_and_reap(self) -> None:
        """Kill the group without an event loop, blocking for a moment."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_LAST_RESORT)
        self._unwatch()

    def _signal_group(self, number: int) -> None:
        if sys.platform != "win32" and not self._gone:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def _group_lives(self) -> bool:
        self.process.poll()  # reaps it
        if sys.platform == "win32" or self._gone:
            return False
        with suppress(PermissionError):  # the rest runs as another user
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                self._gone = True
        lives = not self._gone and _has_running_member(self.process.pid)
        with suppress(ChildProcessError):
            # If we are a subreaper or a container's first process, we inherit what the leader leaves behind. This comes
            # last: anything that was seen to have ended can be reaped.
            while os.waitpid(-self.process.pid, os.WNOHANG)[0]:
                pass
        return lives

    def _watch(self) -> None:
        try:
            if sys.platform != "linux":
                raise NotImplementedError
            self._pidfd = os.pidfd_open(self.process.pid)
            self._loop.add_reader(self._pidfd, self._exited)
        except (OSError, NotImplementedError):
            self._unwatch()
            threading.Thread(target=self._wait, name="mcp-stdio-child", daemon=True).start()

    def _unwatch(self) -> None:
        if self._pidfd >= 0:
            with suppress(RuntimeError):
                self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _wait(self) -> None:
        if sys.platform == "linux":
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self.process.wait()
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._exited)

    def _exited(self) -> None:
        self._unwatch()
        if sys.platform != "linux":
            self._group_lives()  # if nothing is left of the group, its number is never used again
        if not self.exited.done():
            self.exited.set_result(self._status())

    def _status(self) -> int | None:
        if sys.platform != "linux":
            return self.process.poll()
        try:
            end = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:  # it has been reaped
            return self.process.returncode
        if end is None:
            return None
        return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status


def _has_running_member(group: int) -> bool:
    """Whether a process group has members that are not zombies: those wait for their new parent, not for us."""
    if not Path("/proc/self/stat").exists():
        return True
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
            if its_group == str(group) and state not in "ZX":
                return True
    return False


def how_it_ended(status: int | None) -> str:
    """Describe how a process ended, from its exit status (negative for a signal, None if unknown)."""
    if status is None:
        return "has ended"
    if status >= 0:
        return f"exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "signal"
    return f"was killed by {name} ({-status})"


def command_name(command: tuple[str, ...]) -> str:
    """Return the command for messages: up to its first option, since the rest may be secret."""
    words = [command[0]]
    for word in command[1:]:
        if word.startswith("-"):
            break
        words.append(word)
    text = printable(" ".join(words))
    return text if len(text) <= 80 else text[:77] + "..."


def _spawn(
    command: tuple[str, ...], *, env: Mapping[str, str], cwd: str | None, capture: bool, name: str
) -> subprocess.Popen[bytes]:
    program = command[0]
    new_group = 0
    if sys.platform == "win32":
        program = shutil.which(program, path=env.get("PATH")) or program  # finds npx.cmd for npx
        new_group = subprocess.CREATE_NEW_PROCESS_GROUP
    try:
        return subprocess.Popen(
            (program, *command[1:]),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if capture else None,
            env=env,
            cwd=cwd,
            # Not only a group: without our terminal, Ctrl-C reaches only us, and we end the child gracefully.
            start_new_session=True,
            creationflags=new_group,
        )
    except (OSError, ValueError) as error:
        raise TransportError(f"cannot start {name}: {_why(error, command, cwd)}") from error


def _why(error: OSError | ValueError, command: tuple[str, ...], cwd: str | None) -> str:
    if cwd is not None and not Path(cwd).is_dir():
        return f"its working directory does not exist: {printable(cwd)}"
    match error:
        case FileNotFoundError() if len(command) == 1 and " " in command[0]:
            words = ", ".join(f'"{printable(word)}"' for word in command[0].split())
            return f"no such command; pass the program and its arguments separately: connect_stdio({words})"
        case FileNotFoundError():
            return "no such command (or the interpreter named in its first line is missing)"
        case PermissionError():
            return "permission denied"
        case OSError():
            return error.strerror or str(error)
        case ValueError():
            return printable(str(error))


SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """Ends the process with status 1 if it is still running some time after shutdown has begun.

    A handler may swallow its cancellation, and a blocked thread cannot be stopped.

    Args:
        seconds: how long it may keep running.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: threading.Timer | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timer; safe to call again. What still runs in the event loop is named when it fires."""
        if self._timer is None:
            self._loop = loop
            self._timer = threading.Timer(self._seconds, self._end)
            self._timer.daemon = True
            self._timer.start()

    def over(self) -> None:
        """Stop the timer: everything has ended normally."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        text = f"the server was killed: {self._seconds:g} s after shutdown began, still running: {self._busy()}\
"
        # Not through `sys.stderr`, whose lock may be held by what blocks.
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        os._exit(1)

    def _busy(self) -> str:
        names: list[str] = []
        with suppress(RuntimeError):  # there is no event loop any more, or its tasks are changing
            names += [] if self._loop is None else [task.get_name() for task in asyncio.all_tasks(self._loop)]
        names += [thread.name for thread in threading.enumerate() if not thread.daemon]
        return printable(", ".join(names))[:1000]


@contextmanager
def on_signals(
    loop: asyncio.AbstractEventLoop, stop: Callable[[], object], first: Callable[[], None]
) -> Generator[None]:
    """Call a function in the event loop when this process receives SIGINT or SIGTERM.

    Args:
        loop: runs `stop`; a handler may block it.
        stop: ends what runs.
        first: called at once.
    """

    def receive(number: int, frame: object) -> None:
        first()
        loop.call_soon_threadsafe(stop)

    before: dict[signal.Signals, signal.Handlers | Callable[..., object] | int | None] = {}
    with suppress(ValueError, RuntimeError):  # not the main thread
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # A signal that another thread receives, or that arrives just before the loop waits, does not interrupt its
            # wait. So the loop watches for signals too.
            with suppress(NotImplementedError):  # on Windows
                loop.add_signal_handler(number, lambda: None)
            signal.signal(number, receive)
            before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
