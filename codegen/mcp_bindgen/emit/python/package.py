"""Lay out the package of one revision: IR in, pages out. Nothing is rendered or written here."""

from collections.abc import Iterator, Mapping, Sequence

from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.classes import ClassViews
from mcp_bindgen.emit.python.decorators import decorators
from mcp_bindgen.emit.python.inheritance import Inheritance
from mcp_bindgen.emit.python.methods import constant_views, error_views, lookup, method_views
from mcp_bindgen.emit.python.modules import assign_modules
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.python.scope import names_in
from mcp_bindgen.emit.python.spelling import Speller
from mcp_bindgen.emit.python.stubs import StubViews
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.facts import has_batches, has_errors_without_id, result_tag
from mcp_bindgen.ir.history import NO_HISTORY, History
from mcp_bindgen.ir.nodes import Protocol

BINDING_FORMAT = 3
"""The format of the bindings, which the runtime checks (mcp_runtime.core.binding.FORMAT)."""

TYPED = {"py.typed": ""}
"""The file that marks a package as typed for type checkers; one at its top covers all of it."""

_APP = "app"
"""The module of servers made of decorated functions, if the revision lists tools, resources or prompts."""

_STUBS = {"client": ("Client", "ClientHandlers", "ClientContext"), "server": ("Server", "ConnectedClient", "Context")}


def emit_root(folders: Sequence[str], command: str, templates: Templates, door: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of the package that contains the packages of several revisions.

    Args:
        folders: the packages of the revisions.
        command: the command for the head of the file.
        templates: the templates.
        door: the names of the runtime that the package passes on.
    """
    context = {"packages": tuple(folders), "newest": max(folders), "door": tuple(door)}
    page = Page(path="__init__.py", template="root.py.j2", context=context)
    return {**templates.render([page], header(command)), **TYPED}


def emit_extensions_root(folders: Sequence[str], command: str, templates: Templates) -> str:
    """Return the text of the package that contains the packages of extensions."""
    page = Page(path="__init__.py", template="extensions.py.j2", context={"packages": tuple(folders)})
    return templates.render([page], header(command))[page.path]


def package_view(
    protocol: Protocol, released: Mapping[str, str], diagnostics: Diagnostics, history: History = NO_HISTORY
) -> views.Package:
    """Return the views of everything that is emitted for one revision.

    Args:
        protocol: the revision.
        released: the categories of definitions in released revisions, for definitions that have none in this one.
        diagnostics: receives what a reader of the schema should know.
        history: that of all revisions, for the docstrings.

    Raises:
        InputError: names of the schema are not distinct in Python.
    """
    names = Names(protocol, protocol.sources[0].name, diagnostics)
    diagnostics.raise_errors()
    inheritance = Inheritance(protocol, names)
    needs = {name: tuple(inheritance.needs(definition)) for name, definition in protocol.definitions.items()}
    modules = assign_modules(protocol, needs, released)
    speller = Speller(protocol, names, modules)
    classes = ClassViews(protocol, names, speller, inheritance, modules, history=history)
    stubs = StubViews(protocol, names, speller, history)
    decorated = tuple(decorators(protocol, stubs))
    constants = constant_views(protocol, names)
    errors = tuple(error_views(protocol, names))
    exports = {names.classes[name]: module for name, module in modules.items()}
    exports |= {name: module for module, members in _STUBS.items() for name in members}
    exports |= {"App": _APP} if decorated else {}
    exports |= {constant.name: "constants" for constant in constants}
    exports |= {"METHODS": "methods", "BINDING": "binding"}
    exports |= {error.name: "errors" for error in errors}
    return views.Package(
        revision=protocol.revision,
        era=protocol.era.value,
        format=BINDING_FORMAT,
        has_batches=has_batches(protocol),
        has_errors_without_id=has_errors_without_id(protocol),
        result_tag=result_tag(protocol),
        modules=tuple(classes.modules()),
        methods=method_views(protocol, names, speller),
        lookup=lookup(protocol, names),
        has_deprecated=any(struct.deprecated for struct in protocol.structs()),
        constants=constants,
        errors=errors,
        client=stubs.client(),
        server=stubs.server(),
        decorators=decorated,
        exports=tuple(views.Export(name=name, module=exports[name]) for name in sorted(exports)),
    )


def package_pages(package: views.Package) -> Iterator[Page]:
    """Iterate over the pages of one revision's package."""
    parts: Mapping[str, object] = {
        "constants": (package.constants,),
        "errors": (package.errors,),
        "methods": (package.methods,),
        "client": (package.client,),
        "server": (package.server,),
        "binding": (),
        **({_APP: (package.decorators,)} if package.decorators else {}),
    }
    yield from pages(package, parts)


def pages(package: views.Package | views.Extension, parts: Mapping[str, object]) -> Iterator[Page]:
    """Iterate over the pages of a package: its models, the package itself, and each of its other `parts` by module."""
    exported = names_in(package.exports)
    for module in package.modules:
        context = {"package": package, "module": module}
        bound = exported | names_in(module.definitions)
        yield Page(path=f"{module.name}.py", template="module.py.j2", context=context, bound=bound)
    for name, part in {"models": (package.exports,), **parts}.items():
        yield Page(
            path=f"{name}.py",
            template=f"{name}.py.j2",
            context={"package": package},
            bound=names_in(part, *(export for export in package.exports if export.module == name)),
            reaches_models=True,
        )
    yield Page(path="__init__.py", template="init.py.j2", context={"package": package}, bound=exported)
