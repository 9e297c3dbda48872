"""Emit the package of one revision: IR in, ``{path: text}`` out. Nothing is written here."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.emit.header import header, root_header
from mcp_bindgen.emit.layout import assign_modules
from mcp_bindgen.emit.models import ModelViews
from mcp_bindgen.emit.names import Names
from mcp_bindgen.emit.render import render
from mcp_bindgen.emit.stubs import CLIENT_SENDS, SERVER_SENDS, StubViews
from mcp_bindgen.emit.tables import constant_items, error_items, method_records
from mcp_bindgen.emit.text import docstring
from mcp_bindgen.emit.types import Speller, prelude
from mcp_bindgen.emit.view import Import, Item, Page
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load import load_released

BINDING_FORMAT = 1
"""The format of the bindings, which the runtime checks (mcp_runtime.binding.FORMAT)."""

TYPED = {"py.typed": ""}
"""The file that tells type checkers to read the types of a package; one at its top covers all of it."""

_STUBS = {
    "client": ("Client", "ClientHandlers", "ClientContext"),
    "server": ("Server", "ConnectedClient", "Context"),
}
_WORD = re.compile(r"[A-Za-z_]\w*")


def revision_folder(revision: str) -> str:
    """Name the folder of a revision: ``2024-11-05`` gives ``v2024_11_05``."""
    return "v" + re.sub(r"[^A-Za-z0-9]+", "_", revision)


def emit(protocol: Protocol, *, command: str, templates: Path | None, diagnostics: Diagnostics) -> dict[str, str]:
    """Return the files of one revision's package by path, formatted.

    Args:
        protocol: the revision.
        command: what to run to make the files anew, for their header.
        templates: a folder whose templates replace the shipped ones of the same name.
        diagnostics: takes what a reader of the schema should know.

    Raises:
        InputError: names of the schema cannot be told apart in Python, or a template cannot be used.
    """
    source = protocol.sources[0].name
    names = Names(protocol, source, diagnostics)
    diagnostics.raise_errors()
    pages = list(_Pages(protocol, names, command).pages())
    return render(pages, templates)


def emit_root(
    folders: Sequence[str], command: str = "mcp-bindgen generate", templates: Path | None = None
) -> dict[str, str]:
    """Return the files of the package that holds the packages of several revisions."""
    listed = ", ".join(f"`{folder}`" for folder in folders)
    doc = "\n".join(docstring(f"Typed bindings of the Model Context Protocol, one package per revision: {listed}.", 0))
    page = Page(path="__init__.py", template="root.py.j2", header=root_header(command), doc=doc)
    return {**render([page], templates), **TYPED}


class _Pages:
    """Lays out the pages of one package."""

    def __init__(self, protocol: Protocol, names: Names, command: str) -> None:
        self._protocol = protocol
        self._names = names
        self._header = header(protocol, command)
        self._modules = assign_modules(protocol, [load_released(revision) for revision in released()])
        speller = Speller(protocol, names)
        self._models = ModelViews(protocol, names, speller, self._modules)
        self._stubs = StubViews(protocol, names, speller)
        self._homes = {names.classes[name]: module for name, module in self._modules.items()}

    def pages(self) -> Iterator[Page]:
        for module in sorted(set(self._modules.values())):
            yield self._page(
                module, f"Types of `{module}`.", self._models.items(module), "models", self._models.imports(module)
            )
        yield self._page("constants", "Constants of the protocol.", tuple(constant_items(self._protocol, self._names)))
        yield self._page(
            "errors", "Exceptions for the error codes of the protocol.", tuple(error_items(self._protocol))
        )
        records = tuple(method_records(self._protocol, self._names))
        yield self._page("methods", "The methods of the protocol.", records, "methods")
        yield self._page(
            "client",
            "The client's side: what it asks of a server, and what it answers.",
            tuple(self._client()),
            "stubs",
        )
        yield self._page(
            "server",
            "The server's side: what it answers, and what it asks of a client.",
            tuple(self._server()),
            "stubs",
        )
        yield self._page("binding", "What this revision hands to the runtime.", (self._binding(),), "binding")
        yield self._init()

    def _page(
        self,
        module: str,
        doc: str,
        items: Sequence[Item],
        template: str = "module",
        imports: tuple[Import, ...] = (),
    ) -> Page:
        deferred = self._deferred(items) if template in ("methods", "stubs") else ()
        lines = [line for item in items for line in (item.head, *item.lines)]
        needed = ["_typing", *lines] if deferred else lines
        return Page(
            path=f"{module}.py",
            template=f"{template}.py.j2",
            header=self._header,
            doc="\n".join(docstring(f"{doc} Revision {self._protocol.revision}.", 0)),
            prelude=prelude(needed),
            imports=imports,
            deferred=deferred,
            items=tuple(items),
        )

    def _deferred(self, items: Iterable[Item]) -> tuple[Import, ...]:
        """Imports of the models that a page mentions in annotations only, for type checkers."""
        used: dict[str, set[str]] = {}
        for item in items:
            for line in (item.head, *(text for text in item.lines if text.lstrip().startswith(("def ", "async def ")))):
                for word in _WORD.findall(line.partition(" = ")[0] if line is item.head else line):
                    if word in self._homes:
                        used.setdefault(self._homes[word], set()).add(word)
        return tuple(Import(module=module, names=tuple(sorted(used[module]))) for module in sorted(used))

    def _client(self) -> Iterator[Item]:
        doc = "A server, as a client sees it: one method for each that a server answers."
        yield self._stubs.caller("Client", '_stub.ClientStub["ClientHandlers"]', doc, CLIENT_SENDS)
        yield self._stubs.context(
            "ClientContext", "Client", "server", "What a client's handler knows of the message it answers."
        )
        doc = "What a client answers: override the methods that yours supports."
        yield self._stubs.handlers("ClientHandlers", "_stub.Handlers", "ClientContext", "Client", doc)

    def _server(self) -> Iterator[Item]:
        doc = "A client, as a server sees it: one method for each that a client answers."
        yield self._stubs.caller("ConnectedClient", "_stub.Stub", doc, SERVER_SENDS)
        yield self._stubs.context(
            "Context", "ConnectedClient", "client", "What a server's handler knows of the message it answers."
        )
        doc = "What a server answers: override the methods that yours supports."
        yield self._stubs.handlers("Server", "_stub.ServerHandlers", "Context", "ConnectedClient", doc)

    def _binding(self) -> Item:
        arguments = (
            f"format={BINDING_FORMAT}, package=__name__.rpartition('.')[0], revision={self._protocol.revision!r}, "
            f"era={self._protocol.era.value!r}, methods=_METHODS, errors=_ERRORS"
        )
        doc = '"""The methods and errors of this revision, as the runtime takes them."""'
        return Item(name="BINDING", head=f"BINDING: _Final = _Binding({arguments})", doc=doc)

    def _init(self) -> Page:
        exports: dict[str, str] = dict(self._homes)
        exports |= {name: module for module, members in _STUBS.items() for name in members}
        exports |= {item.name: "constants" for item in constant_items(self._protocol, self._names)}
        exports |= {"METHODS": "methods", "BINDING": "binding"}
        modules = sorted(set(exports.values()))
        imports = tuple(
            Import(module=m, names=tuple(sorted(n for n, home in exports.items() if home == m))) for m in modules
        )
        doc = (
            f"Typed bindings of the Model Context Protocol, revision {self._protocol.revision}.\n\n"
            "Every name below is imported at its first use; the modules that hold them are private."
        )
        return Page(
            path="__init__.py",
            template="init.py.j2",
            header=self._header,
            doc="\n".join(docstring(doc, 0)),
            prelude=prelude(["_typing _Final _Any"]),
            imports=imports,
            items=(
                Item(
                    name="REVISION",
                    head=f"REVISION: _Final = {self._protocol.revision!r}",
                    doc='"""The revision of the protocol."""',
                ),
            ),
            exports=tuple(f"{name!r}: {exports[name]!r}" for name in sorted(exports)),
        )
