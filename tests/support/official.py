"""Finds the official files of the protocol, which the project tests with and does not ship.

The folder is $MCP_UPSTREAM, or shared/upstream beside the repository. Without the folder a test skips; a folder that
lacks an expected file is a mistake, and the whole run fails. `used` records the files that tests of this process read,
and the summary of the run says how many there were.
"""

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[2]
_SEED = "schema-2024-11-05.ts"

used: set[str] = set()
"""The files that were handed out, by the names that `expected` gives them."""


def official_schema(revision: str) -> Path:
    """Return the official schema.json of a revision."""
    return _take(f"upstream/{revision}/schema.json")


def official_typescript(revision: str) -> Path:
    """Return the official schema.ts of a revision."""
    return _take(f"upstream/{revision}/schema.ts")


def seed_typescript() -> Path:
    """Return a real schema.ts: revision 2024-11-05 as first published."""
    return _take(f"seeds/{_SEED}")


def upstream() -> Path:
    """Return the folder for the official files; a relative path is relative to the repository."""
    return _REPOSITORY / (os.environ.get("MCP_UPSTREAM") or "../shared/upstream")


def expected() -> dict[str, Path]:
    """Return the path of every official file that tests use, by a short name."""
    folder = upstream()
    revisions = sorted(path.parent.name for path in (_REPOSITORY / "schema").glob("*/schema.json"))
    halves = [f"{revision}/{kind}" for revision in revisions for kind in ("schema.json", "schema.ts")]
    schemas = {f"upstream/{half}": folder / half for half in halves}
    return {**schemas, f"seeds/{_SEED}": folder.parent / "seeds" / _SEED}


def missing() -> list[str]:
    """Return the files missing from the folder; none if there is no folder."""
    if not upstream().is_dir():
        return []
    return [str(path) for path in expected().values() if not path.is_file()]


def _take(name: str) -> Path:
    path = expected()[name]
    if not upstream().is_dir():
        pytest.skip(f"the official files are not here: {upstream()} (set MCP_UPSTREAM)")
    if not path.is_file():
        pytest.fail(f"{path} is missing, though its folder is there")
    used.add(name)
    return path
