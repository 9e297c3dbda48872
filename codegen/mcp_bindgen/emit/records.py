"""Record which files without a header we generated, since their type has no comments.

There is one record per file, below $XDG_CACHE_HOME or ~/.cache: the sha256 of its content. A file that has changed
since, or whose record is lost, does not count as generated and is not replaced.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of our caches.

    Raises:
        RuntimeError: the home folder is unknown.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mcp-bindgen"


def put_on_record(path: Path, text: str) -> None:
    """Record that we generated a file, if the record can be written."""
    with suppress(OSError, RuntimeError):
        record = _record(path)
        record.parent.mkdir(parents=True, exist_ok=True)
        fresh = record.with_name(f"{record.name}.{os.getpid()}")
        fresh.write_text(hashlib.sha256(text.encode()).hexdigest(), "ascii")
        fresh.replace(record)


def is_on_record(path: Path) -> bool:
    """Whether a file still has the content that we last wrote to it.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        known = _record(path).read_text("ascii")
    except (OSError, RuntimeError, ValueError):
        return False
    return known == hashlib.sha256(path.read_bytes()).hexdigest()


def _record(path: Path) -> Path:
    return cache_folder() / "written" / hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:32]
