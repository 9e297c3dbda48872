"""The client of skills: lists entries, and loads skills whose files are what their entries promise."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from os import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from mcp_runtime.core import sources
from mcp_runtime.core.connection.background import THREADS
from mcp_runtime.core.errors import McpError, MissingCapability, clipped
from mcp_runtime.extensions.skills.folders import MAX_BYTES, MAX_FILES, SKILL
from mcp_runtime.extensions.skills.frontmatter import read_frontmatter
from mcp_runtime.extensions.skills.server import PACKAGE, Skills
from mcp_runtime.json_schema.meter import canonical

_AGAIN: Final = "load_skill() with the URI loads the new state"
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")


class SkillError(McpError):
    """A skill is not what its entry promises, or breaks a rule of the extension; nothing of it may be used."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Keeps verified files below a folder, and verifies them again on reading.

    Attributes:
        folder: the folder; nothing else may look for skills there.
        label: the host's own name for the server.
    """

    folder: Path
    label: str


def _place(cache: Cache, *names: str) -> Path:
    """Return the path for names that a server chose: each part is a digest, so that none leads anywhere else."""
    return cache.folder.joinpath(*(sha256(name.encode()).hexdigest() for name in (cache.label, *names)))


def _kept(cache: Cache, uri: str, digest: str) -> bytes | None:
    with suppress(OSError):
        data = _place(cache, uri, digest).read_bytes()
        return data if _digest(data) == digest else None
    return None


def _keep(cache: Cache, uri: str, digest: str, data: bytes) -> None:
    path = _place(cache, uri, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    (draft := path.with_name(f".{sources.token_hex(8)}")).write_bytes(data)
    replace(draft, path)


@dataclass(slots=True)
class Skill:
    """A loaded skill.

    Attributes:
        entry: the entry that it was verified against.
        text: its SKILL.md.
        client: the client of its server.
        cache: keeps its files, if there is one.
        left: how many bytes of a skill without digests may still be read.
    """

    entry: Any
    text: str
    client: Any = field(repr=False)
    cache: Cache | None = field(repr=False)
    left: int = field(default=MAX_BYTES, repr=False)

    async def read(self, path: str) -> str | bytes:
        """Return a file: a text, or bytes if it is not UTF-8.

        Args:
            path: its path from the folder of the skill, such as ``references/FORMS.md``.

        Raises:
            SkillError: the entry does not list it, or it differs from the entry.
        """
        data = await _fetch(self, f"{self.entry.uri.removesuffix(SKILL)}{quote(path)}")
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data


def iter_skills(client: Any) -> AsyncIterator[Any]:
    """Iterate over the entries that a server lists; it may have more, which `load_skill` finds by URI.

    Args:
        client: the client.

    Raises:
        MissingCapability: the server does not declare the extension.
    """
    found: AsyncIterator[Any] = _stubs(client, "skills/list").iter_skills()
    return found


async def load_skill(client: Any, entry: Any, *, dynamic: bool = False, cache: Cache | None = None) -> Skill:
    """Load a skill: fetch its SKILL.md, and compare it with the entry.

    Args:
        client: the client.
        entry: an entry, or the URI of a SKILL.md, listed or not.
        dynamic: whether to load skills whose files have no digests.
        cache: keeps verified files.

    Raises:
        SkillError: something differs from the entry, or a limit is exceeded.
        MissingCapability: the server does not declare the extension.
        PeerError: the server has no such skill.
    """
    if isinstance(entry, str):
        uri, entry = entry, (await _stubs(client, "skills/get").get_skill(uri=entry)).skill
        if entry.uri != uri:
            raise SkillError(f"the server answered with the skill {clipped(entry.uri)} instead of {clipped(uri)}")
    if (problem := _problem(entry, dynamic)) is not None:
        raise SkillError(f"{clipped(entry.uri)}: {problem}")
    skill = Skill(entry, "", client, cache)
    data = await _fetch(skill, entry.uri)
    try:
        is_same = canonical(read_frontmatter(data)) == canonical(entry.frontmatter)
    except ValueError as error:
        raise SkillError(f"{clipped(entry.uri)}: {error}") from None
    if not is_same:
        raise SkillError(f"{clipped(entry.uri)}: the frontmatter differs from that of the entry; {_AGAIN}")
    skill.text = data.decode()
    return skill


async def read_directory(client: Any, uri: str) -> list[Any]:
    """Return the resources that a directory contains now, which may differ from what entries list.

    Args:
        client: the client.
        uri: the URI of the directory, without a slash at the end.

    Raises:
        MissingCapability: the server does not declare ``directoryRead``.
        PeerError: there is no such directory.
    """
    return [each async for each in _stubs(client, "resources/directory/read", "directoryRead").iter_resources(uri=uri)]


def _stubs(client: Any, method: str, setting: str = "") -> Any:
    settings = Skills().peer_settings(client.connection)
    if settings is None or (setting and not settings.get(setting)):
        name = "extensions.io.modelcontextprotocol/skills"
        raise MissingCapability(f"server.{name}{'.' * bool(setting)}{setting}", method)
    return import_module(PACKAGE).ClientMixin(client.__caller__)


def _problem(entry: Any, dynamic: bool) -> str | None:
    """Return which rule of the extension an entry breaks, or None."""
    base, files = entry.uri.removesuffix(SKILL), entry.resources
    if base == entry.uri or base.rstrip("/").rpartition("/")[2] != quote(str(entry.frontmatter.get("name"))):
        return "the URI must end with the name of the skill and SKILL.md"
    if files == "dynamic":
        return None if dynamic else "its files have no digests; dynamic=True loads it all the same"
    uris = [file.uri for file in files]
    if len(uris) > MAX_FILES or sum(file.size for file in files) > MAX_BYTES:
        return f"it exceeds {MAX_FILES} files or {MAX_BYTES:,} bytes"
    if entry.uri not in uris or len(set(map(unquote, uris))) != len(uris):
        return "the manifest must list SKILL.md, and each file once"
    for file in files:
        if not _is_inside(file.uri, base):
            return f"{clipped(file.uri)} is not a file in its folder"
        if not _DIGEST.fullmatch(file.digest):
            return f"the digest of {clipped(file.uri)} must be sha256: and 64 hexadecimal digits"
    return None


def _is_inside(uri: str, base: str) -> bool:
    inner = uri.removeprefix(base)
    parts: Iterable[str] = unquote(inner).replace("\\", "/").split("/")
    return inner != uri and not {"", ".", ".."}.intersection(parts) and not set("?#").intersection(inner)


def _digest(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


async def _fetch(skill: Skill, uri: str) -> bytes:
    listed, cache, file = skill.entry.resources, skill.cache, None
    if listed != "dynamic":
        file = next((each for each in listed if unquote(each.uri) == unquote(uri)), None)
        if file is None:
            raise SkillError(f"{clipped(uri)} is not listed in the entry; if the skill has changed, {_AGAIN}")
        uri = file.uri  # servers escape different characters
    if file and cache and (kept := await THREADS.run(_kept, cache, uri, file.digest)) is not None:
        return kept
    found = [each for each in (await skill.client.read_resource(uri=uri)).contents if each.uri == uri]
    if len(found) != 1:
        raise SkillError(f"{clipped(uri)}: the server sent {len(found)} contents for it instead of one")
    text: str | None = getattr(found[0], "text", None)
    try:
        data = b64decode(found[0].blob, validate=True) if text is None else text.encode()
    except Error:
        raise SkillError(f"{clipped(uri)}: the server sent no valid Base64") from None
    if file is None:
        skill.left -= len(data)
        if skill.left < 0:
            raise SkillError(f"{clipped(uri)}: more than {MAX_BYTES:,} bytes of this dynamic skill were read")
    elif len(data) != file.size or _digest(data) != file.digest:
        what = f"{len(data)} bytes instead of {file.size}" if len(data) != file.size else "another digest"
        raise SkillError(f"{clipped(uri)} has {what}; the skill has changed, or was altered: {_AGAIN}")
    elif cache:
        await THREADS.run(_keep, cache, uri, file.digest, data)
    return data
