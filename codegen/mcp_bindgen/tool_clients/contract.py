"""A contract: the tools of one server from which a client is generated. It is stored in a lock file.

The lock file is JSON: ``format``, ``server`` (``name``, ``version``) and ``tools``, sorted by name, each as the server
listed it, but only the properties that callers rely on.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.sources import is_nested_deeper
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, refuse_os_errors
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.tool_clients.saved import read_saved, tools_in


@dataclass(frozen=True, slots=True)
class Hint:
    """One annotation.

    Attributes:
        name: its name on the wire.
        python: its name in Python.
        default: what a caller has to assume if the annotation is absent: the worst case.
        yes: what it says if it is true.
        no: what it says if it is false.
    """

    name: str
    python: str
    default: bool
    yes: str
    no: str


HINTS = (
    Hint("readOnlyHint", "read_only", False, "does not modify its environment", "may modify its environment"),
    Hint("destructiveHint", "destructive", True, "may make destructive changes", "only makes additive changes"),
    Hint(
        "idempotentHint",
        "idempotent",
        False,
        "repeating a call with the same arguments has no further effect",
        "repeating a call may have further effects",
    ),
    Hint("openWorldHint", "open_world", True, "may reach external systems", "stays within a closed domain"),
)
_OF_CHANGES = ("destructiveHint", "idempotentHint")
"""Hints that only apply to tools that modify something."""


def describe(tool: "Tool") -> str:
    """Return in words what a tool's annotations claim; a hint that is absent claims nothing."""
    stated = {hint: tool.hint(hint.name) for hint in HINTS}
    if tool.hint("readOnlyHint"):
        stated = {hint: value for hint, value in stated.items() if hint.name not in _OF_CHANGES}
    return "; ".join(hint.yes if value else hint.no for hint, value in stated.items() if value is not None)


def effective(tool: "Tool") -> dict[str, bool]:
    """Return what a tool's annotations claim, by the names of Python; one that modifies nothing destroys nothing."""
    stated = {hint.python: value for hint in HINTS if (value := tool.hint(hint.name)) is not None}
    return stated | ({"destructive": False} if tool.hint("readOnlyHint") else {})


