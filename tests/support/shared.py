"""What all workers of xdist share: one of them computes it, and the others read it."""

import os
import pickle
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a folder of this run of the tests that all workers use."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


def computed_once(record: Path, compute: Callable[[], T]) -> T:
    """Return what the first worker that asks for it computes.

    Args:
        record: the file that keeps it.
        compute: makes it; it must be possible to pickle it.
    """
    with record.open("a+b") as file:
        flock(file, LOCK_EX)
        file.seek(0)
        if kept := file.read():
            found: T = pickle.loads(kept)
            return found
        found = compute()
        file.write(pickle.dumps(found))
    return found
