"""Folders of skills, and a client and a server of them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.extensions.skills import Skills
from mcp_runtime.memory import connect_memory

URI = "skill://pdf/SKILL.md"
TEXT = "---\nname: pdf\ndescription: Fill forms\nmetadata:\n  version: 1.20\n  since: 2026-01-01\n---\nBody.\n"
HINTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def digest(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def file(uri: str = "skill://pdf/a.md", data: bytes = b"a", **lies: Any) -> dict[str, Any]:
    return {"uri": uri, "digest": digest(data), "size": len(data), **lies}


OWN = file(URI, TEXT.encode())


@asynccontextmanager
async def opened(server: Any, **options: Any) -> AsyncGenerator[mcp.Client]:
    async with connect_memory(server) as peer:
        yield await mcp.Client.open(peer, extensions=[Skills()], options=ClientOptions(**options))


def app(*given: Any, **more: Any) -> mcp.App:
    return mcp.App("handbook", extensions=[Skills(*given, **more)])


def make_folder(path: Path) -> Path:
    """Write a skill, one nested in it, and one at a longer path; return the folder."""
    write(path / "pdf" / "SKILL.md", TEXT)
    write(path / "pdf" / "references" / "FORMS.md", "forms\r\n")
    write(path / "pdf" / "logo.png", b"\x89PNG\xff")
    write(path / "pdf" / "inner" / "SKILL.md", "---\nname: inner\ndescription: nested\n---\n")
    write(path / "acme" / "refunds" / "SKILL.md", "---\nname: refunds\ndescription: yes\n---\n")
    return path
