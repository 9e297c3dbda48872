"""Runs strict type checkers on a folder; all runs of mypy share a cache, since reading the libraries takes longest."""

import atexit
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

BINARIES = Path(sys.executable).parent


def mypy(folder: Path, *words: str, path: str = "") -> "subprocess.CompletedProcess[str]":
    """Run `mypy --strict` in a folder; `path` says where it finds modules, as in MYPYPATH."""
    kept = _kept()
    kept.mkdir(exist_ok=True)  # a worker that has ended has removed it
    command = [str(BINARIES / "mypy"), "--strict", "--config-file", os.devnull, "--cache-dir", str(kept), *words]
    environment = {**os.environ, "MYPYPATH": path}
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def pyright(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run pyright on a folder with a `pyrightconfig.json`."""
    command = [str(BINARIES / "pyright"), "--pythonpath", sys.executable, "-p", str(folder), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@cache
def _kept() -> Path:
    """Return the folder of the cache, which the workers of xdist share for one run of the tests."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"mcp-bindgen-mypy-{run}"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
