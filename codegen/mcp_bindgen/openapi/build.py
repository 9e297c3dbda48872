"""From a document and the options of a user to the files of a server."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, count
from mcp_bindgen.openapi.credentials import origin_of, refuse_header, secrets_of, security_of, used_schemes
from mcp_bindgen.openapi.document import Document
from mcp_bindgen.openapi.lock import Lock, make_lock, new_matches, read_lock, sizes
from mcp_bindgen.openapi.models import make_models
from mcp_bindgen.openapi.module import ServerView, refuse_edited, render, resource_uri, tool_view
from mcp_bindgen.openapi.names import one_line, tool_name
from mcp_bindgen.openapi.operations import Listed, Operation, Selection, listed, read_operations
from mcp_bindgen.openapi.schemas import Reduction, Schemas

MAX_TOOLS = 60
"""The number of tools from which `--max-tools` has to be given: models choose badly from more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user asks for.

    Attributes:
        out: the module.
        command: the command that generates it again.
        selection: the operations.
        reduction: how much of the schemas is kept.
        url: where the API is; empty for the document's first server.
        auth: secrets: ``SCHEME=KIND:VARIABLE``.
        forward: the header with the caller's own secret.
        not_read_only: globs of GETs that change something.
        max_tools: the maximum number of tools.
        is_of_resources: whether GETs become resources.
        is_update: whether new matches of globs and changed security schemes are accepted.
    """

    out: Path
    command: str
    selection: Selection
    reduction: Reduction
    url: str = ""
    auth: Sequence[str] = ()
    forward: str = ""
    not_read_only: Sequence[str] = ()
    max_tools: int = MAX_TOOLS
    is_of_resources: bool = False
    is_update: bool = False

    @property
    def lock(self) -> Path:
        """The lock file, beside the module."""
        return self.out.with_suffix(".lock.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was built.

    Attributes:
        text: the module.
        lock: what it depends on.
        old: what the lock file on disk says.
        operations: the operations that are tools.
        matches: new matches of globs, which are not.
        present: the keys of all operations of the document.
        input_size: about how many characters the input schemas have.
        output_size: about how many characters the output schemas have.
    """

    text: str
    lock: Lock
    old: Lock | None
    operations: Sequence[Operation]
    matches: Sequence[Listed] = field(default_factory=list[Listed])
    present: frozenset[str]
    input_size: int
    output_size: int


def build(document: Document, options: Options, diagnostics: Diagnostics) -> Built:
    """Return the module of a server and its lock.

    Raises:
        InputError: the document or an option cannot be used, or the module on disk was edited.
    """
    if options.forward:
        refuse_header(options.forward)
    refuse_edited(options.out)
    old, url = read_lock(options.lock), origin_of(document, options.url)
    chosen = options.selection.choose(document)
    matches = [] if old is None or options.is_update else list(new_matches(old, chosen, options.selection.include))
    chosen = [each for each in chosen if each not in matches]
    if len(chosen) > options.max_tools:
        message = (
            f"{count(len(chosen), 'operation')} are many for a model to choose from; --include fewer, or --max-tools"
        )
        raise InputError.at(document.source, f"{message} {len(chosen)}")
    schemas = Schemas(document, options.reduction)
    operations = read_operations(document, chosen, schemas, options.reduction.describe, diagnostics)
    module = options.out.stem
    secrets = secrets_of(document, options.auth, module, used_schemes(document, operations), diagnostics)
    models = make_models(operations, schemas)
    server = tool_name(module).replace("_", "-")
    every = listed(document)
    view = ServerView(
        name=server,
        title=one_line(document.info.get("title", "An API")),
        version=one_line(document.info.get("version", "")),
        total=len(every),
        url=url,
        secrets=secrets,
        security=security_of(document, secrets, options.auth),
        forward=options.forward,
        drop=options.reduction.drop,
        models=models,
        tools=[
            tool_view(
                one,
                models,
                is_read_only=not one.listed.matches(options.not_read_only),
                uri=resource_uri(server, one) if options.is_of_resources else "",
            )
            for one in operations
        ],
    )
    each_size = [sizes(one, schemas) for one in operations]
    return Built(
        text=render(view, document, options.command),
        lock=make_lock(document, operations, schemas, url, secrets),
        old=old,
        operations=operations,
        matches=matches,
        present=frozenset(each.key for each in every),
        input_size=sum(size for size, _ in each_size),
        output_size=sum(size for _, size in each_size),
    )


def refuse_unaccepted(built: Built, options: Options, diagnostics: Diagnostics) -> None:
    """Refuse what a lock file freezes and the document changed, and report new matches of globs.

    Raises:
        InputError: the API or a security scheme is another one.
    """
    old, new = built.old, built.lock
    if old is None:
        return
    if old.url != new.url and not options.url:
        message = f"the document moved the API from {old.url} to {new.url}; if it is right, give --url {new.url}"
        raise InputError.at(options.lock, message)
    moved = [name for name, found in new.schemes.items() if old.schemes.get(name, found) != found]
    if moved and not options.is_update:
        raise InputError.at(
            options.lock, f"the document changed the security scheme {moved[0]!r}; accept it by --update"
        )
    for each in built.matches:
        message = f"{each.key} is new and matched by a glob; name it with --include, or use --update to add it"
        diagnostics.warning(Location(source=document_source(new)), message)
    for key in old.operations.keys() - built.present:
        diagnostics.warning(Location(source=document_source(new)), f"{key} was removed; its tool is removed too")


def document_source(lock: Lock) -> str:
    """Return where the document of a lock is from."""
    return lock.document["source"]


def list_rows(document: Document, selection: Selection, reduction: Reduction) -> list[tuple[str, str, str, str]]:
    """Return a row for each operation: its id, its method and path, its tags, and the size of its schemas."""
    schemas = Schemas(document, reduction)
    chosen = selection.choose(document)
    operations = read_operations(document, chosen, schemas, reduction.describe, Diagnostics())
    found: list[tuple[str, str, str, str]] = []
    for one in operations:
        each = one.listed
        sent, returned = sizes(one, schemas)
        found.append((each.key, f"{each.method} {each.path}", ", ".join(each.tags), f"{sent:,} + {returned:,}"))
    return found


def parse_depth(levels: int | None) -> float:
    """Return a number of levels; without one, all."""
    return math.inf if levels is None else levels
