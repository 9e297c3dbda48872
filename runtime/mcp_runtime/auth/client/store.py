"""Where tokens and registrations are kept between programs, and work that several callers share."""

import asyncio
import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.json.values import is_object

POLL: Final = 0.02
"""Seconds between two attempts to lock a file."""
STORING: Final = "storing tokens"

T = TypeVar("T")


class Store(ABC):
    """Keeps one document: tokens by server, and registrations by issuer. It is secret."""

    @abstractmethod
    def locked(self, name: str = "") -> AbstractAsyncContextManager[None]:
        """Exclude all other users of the store, those in other processes too, for as long as the context lasts.

        Args:
            name: excludes only those that lock this name; a server's URL while its issuer, which may be slow, is asked.
        """

    @abstractmethod
    def read(self) -> dict[str, Any]:
        """Return the document, a JSON object; empty at first."""

    @abstractmethod
    def write(self, document: dict[str, Any]) -> None:
        """Replace the document as a whole, within `locked`.

        Args:
            document: a JSON object.
        """


class MemoryStore(Store):
    """Keeps tokens for as long as the program runs."""

    def __init__(self) -> None:
        self._document: dict[str, Any] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def locked(self, name: str = "") -> AsyncGenerator[None]:
        """Exclude other tasks.

        Args:
            name: excludes only those that lock this name.
        """
        async with self._locks[name]:
            yield

    def read(self) -> dict[str, Any]:
        """Return a copy of the document."""
        return {**self._document}

    def write(self, document: dict[str, Any]) -> None:
        """Replace the document.

        Args:
            document: a JSON object.
        """
        self._document = document


class FileStore(Store):
    """Keeps tokens in a file that only its user can read; programs may use it at the same time.

    Args:
        path: the file; by default ``mcp-bindgen/tokens.json`` in ``$XDG_STATE_HOME``, or in ``~/.local/state``.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        self.path = Path(path or Path(state) / "mcp-bindgen" / "tokens.json")

    @asynccontextmanager
    async def locked(self, name: str = "") -> AsyncGenerator[None]:
        """Lock a file beside it, which is never replaced.

        Args:
            name: excludes only those that lock this name.
        """
        import fcntl

        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = f".{sha256(name.encode()).hexdigest()[:16]}" if name else ""
        place = self.path.with_name(f"{self.path.name}{part}.lock")
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(POLL)
            yield
        finally:
            os.close(handle)

    def read(self) -> dict[str, Any]:
        """Return the document.

        Raises:
            AuthorizationError: the file cannot be read, or its content is not a JSON object.
        """
        try:
            found: Any = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._problem(type(error).__name__) from None
        if not is_object(found):
            raise self._problem("not a JSON object")
        return found

    def write(self, document: dict[str, Any]) -> None:
        """Replace the file at once: another program reads it as it was, or as it is now.

        Args:
            document: a JSON object.

        Raises:
            AuthorizationError: it cannot be written.
        """
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")  # with mode 0600
            try:
                with os.fdopen(handle, "w") as file:
                    json.dump(document, file, indent=1)
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self.path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise self._problem(error.strerror or "OSError") from None

    def _problem(self, what: str) -> AuthorizationError:
        return AuthorizationError(STORING, "", f"{self.path}: {what}", "repair or delete the file")


def stored(store: Store, table: str, key: str) -> object:
    """Return one of the objects in a table of the document; None if it is missing."""
    records = store.read().get(table)
    return records.get(key) if is_object(records) else None


def put(store: Store, table: str, key: str, record: dict[str, Any] | None) -> None:
    """Replace an object in a table of the document, or remove it; within `Store.locked`."""
    document = store.read()
    found = document.get(table)
    records = {**(found if is_object(found) else {}), key: record}
    store.write({**document, table: {name: kept for name, kept in records.items() if kept is not None}})


class Shared(Generic[T]):
    """Work that several callers wait for, by key. It is cancelled when none of them waits any longer, if it may be."""

    def __init__(self, *, may_cancel: bool = False) -> None:
        self._may_cancel = may_cancel
        self._running: dict[str, tuple[asyncio.Task[T], list[object]]] = {}

    async def run(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """Return the result of the work, and whether this caller has started it."""
        running = self._running.get(key)
        is_first = running is None or running[0].done()
        if running is None or is_first:
            running = self._running[key] = asyncio.create_task(work()), []
            running[0].add_done_callback(lambda task: self._end(key, task))
        task, waiting = running
        caller = object()
        waiting.append(caller)
        try:
            return await asyncio.shield(task), is_first
        finally:
            waiting.remove(caller)
            if self._may_cancel and not waiting:
                task.cancel()
                self._end(key, task)

    def _end(self, key: str, task: asyncio.Task[T]) -> None:
        if key in self._running and self._running[key][0] is task:
            del self._running[key]
