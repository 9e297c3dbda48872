"""Read source files from disk or from a URL, within limits; their content determines the format.

JSON is parsed strictly: violations of I-JSON (RFC 7493) are reported, not repaired.
"""

import codecs
import hashlib
import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, refuse_os_errors
from mcp_bindgen.ir.json_values import as_list, is_object

MAX_BYTES = 16 * 1024 * 1024
"""The maximum size of a source, in bytes: about a hundred times the largest official one."""
TIMEOUT = 30.0
"""The timeout of a whole download, in seconds."""
_FENCE = re.compile(rb"(`{3,}|~{3,})\s*(\w*)")
_DECLARATION = re.compile(rb"^\s*(?:export\s+)?(?:declare\s+)?(?:interface|type|enum|const)\s", re.MULTILINE)

BLOCK = b"//"
"""The line before each block of TypeScript that was in a page of Markdown."""


class SourceKind(StrEnum):
    """The two languages in which MCP publishes its schema."""

    JSON_SCHEMA = "schema.json"
    TYPESCRIPT = "schema.ts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """One source: its origin, its format, and its bytes."""

    name: str
    kind: SourceKind
    data: bytes

    @property
    def sha256(self) -> str:
        """The sha256 of the bytes, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


def read_source(place: str) -> SourceText:
    """Read a schema.json or schema.ts from a path or an http(s) URL.

    The name of the source is the place, of a URL only what may be shown (see `public_name`).

    Raises:
        InputError: it cannot be read, is too large, or is neither of the two.
    """
    return source_of(read_place(place), public_name(place))


