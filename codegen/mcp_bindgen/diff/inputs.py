"""Load one side of a comparison: a released revision, a schema file, a URL, or a file of a git commit."""

import subprocess
from dataclasses import replace
from pathlib import Path

from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.sources import MAX_BYTES, SourceKind, SourceText, is_url, read_source, source_of, too_large
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released, load_sources

UNNAMED = "unreleased"
"""The revision of a schema.json that is not in a folder named after a released revision."""


def load_sides(old: str, new: str, diagnostics: Diagnostics) -> tuple[Protocol, Protocol]:
    """Load both sides of a comparison from the same kinds of files.

    A schema.json contains less than a schema.ts. If one side has only a schema.json, the other is read from its
    schema.json alone too, so that what the converter loses does not count as a change.

    Raises:
        InputError: one of them cannot be loaded.
    """
    names, sides = (old, new), [load_side(side, diagnostics) for side in (old, new)]
    whole = list(map(is_typescript, sides))
    if whole[0] != whole[1]:
        more = whole.index(True)
        sides[more] = _json_alone(names[more], sides[more])
    return sides[0], sides[1]


def is_typescript(protocol: Protocol) -> bool:
    """Whether a revision was read from a schema.ts, among others: only that says what extends what."""
    return any(source.kind == SourceKind.TYPESCRIPT for source in protocol.sources)


def _json_alone(side: str, protocol: Protocol) -> Protocol:
    """Load a side without its schema.ts, if it has a schema.json; an unnamed revision gets no shipped half."""
    source = shipped_source(side, SourceKind.JSON_SCHEMA) if side in released() else side_source(side)
    if source.kind is SourceKind.TYPESCRIPT:
        return protocol
    return replace(load_sources([source], UNNAMED, Diagnostics()), revision=protocol.revision)


def load_side(side: str, diagnostics: Diagnostics) -> Protocol:
    """Load what the user named.

    Raises:
        InputError: there is no such revision, file or commit, or the file is not an MCP schema.
    """
    if side in released():
        return load_released(side)
    source = side_source(side)
    folder = Path(source.name).parent.name
    name = folder if folder in released() else UNNAMED
    states_revision = source.kind is SourceKind.TYPESCRIPT and b"LATEST_PROTOCOL_VERSION" in source.data
    return load_sources([source], None if states_revision else name, diagnostics)


def side_source(side: str) -> SourceText:
    """Read the file that the user named: on disk, behind a URL, or in a git commit.

    Raises:
        InputError: there is no such file or commit.
    """
    ref, colon, path = side.partition(":")
    if not colon or is_url(side) or Path(side).exists():
        if not Path(side).exists() and "/" not in side and "." not in side:
            known = ", ".join(released())
            message = f"neither a released revision ({known}) nor a file"
            raise InputError.at(Location(source=side), message)
        return read_source(side)
    if ref.startswith("-"):
        raise InputError.at(Location(source=side), "a git commit does not begin with a dash")
    try:
        git = subprocess.Popen(
            ["git", "cat-file", "blob", f"{ref}:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise InputError.at(Location(source=side), f"git cannot be run: {error.strerror}") from None
    with git:
        assert git.stdout is not None and git.stderr is not None
        data = git.stdout.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            git.kill()
            raise too_large(side)
        said = git.stderr.read().decode("utf-8", "replace")
    if git.returncode:
        raise InputError.at(Location(source=side), f"git cannot show it: {said.strip().removeprefix('fatal: ')}")
    return source_of(data, side)
