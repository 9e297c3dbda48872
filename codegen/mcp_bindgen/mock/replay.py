"""A server made from a recorded session."""

from pathlib import Path
from typing import Any


def session_server(path: Path, unrecorded: list[str]) -> Any:
    """Return a server."""
    raise NotImplementedError