def read_place(place: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file, or of an http(s) URL.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    return _download_in_time(place, max_bytes) if is_url(place) else read_bytes(Path(place), place, max_bytes)


def source_of(data: bytes, place: str) -> SourceText:
    """Return bytes as a source; of Markdown, the TypeScript of its fenced blocks, each in the lines where it was.

    Raises:
        InputError: it is neither a schema.json nor a schema.ts, or Markdown without TypeScript.
    """
    if b"\0" in data[:4096]:
        raise InputError.at(place, "this is a binary file; a schema.json or a schema.ts is expected")
    if place.endswith((".md", ".mdx")):
        data = _blocks(data, place)
    start = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    if start == b"<":
        raise InputError.at(place, "this is a web page; give the address of the file itself (on GitHub: Raw)")
    is_json = start in (b"{", b"[") or place.endswith(".json")
    return SourceText(name=place, kind=SourceKind.JSON_SCHEMA if is_json else SourceKind.TYPESCRIPT, data=data)


def _blocks(data: bytes, place: str) -> bytes:
    """Return Markdown with every line emptied that is not inside a block of TypeScript with declarations.

    `BLOCK` is the line before each. Texts also show a single property, before and after a change, in blocks that
    declare nothing.
    """
    lines, block, fence, is_typescript = list[bytes](), list[bytes](), b"", False
    end = b"\0"
    for line in (*data.splitlines(), end):
        text = line.strip()
        opened = _FENCE.match(text)
        if not fence and opened:
            fence, is_typescript = opened[1], opened[2] in (b"ts", b"typescript")
        elif fence and text in (fence, end):
            is_read = is_typescript and _DECLARATION.search(b"\n".join(block))
            lines += [BLOCK if is_read else b"", *(block if is_read else [b""] * len(block)), b""]
            block, fence = [], b""
        elif fence:
            block.append(line)
        else:
            lines.append(b"")
    if not any(lines):
        raise InputError.at(place, "no TypeScript in it: types are read from blocks fenced with ```ts")
    return b"\n".join(lines) + b"\n"


def is_url(place: str) -> bool:
    """Whether a text is the URL of a source, which is to be downloaded, or of a server."""
    return place.lower().startswith(("http://", "https://"))


def public_name(place: str) -> str:
    """Return a URL without name, password, query and fragment, which may be secrets; anything else as it is."""
    if not is_url(place):
        return place
    scheme, mark, rest = re.split(r"[?#]", place, maxsplit=1)[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def decode(source: SourceText) -> str:
    """Return the text of a source.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError.at(source.name, f"not UTF-8: {error.reason} at byte {error.start}") from None


def too_large(place: str, max_bytes: int = MAX_BYTES) -> InputError:
    """Return the error about a source above the maximum size."""
    return InputError.at(place, f"larger than {max_bytes // 2**20} MiB, the maximum size of a schema")


def read_bytes(path: Path, place: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: there is no such file, it cannot be read, or it is larger than a schema may be.
    """
    with refuse_os_errors(place):
        if not path.is_file():
            reason = "this is a folder; give a file in it" if path.is_dir() else "no such file"
            raise InputError.at(place, reason)
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise too_large(place, max_bytes)
    return data


def _download_in_time(url: str, max_bytes: int) -> bytes:
    """Download a file within `TIMEOUT`: the HTTP client's own timeouts do not cover a slow, steady response."""
    done: Queue[bytes | InputError] = Queue()

    def work() -> None:
        try:
            done.put(_download(url, max_bytes))
        except InputError as error:
            done.put(error)

    Thread(target=work, daemon=True).start()
    try:
        found = done.get(timeout=TIMEOUT)
    except Empty:
        message = f"not downloaded within {TIMEOUT:g} seconds"
        raise InputError.at(public_name(url), message) from None
    if isinstance(found, InputError):
        raise found
    return found


def _download(url: str, max_bytes: int) -> bytes:
    import httpx2  # Only a URL needs it, and its import is not cheap.

    where = Location(source=public_name(url))
    try:
        # Longer than the whole download may take: nobody waits for it then, and it only ends the thread.
        with httpx2.stream("GET", url, follow_redirects=True, timeout=2 * TIMEOUT) as response:
            response.raise_for_status()
            data = b""
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > max_bytes:
                    raise too_large(public_name(url), max_bytes)
            return data
    except httpx2.HTTPStatusError as error:
        raise InputError.at(where, f"the server answered {error.response.status_code}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        said = str(error).replace(url, public_name(url))
        raise InputError.at(where, f"cannot be downloaded: {said}") from None


MAX_DEPTH = 500
"""The maximum nesting depth of arrays and objects; the limit of Python's parser depends on its release."""


def parse_json(text: str | bytes, source: str, diagnostics: Diagnostics) -> object:
    """Parse JSON strictly, as I-JSON (RFC 7493) asks: UTF-8, unique keys, finite numbers, no lone surrogates.

    Nesting deeper than `MAX_DEPTH` is an error too.
    """
    where = Location(source=source)

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(items)
        if len(members) != len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            diagnostics.error(where, f"the key {twice!r} occurs twice in one object; keep one")
        return members

    def constant(name: str) -> float:
        diagnostics.error(where, f"{name} is not JSON")
        return 0.0

    def number(digits: str) -> float:
        if math.isinf(float(digits)):
            shown = digits if len(digits) <= 20 else f"{digits[:20]}..."
            diagnostics.error(where, f"{shown} is too large for a number")
            return 0.0
        return float(digits) if set(digits) & set(".eE") else int(digits)

    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        value: object = json.loads(
            decoded, object_pairs_hook=pairs, parse_constant=constant, parse_int=number, parse_float=number
        )
        if is_nested_deeper(value, MAX_DEPTH):
            raise RecursionError
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        at = Location(source=source, line=error.lineno, column=error.colno)
        diagnostics.error(at, f"not valid JSON: {error.msg}")
    except UnicodeEncodeError:
        diagnostics.error(where, "a lone surrogate is not valid Unicode")
    except UnicodeDecodeError as error:
        diagnostics.error(where, f"not UTF-8: {error.reason} at byte {error.start}")
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        diagnostics.error(where, f"cannot be read as JSON: {reason}")
    return None


def is_nested_deeper(value: object, limit: int) -> bool:
    """Whether arrays and objects are nested deeper than a limit."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        level = [child for parent in level for child in (parent.values() if is_object(parent) else as_list(parent))]
        if not level:
            return False
    return True
