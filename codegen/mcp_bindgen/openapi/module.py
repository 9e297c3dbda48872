"""From chosen operations to the module of a server: its views, its header, and its text."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_bindgen.emit.header import HEADER_MARK, commented, header
from mcp_bindgen.emit.python.render import Page, Templates, format_source
from mcp_bindgen.ir.diagnostics import InputError, Location, refuse_os_errors
from mcp_bindgen.openapi.credentials import Secret
from mcp_bindgen.openapi.document import Document
from mcp_bindgen.openapi.models import Models
from mcp_bindgen.openapi.names import one_line
from mcp_bindgen.openapi.operations import Operation
from mcp_bindgen.openapi.parameters import Argument

TEMPLATE = "openapi.py.j2"
MAX_FORMATTED = 500_000
"""The size of a module in characters up to which black formats it, which takes as long as everything else."""
HINTS = {
    **dict.fromkeys(("GET", "HEAD", "OPTIONS"), "READS"),
    **dict.fromkeys(("PUT", "DELETE"), "REPLACES"),
    **dict.fromkeys(("POST", "PATCH"), "WRITES"),
}
"""The annotations of a tool by its method."""
JSON = "application/json"
_GROUPS = {"path": "path_", "query": "query", "header": "headers", "cookie": "cookies"}
_BODIES = {"json": "json_", "form": "form", "multipart": "multipart"}
_DIGEST = re.compile(r"^#   digest:   ([0-9a-f]{16})$", re.MULTILINE)
_CLASS = re.compile(r"[\w\[\], ]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """What the template shows of a tool.

    Attributes:
        operation: the operation.
        hint: the name of its annotations.
        types: the annotations of its arguments by name.
        returns: the type of its result.
        is_structured: whether the result is JSON.
        variable: the name of a variable for the result, which it needs if its type is not a class.
        groups: the arguments by the keyword of the call that they belong to.
        whole: the argument that is the whole body.
        keyword: the keyword of the whole body.
        json_type: the media type of a body of JSON, if it is not that of JSON itself.
        uri: the URI template of a resource; empty for a tool.
    """

    operation: Operation
    hint: str
    types: dict[str, str]
    returns: str
    is_structured: bool
    variable: str
    groups: dict[str, list[Argument]]
    whole: Argument | None
    keyword: str
    json_type: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """What the template shows of a server.

    Attributes:
        name: its name.
        title: the title of the API.
        version: the version of the API.
        total: the number of operations of the document.
        url: where the API is.
        secrets: the credentials.
        security: the schemes that operations need by default.
        forward: the header with the caller's own secret.
        drop: globs of properties that results do not have.
        models: the models.
        tools: the tools, or resources.
    """

    name: str
    title: str
    version: str
    total: int
    url: str
    secrets: Sequence[Secret]
    security: tuple[tuple[str, ...], ...]
    forward: str
    drop: tuple[str, ...]
    models: Models
    tools: Sequence[ToolView]

    @property
    def count(self) -> int:
        """The number of tools."""
        return len(self.tools)

    @property
    def hints(self) -> list[str]:
        """The names of the annotations that tools use."""
        return sorted({each.hint for each in self.tools if not each.uri})

    @property
    def typing(self) -> list[str]:
        """The names of `typing` that are used."""
        return self._used(("Annotated", "Any", "Literal"))

    @property
    def pydantic(self) -> list[str]:
        """The names of pydantic that are used."""
        return self._used(("MISSING", "BaseModel", "ConfigDict", "Field", "RootModel"))

    def _used(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.models.names]


def tool_view(one: Operation, models: Models, *, is_read_only: bool, uri: str = "") -> ToolView:
    """Return what the template shows of a tool."""
    groups: dict[str, list[Argument]] = {}
    whole = next((each for each in one.arguments if each.is_whole), None)
    body = one.body.kind if one.body else ""
    for each in one.arguments:
        if not each.is_whole:
            keyword = _GROUPS.get(each.place) or _BODIES[body]
            groups.setdefault(keyword, []).append(each)
    found = models.results.get(one.tool)
    variable = "result" if found is not None and (found == "Any" or _CLASS.fullmatch(found) is None) else ""
    while variable and any(variable == each.name for each in one.arguments):
        variable += "_"
    hint = HINTS[one.listed.method]
    return ToolView(
        operation=one,
        hint="READS" if is_read_only and hint == "READS" else "WRITES" if hint == "READS" else hint,
        types=models.arguments.get(one.tool, {}),
        returns=found or "str",
        is_structured=found is not None,
        variable=variable,
        groups={keyword: groups[keyword] for keyword in (*_GROUPS.values(), *_BODIES.values()) if keyword in groups},
        whole=whole,
        keyword=_BODIES.get(body, "content"),
        json_type=one.body.media_type if one.body and body == "json" and one.body.media_type != JSON else "",
        uri=uri,
    )


def resource_uri(server: str, one: Operation) -> str:
    """Return the URI template of an operation that is served as a resource; empty if it cannot be one."""
    if one.listed.method != "GET" or one.body or any(each.place not in ("path", "query") for each in one.arguments):
        return ""
    path = one.listed.path
    for each in one.arguments:
        if each.place == "path":
            path = path.replace(f"{{{each.key}}}", f"{{{each.name}}}")
    query = ",".join(each.name for each in one.arguments if each.place == "query")
    return f"{server}:/{path}" + (f"{{?{query}}}" if query else "")


def render(view: ServerView, document: Document, command: str) -> str:
    """Return the text of the module: formatted, with a header that has its digest."""
    page = Page(path="", template=TEMPLATE, context={"server": view})
    text = Templates().render([page], ())[""]
    if len(text) <= MAX_FORMATTED:
        text = format_source(text, Location(source=TEMPLATE))
    lines = (
        f"source:   {one_line(document.source)} sha256:{document.sha256[:16]}",
        *header(command),
        f"digest:   {_digest(text)}",
    )
    return commented(lines, "server.py") + text


def refuse_edited(path: Path) -> None:
    """Refuse to replace a file that was not generated, or was edited since.

    Raises:
        InputError: it was, or it cannot be read.
    """
    with refuse_os_errors(path):
        text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
    if not text.strip():
        return
    if not text.startswith(HEADER_MARK):
        raise InputError.at(path, "was not generated, so it is not replaced; name another file")
    stated = _DIGEST.search(text)
    if stated is None or _digest(text[stated.end() + 1 :]) != stated[1]:
        hint = "keep what you added in another file that mounts its app, and delete this one"
        raise InputError.at(path, f"was edited since it was generated, so it is not replaced; {hint}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