FORMAT = 1
"""The version of the lock file's format: incremented whenever programs that read it must change."""
MAX_BYTES = 128 * 1024 * 1024
"""The maximum file size, in bytes."""
MAX_NAME = 256
"""The maximum length of a tool's name, in characters."""
MAX_DEPTH = 128
"""The maximum nesting depth of a schema, the same as for messages."""
MAX_TOOLS = 10_000
"""The maximum number of tools in a contract."""
MEMBERS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution")
GATED = "x-needs-capabilities"
"""Marks, in a lock file, a tool that its server shows only to clients which declare capabilities."""
DIGESTED = ("inputSchema", "outputSchema", "annotations", "execution")
"""The properties that callers rely on; the runtime compares their digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool, as its server lists it; `where` is its place in the file it was read from."""

    name: str
    raw: Mapping[str, Any]
    where: Location

    @property
    def description(self) -> str:
        """The server's description; may be empty."""
        return next((text for key in ("description", "title") if isinstance(text := self.raw.get(key), str)), "")

    @property
    def input_schema(self) -> Any:
        """The JSON Schema of its arguments."""
        return self.raw.get("inputSchema")

    @property
    def output_schema(self) -> Any:
        """The JSON Schema of its structured content, None if it declares none."""
        return self.raw.get("outputSchema")

    @property
    def is_gated(self) -> bool:
        """Whether the server shows it only to clients that declare capabilities."""
        return self.raw.get(GATED) is True

    @property
    def task(self) -> str:
        """Whether a call may run as a task: ``required``, ``optional``, or empty if not (execution.taskSupport)."""
        execution = self.raw.get("execution")
        support = execution.get("taskSupport") if is_object(execution) else None
        return str(support) if support in ("required", "optional") else ""

    def hint(self, name: str) -> bool | None:
        """Return one of its annotations, None if it is absent."""
        annotations = self.raw.get("annotations")
        value = annotations.get(name) if is_object(annotations) else None
        return value if isinstance(value, bool) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The tools of one server, sorted by name.

    Attributes:
        server: its name.
        version: its version.
        tools: the tools.
        repeated: those whose name was already listed.
        invalid: the names of tools that it lists, but whose entries are not valid, and why.
    """

    server: str
    version: str
    tools: tuple[Tool, ...]
    repeated: tuple[Tool, ...] = ()
    invalid: Mapping[str, str] = field(default_factory=dict[str, str])

    def lock(self) -> str:
        """Return the text of the lock file."""
        tools = [{key: tool.raw[key] for key in (*MEMBERS, GATED) if key in tool.raw} for tool in self.tools]
        server = {"name": self.server, "version": self.version}
        return dump({"format": FORMAT, "server": server, "tools": tools}, indent=2) + "\n"


def make_contract(
    tools: Iterable[object],
    *,
    server: str,
    version: str,
    where: Location,
    diagnostics: Diagnostics,
    gated: Collection[object] = (),
) -> Contract:
    """Create a contract from a server's list; entries that are not tools are skipped and reported.

    `gated` names the tools that the server shows only to clients which declare capabilities.
    """
    found: dict[str, Tool] = {}
    repeated: dict[str, Tool] = {}
    for number, value in enumerate(tools):
        place = where.child(number)
        if number >= MAX_TOOLS:
            diagnostics.warning(where, f"more than {MAX_TOOLS} tools; the rest is skipped")
            break
        if not is_object(value):
            diagnostics.warning(place, "is not a tool, since it is not an object; skipped")
            continue
        raw = value
        name = raw.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
            diagnostics.warning(place, f"has no name of up to {MAX_NAME} characters; the tool is skipped")
        elif name in found:
            diagnostics.warning(place, f"{name!r} is listed twice; the first one is used")
            repeated[name] = found[name]
        elif _has_surrogates(raw):
            diagnostics.warning(place, "is nested too deeply, or contains invalid Unicode; the tool is skipped")
        else:
            marked = {**raw, GATED: True} if name in gated else raw
            found[name] = Tool(name=name, raw=_shallow(marked, place, diagnostics), where=place)
    unique = tuple(found[name] for name in sorted(found))
    return Contract(server=server, version=version, tools=unique, repeated=tuple(repeated.values()))


def read_contract(path: Path, diagnostics: Diagnostics) -> Contract:
    """Read a lock file, or tools that were saved in another form; see `mcp_bindgen.tool_clients.saved`.

    Raises:
        InputError: it cannot be read, or is none of these.
    """
    where = Location(source=str(path))
    value = read_saved(_read(path, where), path, diagnostics)
    server: Any = {}
    if is_object(value):
        document = value
        if document.get("format", FORMAT) != FORMAT:
            raise InputError.at(where, f"a lock file of another format; this mcp-bindgen reads format {FORMAT}")
        server = document.get("server")
        if is_object(document.get("result")) and is_list(document["result"].get("tools")):
            document, where = document["result"], where.child("result")
        if is_list(document.get("tools")):
            where = where.child("tools")
    value = tools_in(value, where)
    known = server if is_object(server) else {}
    name, version = known.get("name"), known.get("version")
    return make_contract(
        value,
        server=name if isinstance(name, str) else path.name.split(".")[0],
        version=version if isinstance(version, str) else "",
        where=where,
        diagnostics=diagnostics,
    )


def dump(value: Any, *, indent: int | None = None) -> str:
    """Return a JSON value as text, in ASCII, with properties in their order."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators)


def digest(value: Any) -> str:
    """Hash a JSON value as the runtime does (`mcp_runtime.tools.digest`)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(path: Path, where: Location) -> bytes:
    with refuse_os_errors(where), path.open("rb") as file:  # a pipe or a device has no size
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError.at(where, f"larger than {MAX_BYTES // 1024**2} MiB, the maximum size of a list of tools")
    return data


def _shallow(raw: Mapping[str, Any], where: Location, diagnostics: Diagnostics) -> Mapping[str, Any]:
    """Return a tool without properties that are nested too deeply; a missing schema accepts any value."""
    found: dict[str, Any] = {}
    for name, value in raw.items():
        deep = is_nested_deeper(value, MAX_DEPTH)
        if deep:
            diagnostics.warning(where.child(name), f"nested deeper than {MAX_DEPTH}; skipped")
        found[name] = True if deep else value
    return found


def _has_surrogates(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return True
    return False


def refuse_other_server(path: Path, old: Contract, new: Contract) -> None:
    """Refuse to compare servers whose contracts have no tool in common.

    Raises:
        InputError: they have none.
    """
    names = {tool.name for tool in old.tools} & {tool.name for tool in new.tools}
    if old.server != new.server and old.tools and new.tools and not names:
        message = f"contains the contract of {old.server}, not of {new.server}: they have no tool in common"
        raise InputError.at(path, message)
