"""From a contract to the files of a server: the source text of its module, and the lock file."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from pathlib import Path
from typing import Any

from mcp_bindgen.emit.header import HEADER_MARK, header
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.python.scope import names_in
from mcp_bindgen.ingest.paths import write_file
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, count
from mcp_bindgen.tool_clients.calling.plan import client_view, plan
from mcp_bindgen.tool_clients.contract import Contract, digest, read_contract
from mcp_bindgen.tool_clients.servers import Server
from mcp_bindgen.tool_clients.typing.names import client_name, is_class_name, method_names

TEMPLATE = "tools.py.j2"
COMMAND = "mcp-bindgen tools generate"
MAX_FORMATTED = 1_000
"""How many tools a module may have to be formatted by black, which takes about 20 ms for each."""


def module(contract: Contract, client: str, diagnostics: Diagnostics, command: str = COMMAND) -> str:
    """Return the module that calls the tools of a contract, formatted by black; `command` generates it again."""
    view = client_view(contract, client, plan(contract, client, diagnostics), diagnostics)
    methods = {tool.method for tool in view.tools}
    page = Page(
        path="tools.py",
        template=TEMPLATE,
        context={"client": view},
        bound=names_in(view) | methods,
        is_formatted=len(contract.tools) <= MAX_FORMATTED,
    )
    return Templates().render([page], _header(contract, command))[page.path]


def _header(contract: Contract, command: str) -> tuple[str, ...]:
    return (
        f"server:   {contract.server} {contract.version}".rstrip(),
        f"contract: {digest(json.loads(contract.lock()))}, {count(len(contract.tools), 'tool')}",
        *header(command),
    )


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was generated for a server, and what is on disk, both by path."""

    server: Server
    contract: Contract
    client: str
    files: Mapping[Path, str]
    old: Mapping[Path, str | None]

    @cached_property
    def changed(self) -> list[Path]:
        """The paths of the files that differ from those on disk."""
        return [path for path, text in self.files.items() if self.old[path] != text]

    @property
    def methods(self) -> Mapping[str, str]:
        """The names of the client's methods by tool."""
        return method_names(tool.name for tool in self.contract.tools)

    def write(self) -> None:
        """Write the files that differ."""
        for path in self.changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, self.files[path])

    def diff(self) -> Iterator[str]:
        """Iterate over the lines of a unified diff of the files that differ."""
        for path in self.changed:
            before, after = (self.old[path] or "").splitlines(), self.files[path].splitlines()
            yield from unified_diff(before, after, str(path), str(path), lineterm="")

    def lines(self, *, check: bool) -> Iterator[str]:
        """Iterate over what people read of the files; with `check`, nothing was written."""
        tools = f"{self.client}, {count(len(self.contract.tools), 'tool')}"
        for path in self.files if not check else ():
            what = "the contract" if path == self.server.lock else tools
            yield f"{'wrote' if path in self.changed else 'up to date:'} {path} ({what})"
        if check and not self.changed:
            yield f"{self.server.name}: up to date" if self.server.name else "up to date"

    def as_json(self, *, check: bool) -> dict[str, Any]:
        """Return the JSON output; with `check`, nothing was written."""
        name = {"server": self.server.name} if self.server.name else {}
        changed = [str(path) for path in self.changed]
        if check:
            return {**name, "up_to_date": not changed, "changed": changed}
        return {
            **name,
            "module": str(self.server.module),
            "lock": str(self.server.lock),
            "client": self.client,
            "tools": [{"name": tool, "method": method} for tool, method in sorted(self.methods.items())],
            "written": changed,
        }


def refuse_misnamed(server: Server) -> None:
    """Check what the files of a server would replace, and the name of its client, before its tools are listed.

    Raises:
        InputError: the module was not generated, or the name is not that of a class.
    """
    if server.client is not None and not is_class_name(server.client):
        message = f"{server.client!r} cannot name a class; use ASCII letters, digits and underscores"
        raise InputError.at("--class", message)
    assert server.module is not None
    old = _on_disk(server.module)
    if old is not None and old.strip() and not old.startswith(HEADER_MARK):
        raise InputError.at(server.module, "was not generated, so it is not replaced; name another file")


def make(
    server: Server, contract: Contract, diagnostics: Diagnostics, *, keep_lock: bool, command: str | None = None
) -> Made:
    """Generate the files of a server; `keep_lock` refuses to replace the contract of another one.

    `command` is the one that generates them again; by default that of the file on disk.

    Raises:
        InputError: the lock file belongs to another server, whose module is in the same folder, or cannot be read.
    """
    assert server.module is not None
    old = {path: _on_disk(path) for path in (server.module, server.lock)}
    if keep_lock and old[server.lock] is not None:
        found = read_contract(server.lock, Diagnostics()).server
        if found != contract.server:
            message = (
                f"contains the contract of {found}, not of {contract.server}; choose another lock file with --lock"
            )
            raise InputError.at(server.lock, message)
    stated = re.search(r"^#   command:  (mcp-bindgen tools generate.*)$", old[server.module] or "", re.MULTILINE)
    again = command or (stated[1] if stated else COMMAND)
    name = server.client or client_name(contract.server)
    files = {server.module: module(contract, name, diagnostics, again), server.lock: contract.lock()}
    return Made(server=server, contract=contract, client=name, files=files, old=old)


def _on_disk(path: Path) -> str | None:
    """Return the content of a file, None if it does not exist.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror}") from None
