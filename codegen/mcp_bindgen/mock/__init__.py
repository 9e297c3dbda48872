"""Servers that stand in for others in tests: made from a lock file of their tools, or from a recorded session."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_bindgen.mock.serving import Mock
    from mcp_runtime.handlers import ServerHandlers

__all__ = ["serve", "server"]


def server(
    *,
    lock: Path | str | None = None,
    session: Path | str | None = None,
    seed: int | None = None,
    examples: Path | str | None = None,
    faults: Sequence[str] = (),
    package: str = "",
    revision: str = "",
) -> "ServerHandlers":
    """Return a server for `mcp_runtime.testing.connect` and the transports of the runtime.

    Args:
        lock: the lock file of the tools.
        session: the session that ``mcp-bindgen proxy --record`` wrote.
        seed: makes other results from the output schemas of a lock.
        examples: a JSON file with results of the tools of a lock.
        faults: what goes wrong, as for ``mcp-bindgen mock --fault``.
        package: a generated package, such as that of a proposal, whose revision the mock of a lock speaks.
        revision: which conversations of a session are replayed; by default those of most messages.

    Raises:
        InputError: a file cannot be used, a fault is none, or there is not one of `lock` and `session`.
    """
    from mcp_bindgen.mock.faults import Faults
    from mcp_bindgen.mock.serving import make

    found = Faults.of(faults)
    made = make(
        lock=lock, session=session, seed=seed, examples=examples, faults=found, package=package, revision=revision
    )
    return made.server


@contextmanager
def serve(
    *,
    lock: Path | str | None = None,
    session: Path | str | None = None,
    seed: int | None = None,
    examples: Path | str | None = None,
    faults: Sequence[str] = (),
    package: str = "",
    revision: str = "",
    port: int = 0,
) -> "Generator[Mock]":
    """Serve a mock over HTTP on this machine, in a thread, for as long as the context lasts.

    Args:
        lock: see `server`.
        session: see `server`.
        seed: see `server`.
        examples: see `server`.
        faults: see `server`.
        package: see `server`.
        revision: see `server`.
        port: the port; 0 for a free one.

    Raises:
        InputError: as for `server`; or the port is taken, or the extra ``http`` is not installed.
    """
    from mcp_bindgen.mock.faults import Faults
    from mcp_bindgen.mock.serving import in_thread, make

    found = Faults.of(faults, over_http=True)
    made = make(
        lock=lock, session=session, seed=seed, examples=examples, faults=found, package=package, revision=revision
    )
    with in_thread(made, port) as mock:
        yield mock
