"""Chooses operations of a document, and finds what each sends and receives."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, clip, did_you_mean
from mcp_bindgen.ir.json_values import as_list, as_object, is_object
from mcp_bindgen.openapi.bodies import Body, body_of, result_of
from mcp_bindgen.openapi.document import Document, Json
from mcp_bindgen.openapi.names import MAX_NAME, argument_name, function_name, mark, one_line, short, tool_name
from mcp_bindgen.openapi.parameters import Argument, Reading, parameters_of
from mcp_bindgen.openapi.schemas import Schemas

METHODS = ("get", "head", "options", "put", "post", "patch", "delete")
_SAFE_PATH = re.compile(r"/[^\s?#\\\x00-\x1f\x7f]*(\?[\w=&.-]+)?", re.ASCII)
"""A path; a fixed query after it is not of OpenAPI, but used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An operation as the document lists it.

    Attributes:
        key: its operationId; without one, its method and path.
        method: its method, in upper case.
        path: its path, with parameters in braces.
        raw: the object.
        item: the path item that it is in.
    """

    key: str
    method: str
    path: str
    raw: Json
    item: Json

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        return [str(tag) for tag in as_list(self.raw.get("tags"))]

    def matches(self, globs: Iterable[str]) -> bool:
        """Whether one of the globs matches its operationId, its method and path, or one of its tags."""
        names = (self.key, f"{self.method} {self.path}", *(f"tag:{tag}" for tag in self.tags))
        return any(fnmatchcase(name, glob) for glob in globs for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a tool sends and receives.

    Attributes:
        listed: the operation.
        tool: the name of the tool.
        description: what it is for.
        arguments: the parameters and the fields of the body.
        body: how the body is sent; None without one.
        result: the schema of the result; or None.
        is_text: whether the result is not JSON.
        security: alternatives, each a set of names of schemes; None for those of the document.
    """

    listed: Listed
    tool: str
    description: str
    arguments: tuple[Argument, ...] = ()
    body: Body | None = None
    result: Json | None = None
    is_text: bool = False
    security: tuple[tuple[str, ...], ...] | None = None

    @property
    def function(self) -> str:
        """The name of the function."""
        return function_name(self.tool)


@dataclass(slots=True)
class Selection:
    """Which operations are chosen.

    Attributes:
        include: globs of operations; all without any.
        exclude: globs of operations that are left out.
    """

    include: list[str] = field(default_factory=list[str])
    exclude: list[str] = field(default_factory=list[str])

    def choose(self, document: Document) -> list[Listed]:
        """Return the chosen operations in the order of the document.

        Raises:
            InputError: a glob of `include` matches none, or none is left.
        """
        every = listed(document)
        for glob in self.include:
            if not any(each.matches([glob]) for each in every):
                hint = did_you_mean(glob, (each.key for each in every))
                message = f"no operation matches {clip(repr(glob), 80)}; {hint or '--list shows all of them'}"
                raise InputError.at("--include", message)
        found = [each for each in every if each.matches(self.include or ["*"]) and not each.matches(self.exclude)]
        if not found:
            raise InputError.at(document.source, f"no operation is left of {len(every)}")
        return found


def listed(document: Document) -> list[Listed]:
    """Return all operations of a document.

    Raises:
        InputError: two have one operationId, or a path cannot be one.
    """
    found: dict[str, Listed] = {}
    for path, item in as_object(document.raw["paths"]).items():
        if path.startswith("x-"):
            continue
        if not _SAFE_PATH.fullmatch(path):
            raise InputError.at(document.source, f"{clip(repr(path), 80)} is not a path: it has to begin with a slash")
        resolved = as_object(document.resolve(item))
        for method in METHODS:
            if is_object(raw := resolved.get(method)):
                given = raw.get("operationId")
                key = given if isinstance(given, str) and given else f"{method.upper()} {path}"
                if key in found:
                    place = f"{found[key].method} {found[key].path} and {method.upper()} {path}"
                    message = f"the operationId {clip(repr(key), 80)} is that of {clip(place, 200)}"
                    raise InputError.at(document.source, message)
                found[key] = Listed(key=key, method=method.upper(), path=path, raw=raw, item=resolved)
    return list(found.values())


def read_operations(
    document: Document, chosen: Iterable[Listed], schemas: Schemas, describe: int, diagnostics: Diagnostics
) -> list[Operation]:
    """Return what the tools of the chosen operations send and receive.

    Raises:
        InputError: a reference of theirs leads nowhere or out of the document, or something has the wrong shape.
    """
    found: dict[str, Operation] = {}
    for one in chosen:
        where = Location(source=document.source).child("paths", one.path, one.method.lower())
        tool = tool_name(one.key)
        if tool in found:
            diagnostics.note(where, f"another tool has the name {tool}")
            tool = f"{tool[: MAX_NAME - 7]}_{mark(one.key)}"
        reading = Reading(document=document, schemas=schemas, where=where, tool=tool, diagnostics=diagnostics)
        found[tool] = _read(reading, one, describe)
    return list(found.values())


def _read(reading: Reading, one: Listed, describe: int) -> Operation:
    arguments = list(parameters_of(reading, one.item, one.raw, one.path))
    body, fields = body_of(reading, one.raw, one.method)
    for each in fields:
        taken = {other.name for other in arguments}
        arguments.append(each.named(argument_name(each.key, "body", taken)))
    result, is_text = result_of(reading, one.raw)
    return Operation(
        listed=one,
        tool=reading.tool,
        description=_description(one, describe),
        arguments=tuple(sorted(arguments, key=lambda each: not each.required)),
        body=body,
        result=result,
        is_text=is_text,
        security=alternatives(one.raw.get("security")),
    )


def alternatives(security: object) -> tuple[tuple[str, ...], ...] | None:
    """Return the alternatives of a security requirement, None if it states none."""
    if security is None:
        return None
    return tuple(tuple(map(str, as_object(each))) for each in as_list(security))


def _description(one: Listed, limit: int) -> str:
    title, text = short(one.raw.get("summary"), 100).rstrip("."), short(one.raw.get("description"), 2 * limit)
    if title and text and not text.lower().startswith(title.lower()):
        text = f"{title}. {text}"
    found = text or title or one_line(f"{one.method} {one.path}")
    return f"Deprecated. {found}" if one.raw.get("deprecated") is True else found
