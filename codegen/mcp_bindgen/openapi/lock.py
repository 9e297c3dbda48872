"""The lock file of a server: which operations were chosen, and digests of all that their tools depend on.

The lock file is JSON: ``format``, ``document`` (source, sha256, title, version), ``url``, ``schemes``, ``operations``
and ``schemas``. Digests are by parameter, by field and by property, so that a change of the document is found where
it is. It has neither secrets nor text of the document beyond names.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.paths import read_json
from mcp_bindgen.ir.diagnostics import InputError, clip
from mcp_bindgen.ir.json_values import as_object, is_object
from mcp_bindgen.openapi.credentials import Secret
from mcp_bindgen.openapi.document import Document, Json
from mcp_bindgen.openapi.names import one_line
from mcp_bindgen.openapi.operations import Listed, Operation
from mcp_bindgen.openapi.parameters import Argument
from mcp_bindgen.openapi.schemas import Schemas

FORMAT = 1
"""The version of the format."""
MAX_USERS = 3
"""How many operations are named that use a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What a lock file freezes.

    Attributes:
        url: where the API is.
        schemes: digests of the security schemes by name.
        operations: by key, digests of what each consists of.
        schemas: by name, digests of properties.
        document: where the document is from.
        users: the operations that use a schema, by its name.
    """

    url: str
    schemes: Mapping[str, str]
    operations: Mapping[str, Mapping[str, str]]
    schemas: Mapping[str, Mapping[str, str]]
    document: Mapping[str, str]
    users: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def text(self) -> str:
        """Return the content of the lock file."""
        whole = {
            "format": FORMAT,
            "document": self.document,
            "url": self.url,
            "schemes": self.schemes,
            "operations": self.operations,
            "schemas": self.schemas,
        }
        return json.dumps(whole, indent=1) + "\n"


def make_lock(
    document: Document, operations: Sequence[Operation], schemas: Schemas, url: str, secrets: Iterable[Secret]
) -> Lock:
    """Return what the tools of the chosen operations depend on."""
    users: dict[str, list[str]] = {}
    for one in operations:
        for name in schemas.used([[each.schema for each in one.arguments], one.result]):
            users.setdefault(name, []).append(one.listed.key)
    return Lock(
        url=url,
        schemes={each.scheme: digest([each.kind, each.name]) for each in secrets},
        operations={one.listed.key: dict(_parts(one)) for one in operations},
        schemas={name: dict(_properties(schemas.definitions[name])) for name in sorted(users)},
        document={
            "source": one_line(document.source),
            "sha256": document.sha256,
            "title": one_line(document.info.get("title", "")),
            "version": one_line(document.info.get("version", "")),
        },
        users=users,
    )


def read_lock(path: Path) -> Lock | None:
    """Return what a lock file freezes, None if it does not exist.

    Raises:
        InputError: it cannot be read, or is not a lock file of this format.
    """
    if not path.exists():
        return None
    value = read_json(path)
    if not is_object(value) or value.get("format") != FORMAT or not is_object(value.get("operations")):
        raise InputError.at(path, f"not a lock file of format {FORMAT} that `mcp-bindgen openapi` wrote")
    parts = {name: as_object(value.get(name)) for name in ("schemes", "operations", "schemas", "document")}
    return Lock(url=str(value.get("url", "")), **parts)


def new_matches(lock: Lock, chosen: Iterable[Listed], include: Sequence[str]) -> Iterator[Listed]:
    """Iterate over chosen operations that only a glob matches, and that the lock does not have."""
    for each in chosen:
        if each.key not in lock.operations and not {each.key, f"{each.method} {each.path}"} & {*include}:
            yield each


def changes(old: Lock, new: Lock, present: Iterable[str], found: Iterable[Listed]) -> Iterator[str]:
    """Iterate over what changed between two locks, in words.

    Args:
        old: the lock file.
        new: what it would be now.
        present: the keys of all operations of the document.
        found: new matches of globs, which are not added.
    """
    if old.url != new.url:
        yield f"the API is at {clip(new.url, 200)} instead of {clip(old.url, 200)}; accept that with --url"
    yield from _differences("security scheme ", old.schemes, new.schemes)
    known = set(present)
    for key in old.operations:
        if key not in new.operations:
            yield f"{key}: {'no longer chosen' if key in known else 'removed from the document'}"
    for key, parts in new.operations.items():
        if key in old.operations:
            yield from _differences(f"{key}: ", old.operations[key], parts)
        else:
            yield f"{key}: added"
    for name, properties in new.schemas.items():
        users = new.users.get(name, ())
        more = f" and {len(users) - MAX_USERS} more" if len(users) > MAX_USERS else ""
        used = f"{', '.join(users[:MAX_USERS])}{more}: {name}"
        if name in old.schemas:
            yield from _differences(f"{used} ", old.schemas[name], properties)
        else:
            yield f"{used} added"
    yield from (f"{name} removed" for name in old.schemas if name not in new.schemas)
    for each in found:
        yield f"{each.key}: new in the document, and matched by a glob; name it with --include, or use --update"


def sizes(one: Operation, schemas: Schemas) -> tuple[int, int]:
    """Return about how many characters the input and the output schema of a tool have."""
    arguments = {each.name: each.schema for each in one.arguments}
    return _size(arguments, schemas), _size(one.result, schemas) if one.result is not None else 0


def digest(value: Any) -> str:
    """Return a short digest of a value of JSON, whatever the order of its properties."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _size(schema: Any, schemas: Schemas) -> int:
    used = {name: schemas.definitions[name] for name in schemas.used([schema])}
    return len(json.dumps([schema, used], separators=(",", ":")).replace(',"additionalProperties":true', ""))


def _parts(one: Operation) -> Iterator[tuple[str, str]]:
    """Iterate over what an operation consists of, by name, with digests."""
    listed = one.listed
    yield "request", digest([listed.method, listed.path, one.tool, one.body and [one.body.kind, one.body.media_type]])
    yield "description", digest(one.description)
    yield "security", digest(one.security)
    for each in one.arguments:
        yield _name(each), digest([each.schema, each.required, each.style, each.explode, each.reserved, each.content])
    yield "result", digest([one.result, one.is_text])


def _name(argument: Argument) -> str:
    return f"{argument.place} {argument.key}".strip()


def _properties(definition: Json) -> Iterator[tuple[str, str]]:
    required = definition.get("required", [])
    yield "", digest({key: value for key, value in definition.items() if key not in ("properties", "required")})
    for name, schema in as_object(definition.get("properties")).items():
        yield f"property {name}", digest([schema, name in required])


def _differences(prefix: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in (*old, *(name for name in new if name not in old)):
        what = f"{prefix}{name}".strip()
        if name not in new:
            yield f"{what} removed"
        elif name not in old:
            yield f"{what} added"
        elif old[name] != new[name]:
            yield f"{what} changed"
