"""Servers that stand in for others in tests: made from a lock file of their tools, or from a recorded session."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

if TYPE_CHECKING:
    from mcp_bindgen.mock.serving import Mock
    from mcp_runtime.core.handlers import ServerHandlers

__all__ = ["MockOptions", "serve", "server"]


class MockOptions(TypedDict, total=False):
    """What a mock is made from, and what goes wrong.

    Attributes:
        lock: the lock file of the tools.
        session: the session that ``mcp-bindgen proxy --record`` wrote.
        seed: makes other results from the output schemas of a lock.
        examples: a JSON file with results of the tools of a lock.
        faults: what goes wrong, as for ``mcp-bindgen mock --fault``.
        package: a generated package, such as that of a proposal, whose revision the mock of a lock speaks.
        revision: which conversations of a session are replayed; by default those of most messages.
    """

    lock: Path | str | None
    session: Path | str | None
    seed: int | None
    examples: Path | str | None
    faults: Sequence[str]
    package: str
    revision: str


def server(**options: Unpack[MockOptions]) -> "ServerHandlers":
    """Return a server for `mcp_runtime.testing.connect` and the transports of the runtime.

    Args:
        options: see `MockOptions`.

    Raises:
        InputError: a file cannot be used, a fault is none, or there is not one of `lock` and `session`.
    """
    from mcp_bindgen.mock.serving import make

    return make(options).server


@contextmanager
def serve(*, port: int = 0, **options: Unpack[MockOptions]) -> "Generator[Mock]":
    """Serve a mock over HTTP on this machine, in a thread, for as long as the context lasts.

    Args:
        port: the port; 0 for a free one.
        options: see `MockOptions`.

    Raises:
        InputError: as for `server`; or the port is taken, or the extra ``http`` is not installed.
    """
    from mcp_bindgen.mock.serving import in_thread, make

    with in_thread(make(options, over_http=True), port) as mock:
        yield mock
